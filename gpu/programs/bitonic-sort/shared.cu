extern __device__ void compare_exchange(unsigned &a, unsigned &b, bool ascending);

// Sorts runs of the block's size in shared memory.
__global__ void bitonic_block(unsigned *values) {
    extern __shared__ unsigned run[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, own = threadIdx.x;
    run[own] = values[i];
    __syncthreads();
    for (int width = 2; width <= blockDim.x; width *= 2)
        for (int distance = width / 2; distance > 0; distance /= 2) {
            int other = own ^ distance;
            if (other > own)
                compare_exchange(run[own], run[other], (i & width) == 0);
            __syncthreads();
        }
    values[i] = run[own];
}
