#include "digit.cuh"

// What the threads before this one hold together.
__device__ int block_scan(int value, int *total) {
    __shared__ int sums[THREADS];
    int own = threadIdx.x;
    sums[own] = value;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        int before = own >= step ? sums[own - step] : 0;
        __syncthreads();
        sums[own] += before;
        __syncthreads();
    }
    int result = sums[own] - value;
    *total = sums[THREADS - 1];
    __syncthreads();
    return result;
}
