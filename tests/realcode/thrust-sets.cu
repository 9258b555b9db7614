// about: set operations, merges, partitions and searches of thrust
// packages: cccl
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/merge.h>
#include <thrust/mismatch.h>
#include <thrust/partition.h>
#include <thrust/set_operations.h>
struct Even { template <typename T> __host__ __device__ bool operator()(T x) const { return ((int)x & 1) == 0; } };
template <typename T> void use(T *a, T *b, T *c, int *at, int n) {
    auto p = thrust::device;
    thrust::set_union(p, a, a + n, b, b + n, c);
    thrust::set_intersection(p, a, a + n, b, b + n, c);
    thrust::set_difference(p, a, a + n, b, b + n, c);
    thrust::set_symmetric_difference(p, a, a + n, b, b + n, c);
    thrust::merge(p, a, a + n, b, b + n, c);
    thrust::merge_by_key(p, a, a + n, b, b + n, at, at, c, at);
    thrust::stable_partition(p, a, a + n, Even());
    thrust::lower_bound(p, a, a + n, b, b + n, at);
    thrust::upper_bound(p, a, a + n, b, b + n, at);
    thrust::mismatch(p, a, a + n, b);
}
void all(void *p, int n) {
    use((int *)p, (int *)p, (int *)p, (int *)p, n);
    use((float *)p, (float *)p, (float *)p, (int *)p, n);
}
