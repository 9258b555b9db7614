// about: adjacent differences, for-each, transform, batched copies, merges, top of a list
// packages: cccl
// options: --extended-lambda
#include <cub/cub.cuh>
#include <cub/device/device_transform.cuh>
struct Triple {
    template <typename T> __device__ void operator()(T &x) const { x = x * 3 + 1; }
};
struct Blend {
    template <typename A, typename B> __host__ __device__ A operator()(A a, B b) const { return a * A(0.5) + A(b); }
};
template <typename T> void use(void *p, size_t &b, int n) {
    T *v = (T *)p;
    cub::DeviceAdjacentDifference::SubtractLeftCopy(p, b, v, v, n);
    cub::DeviceAdjacentDifference::SubtractRight(p, b, v, n);
    cub::DeviceFor::ForEach(v, v + n, Triple());
    cub::DeviceFor::ForEachCopyN(v, n, [] __device__(T x) { if (x == T(77)) __trap(); });
    cub::DeviceTransform::Transform(cuda::std::make_tuple(v, (int *)p), v, n, Blend());
    cub::DeviceMerge::MergeKeys(p, b, v, n, v, n, v);
}
void all(void *p, size_t &b, int n) {
    use<int>(p, b, n);
    use<float>(p, b, n);
    use<double>(p, b, n);
    use<short>(p, b, n);
    cub::DeviceMemcpy::Batched(p, b, (void **)p, (void **)p, (int *)p, n);
    cub::DeviceCopy::Batched(p, b, (float **)p, (float **)p, (int *)p, n);
}
