__device__ int table[4] = {4, 3, 2, 1};
__device__ int helper(int x) { return x * table[x % 4]; }
