#include "counter.cuh"
__device__ int one() {
    Log().add(1);
    return next_number();
}
