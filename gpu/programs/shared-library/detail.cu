__device__ int detail(int x) { return x * 5; }
