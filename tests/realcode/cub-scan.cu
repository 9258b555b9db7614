// about: device-wide scans, also by key
// packages: cccl
#include <cub/cub.cuh>
struct Largest {
    template <typename T> __host__ __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T> void use(void *p, size_t &b, int n) {
    T *v = (T *)p;
    cub::DeviceScan::ExclusiveSum(p, b, v, v, n);
    cub::DeviceScan::InclusiveScan(p, b, v, v, Largest(), n);
}
void all(void *p, size_t &b, int n) {
    use<int>(p, b, n);
    use<float>(p, b, n);
    use<double>(p, b, n);
    use<short>(p, b, n);
    use<unsigned long long>(p, b, n);
    cub::DeviceScan::ExclusiveSumByKey(p, b, (int *)p, (float *)p, (float *)p, n);
    cub::DeviceScan::InclusiveSumByKey(p, b, (long long *)p, (int *)p, (int *)p, n);
}
