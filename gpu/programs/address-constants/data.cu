__device__ int numbers[8] = {10, 11, 12, 13, 14, 15, 16, 17};
__constant__ int fixed[4] = {1, 2, 3, 4};
__device__ int square(int x) { return x * x; }
