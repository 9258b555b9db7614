#include "../common.h"
extern __device__ float heavy(float x);
__global__ void __launch_bounds__(1024, 1) wide(float *out) { out[threadIdx.x] = heavy(threadIdx.x); }
__global__ void __launch_bounds__(64, 8) narrow(float *out) { out[threadIdx.x] = heavy(threadIdx.x); }
__global__ void __maxnreg__(40) limited(float *out) { out[threadIdx.x] = heavy(threadIdx.x); }
int main() {
    Array<float> a(1024), b(64), c(64);
    wide<<<1, 1024>>>(a.data);
    narrow<<<1, 64>>>(b.data);
    limited<<<1, 64>>>(c.data);
    auto x = a.host(), y = b.host(), z = c.host();
    bool right = x[0] == 0;
    for (int i = 0; i < 64; i++)
        right &= x[i] == y[i] && y[i] == z[i] && (i == 0 || x[i] > 0);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, wide));
    std::printf("%a %a, %d registers, at most %d threads\n", x[1], x[1023], attributes.numRegs, attributes.maxThreadsPerBlock);
    CHECK(cudaFuncGetAttributes(&attributes, limited));
    std::printf("%d registers, %zu bytes of local memory\n", attributes.numRegs, attributes.localSizeBytes);
    return verdict(right && attributes.numRegs <= 40);
}
