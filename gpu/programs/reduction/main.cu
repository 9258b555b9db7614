#include "../common.h"
#include "reduce.cuh"

__global__ void sum(const unsigned *in, int n, unsigned *out) {
    unsigned own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        own += in[i];
    unsigned all = block_sum(own);
    if (threadIdx.x == 0)
        atomicAdd(out, all);
}

int main() {
    const int n = 1 << 20;
    std::vector<unsigned> in(n);
    unsigned expected = 0;
    for (int i = 0; i < n; i++)
        expected += in[i] = scramble(i);
    Array<unsigned> from(in), out(1);
    sum<<<64, 256>>>(from.data, n, out.data);
    unsigned got = out.host()[0];
    std::printf("sum %u\n", got);
    return verdict(got == expected);
}
