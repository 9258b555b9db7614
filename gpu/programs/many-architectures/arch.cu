__device__ int compiled_for() { return __CUDA_ARCH__; }
