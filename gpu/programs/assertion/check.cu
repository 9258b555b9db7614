#include <cassert>
__device__ void check_small(int value) { assert(value < 100 && "small values only"); }
