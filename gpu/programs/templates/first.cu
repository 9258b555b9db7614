#include "scale.cuh"
__device__ int first(int x) {
    Accumulator<int> a;
    a.add(scale<int, 3>(x));
    a.add(start<int>);
    return a.sum;
}
void launch_first(int *out, int n) { shared_kernel<int><<<1, n>>>(out); }
