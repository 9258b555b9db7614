// about: device-wide selection, partition and unique
// packages: cccl
#include <cub/cub.cuh>
template <typename T> struct Above {
    T limit;
    __host__ __device__ bool operator()(const T &x) const { return x > limit; }
};
template <typename T> struct Below {
    T limit;
    __host__ __device__ bool operator()(const T &x) const { return x < limit; }
};
template <typename T> void use(void *p, size_t &b, int n) {
    T *v = (T *)p;
    int *c = (int *)p;
    cub::DeviceSelect::If(p, b, v, v, c, n, Above<T>{T(3)});
    cub::DeviceSelect::Flagged(p, b, (const T *)v, (const char *)p, v, c, n);
    cub::DeviceSelect::Unique(p, b, v, v, c, n);
    cub::DevicePartition::If(p, b, v, v, c, n, Above<T>{T(3)});
    cub::DevicePartition::If(p, b, v, v, v, v, c, n, Above<T>{T(3)}, Below<T>{T(1)});
}
void all(void *p, size_t &b, int n) {
    use<int>(p, b, n);
    use<double>(p, b, n);
    use<unsigned char>(p, b, n);
    cub::DeviceSelect::UniqueByKey(p, b, (int *)p, (float *)p, (int *)p, (float *)p, (int *)p, n);
}
