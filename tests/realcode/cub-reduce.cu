// about: device-wide reductions
// packages: cccl
#include <cub/cub.cuh>
#include <cuda_fp16.h>
struct Product {
    template <typename T> __host__ __device__ T operator()(T a, T b) const { return a * b; }
};
template <typename T> void use(const T *in, T *out, void *temp, size_t &bytes, int n) {
    cub::DeviceReduce::Sum(temp, bytes, in, out, n);
    cub::DeviceReduce::Max(temp, bytes, in, out, n);
    cub::DeviceReduce::Reduce(temp, bytes, in, out, n, Product(), T(1));
}
template <typename T> void extreme(const T *in, T *out, int *at, void *temp, size_t &bytes, int n) {
    cub::DeviceReduce::ArgMin(temp, bytes, in, out, (long long *)at, n);
}
template <typename K, typename T> void by_key(const K *keys, K *unique, const T *in, T *out, int *runs, void *temp, size_t &bytes, int n) {
    cub::DeviceReduce::ReduceByKey(temp, bytes, keys, unique, in, out, runs, cuda::std::plus<>(), n);
}
void all(void *p, size_t &b, int n) {
    use((int *)p, (int *)p, p, b, n);
    use((float *)p, (float *)p, p, b, n);
    use((double *)p, (double *)p, p, b, n);
    use((long long *)p, (long long *)p, p, b, n);
    use((unsigned char *)p, (unsigned char *)p, p, b, n);
    extreme((float *)p, (float *)p, (int *)p, p, b, n);
    by_key((int *)p, (int *)p, (float *)p, (float *)p, (int *)p, p, b, n);
    by_key((long long *)p, (long long *)p, (double *)p, (double *)p, (int *)p, p, b, n);
}
