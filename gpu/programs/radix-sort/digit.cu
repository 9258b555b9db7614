#include "digit.cuh"
__device__ int digit_of(unsigned key, int pass) { return key >> (4 * pass) & (DIGITS - 1); }
