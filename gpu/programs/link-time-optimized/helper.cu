__device__ int table[4] = {1, 10, 100, 1000};
__device__ int helper(int x) { return table[x % 4] * x; }
