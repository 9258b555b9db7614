#include "../common.h"
extern __device__ int through_shared(const int *from, int n);
__device__ void named(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
__global__ void run(const int *from, int n, int *out) {
    __shared__ int halves[2];
    int half = threadIdx.x / 128;
    out[threadIdx.x] = through_shared(from, n);
    if (threadIdx.x % 128 == 0)
        halves[half] = half + 1;
    named(1 + half, 128);
    out[threadIdx.x] += halves[half];
}
int main() {
    const int n = 1024, threads = 256;
    std::vector<int> in(n);
    for (int i = 0; i < n; i++)
        in[i] = scramble(i) % 1000;
    Array<int> from(in), out(threads);
    run<<<1, threads>>>(from.data, n, out.data);
    auto got = out.host();
    bool right = true;
    for (int t = 0; t < threads; t++) {
        int sum = 0;
        for (int start = 0; start < n; start += threads)
            sum += in[start + (t + 1) % threads];
        right &= got[t] == sum + t / 128 + 1;
    }
    std::printf("%d %d\n", got[0], got[255]);
    return verdict(right);
}
