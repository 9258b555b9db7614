// about: device-wide algorithms of CUB on unusual types: half precision, 128-bit integers, structures, booleans
// packages: cccl
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
struct Pixel { unsigned char r, g, b; };
struct Blend { __host__ __device__ Pixel operator()(Pixel a, Pixel b) const { return {(unsigned char)(a.r + b.r), (unsigned char)(a.g ^ b.g), a.b > b.b ? a.b : b.b}; } };
struct Affine { float a, b; };
struct Compose { __host__ __device__ Affine operator()(Affine x, Affine y) const { return {x.a * y.a, x.b * y.a + y.b}; } };
struct Wide { double v[4]; };
struct AddWide { __host__ __device__ Wide operator()(Wide a, Wide b) const { for (int i = 0; i < 4; i++) a.v[i] += b.v[i]; return a; } };
void all(void *p, size_t &b, int n) {
    cub::DeviceReduce::Sum(p, b, (__half *)p, (__half *)p, n);
    cub::DeviceReduce::Min(p, b, (__nv_bfloat16 *)p, (__nv_bfloat16 *)p, n);
    cub::DeviceReduce::Sum(p, b, (__int128 *)p, (__int128 *)p, n);
    cub::DeviceReduce::Reduce(p, b, (Pixel *)p, (Pixel *)p, n, Blend(), Pixel());
    cub::DeviceReduce::Reduce(p, b, (Wide *)p, (Wide *)p, n, AddWide(), Wide());
    cub::DeviceScan::InclusiveScan(p, b, (Affine *)p, (Affine *)p, Compose(), n);
    cub::DeviceScan::ExclusiveScan(p, b, (Wide *)p, (Wide *)p, AddWide(), Wide(), n);
    cub::DeviceScan::ExclusiveSum(p, b, (unsigned char *)p, (long long *)p, n);
    cub::DeviceRadixSort::SortKeys(p, b, (__half *)p, (__half *)p, n);
    cub::DeviceRadixSort::SortPairs(p, b, (bool *)p, (bool *)p, (Pixel *)p, (Pixel *)p, n);
    cub::DeviceRadixSort::SortKeys(p, b, (unsigned __int128 *)p, (unsigned __int128 *)p, n);
}
