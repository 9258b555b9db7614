extern __device__ int label(int parent, int thread);
__global__ void child(int *out, int parent) { out[parent * 32 + threadIdx.x] = label(parent, threadIdx.x); }
