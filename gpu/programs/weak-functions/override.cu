__device__ int setting() { return 7; }
__device__ int level = 8;
