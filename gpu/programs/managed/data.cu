__managed__ int counters[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__managed__ int *where;
__device__ void bump(int i) { atomicAdd(&counters[i], i); }
