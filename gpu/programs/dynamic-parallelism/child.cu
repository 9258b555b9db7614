__global__ void child(int *out, int parent) { out[parent * 32 + threadIdx.x] = parent * 1000 + threadIdx.x; }
