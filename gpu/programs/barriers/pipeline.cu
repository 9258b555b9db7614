#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
// Copies through shared memory with asynchronous copies and a barrier in it.
__device__ int through_shared(const int *from, int n) {
    __shared__ Barrier barrier;
    __shared__ int buffer[256];
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    int sum = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        cuda::memcpy_async(buffer + threadIdx.x, from + start + threadIdx.x, sizeof(int), barrier);
        barrier.arrive_and_wait();
        sum += buffer[(threadIdx.x + 1) % blockDim.x];
        __syncthreads();
    }
    return sum;
}
