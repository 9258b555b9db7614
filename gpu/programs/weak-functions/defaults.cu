__device__ __attribute__((weak)) int setting() { return 1; }
__device__ __attribute__((weak)) int other_setting() { return 2; }
__device__ __attribute__((weak)) int level = 3;
__device__ int settings() { return setting() * 100 + other_setting() * 10 + level; }
