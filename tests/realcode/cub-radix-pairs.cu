// about: device-wide radix sort of keys with values
// packages: cccl
#include <cub/cub.cuh>
template <typename K, typename V> void use(void *p, size_t &b, int n) {
    cub::DeviceRadixSort::SortPairs(p, b, (const K *)p, (K *)p, (const V *)p, (V *)p, n);
}
void all(void *p, size_t &b, int n) {
    use<unsigned, unsigned>(p, b, n);
    use<short, double>(p, b, n);
    use<double, int>(p, b, n);
    use<long long, float4>(p, b, n);
}
