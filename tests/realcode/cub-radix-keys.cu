// about: device-wide radix sort of keys
// packages: cccl
#include <cub/cub.cuh>
template <typename K> void use(void *p, size_t &b, int n) {
    cub::DeviceRadixSort::SortKeys(p, b, (const K *)p, (K *)p, n);
    cub::DeviceRadixSort::SortKeysDescending(p, b, (const K *)p, (K *)p, n);
}
void all(void *p, size_t &b, int n) {
    use<unsigned char>(p, b, n);
    use<int>(p, b, n);
    use<float>(p, b, n);
    use<unsigned long long>(p, b, n);
}
