__constant__ int table[4] = {1, 10, 100, 1000};
__device__ int counter;
__device__ int look_up(int i) { return table[i % 4] + atomicAdd(&counter, 1); }
