__device__ __noinline__ int far_away(int a, int b) { return a * 100 + b; }
