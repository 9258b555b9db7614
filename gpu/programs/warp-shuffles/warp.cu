__device__ int warp_prefix(int value) {
    int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        int before = __shfl_up_sync(~0u, value, step);
        if (lane >= step)
            value += before;
    }
    return value;
}
__device__ unsigned warp_votes(int value) { return __ballot_sync(~0u, value % 3 == 0) ^ __match_any_sync(~0u, value % 2); }
__device__ int warp_rotate(int value, int by) { return __shfl_sync(~0u, value, (threadIdx.x + by) % 32); }
