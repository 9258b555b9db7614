#include "../common.h"
extern __device__ int counter;
extern __device__ double values[100];
extern __device__ long long step();
__global__ void run(long long *out) {
    *out = step();
    values[99] *= 2;
}
int main() {
    double from[100];
    for (int i = 0; i < 100; i++)
        from[i] = i * 0.5;
    CHECK(cudaMemcpyToSymbol(values, from, sizeof from));
    int set = 10, read;
    CHECK(cudaMemcpyToSymbol(counter, &set, sizeof set));
    Array<long long> out(1);
    run<<<1, 1>>>(out.data);
    run<<<1, 1>>>(out.data);
    long long got = out.host()[0];
    CHECK(cudaMemcpyFromSymbol(&read, counter, sizeof read));
    CHECK(cudaMemcpyFromSymbol(from, values, sizeof from));
    void *address;
    size_t size;
    CHECK(cudaGetSymbolAddress(&address, values));
    CHECK(cudaGetSymbolSize(&size, values));
    std::printf("%lld %d %g %zu\n", got, read, from[99], size);
    return verdict(got == 12 + 41 + 'x' + 2 + (1LL << 40) && read == 12 && from[99] == 198 && size == 800);
}
