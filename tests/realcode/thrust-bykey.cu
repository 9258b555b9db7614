// about: reductions, scans and unique by key, of thrust
// packages: cccl
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/unique.h>
struct Odd { template <typename T> __host__ __device__ bool operator()(T x) const { return (int)x & 1; } };
template <typename K, typename V> void use(void *p, int n) {
    K *k = (K *)p;
    V *v = (V *)p;
    thrust::reduce_by_key(thrust::device, k, k + n, v, k, v);
    thrust::exclusive_scan_by_key(thrust::device, k, k + n, v, v);
    thrust::inclusive_scan(thrust::device, v, v + n, v, thrust::maximum<V>());
    thrust::unique_by_key(thrust::device, k, k + n, v);
    thrust::remove_if(thrust::device, v, v + n, Odd());
}
void all(void *p, int n) {
    use<int, float>(p, n);
    use<long long, int>(p, n);
}
