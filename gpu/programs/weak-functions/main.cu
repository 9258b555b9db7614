#include "../common.h"
extern __device__ int settings();
__global__ void ask(int *out) { *out = settings(); }
int main() {
    Array<int> out(1);
    ask<<<1, 1>>>(out.data);
    int got = out.host()[0];
    std::printf("%d\n", got);
    return verdict(got == 728);
}
