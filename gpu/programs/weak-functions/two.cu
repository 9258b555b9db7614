#include "counter.cuh"
__device__ int two() {
    Log().add(20);
    return next_number() * 100;
}
