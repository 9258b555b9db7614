#include "../common.h"
#include "counter.cuh"
extern __device__ int one();
extern __device__ int two();
__global__ void ask(int *out) {
    out[0] = one();
    out[1] = two();
    out[2] = next_number();
    out[3] = total;
}
int main() {
    Array<int> out(4);
    ask<<<1, 1>>>(out.data);
    auto got = out.host();
    std::printf("%d %d %d %d\n", got[0], got[1], got[2], got[3]);
    return verdict(got[0] == 41 && got[1] == 4200 && got[2] == 43 && got[3] == 1021);
}
