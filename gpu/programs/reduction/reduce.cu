#include "reduce.cuh"

// Sums over a block; every thread calls it, thread 0 gets the sum.
__device__ unsigned block_sum(unsigned value) {
    __shared__ unsigned partial[32];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x >= 32)
        return 0;
    value = threadIdx.x < (blockDim.x + 31) / 32 ? partial[threadIdx.x] : 0;
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(~0u, value, step);
    return value;
}
