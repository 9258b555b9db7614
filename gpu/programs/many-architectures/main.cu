#include "../common.h"
extern __device__ int compiled_for();
__global__ void ask(int *out) {
#ifdef __CUDA_ARCH__
    *out = compiled_for() + __CUDA_ARCH__;
#endif
}
int main() {
    Array<int> out(1);
    ask<<<1, 1>>>(out.data);
    int got = out.host()[0];
    std::printf("%d\n", got);
    return verdict(got >= 1600 && got % 20 == 0);
}
