__device__ int numbers[8] = {10, 11, 12, 13, 14, 15, 16, 17};
__device__ int square(int x) { return x * x; }
