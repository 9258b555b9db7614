#include "../common.h"
extern __device__ void check_small(int value);
__global__ void check(int value) { check_small(value); }
int main() {
    check<<<1, 1>>>(5);
    CHECK(cudaDeviceSynchronize());
    check<<<1, 1>>>(500);
    cudaError_t status = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorName(status));
    return verdict(status == cudaErrorAssert);
}
