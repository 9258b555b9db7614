#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 0
#endif
__device__ int compiled_for() { return __CUDA_ARCH__; }
