__device__ int label(int parent, int thread) { return parent * 1000 + thread; }
