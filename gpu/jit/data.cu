__constant__ float offsets[4] = {1.0f, 10.0f, 100.0f, 1000.0f};
__device__ int calls;
