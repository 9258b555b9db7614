extern __device__ int look_up(int);
__global__ void child(int *out) { out[threadIdx.x] = look_up(threadIdx.x); }
