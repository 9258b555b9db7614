#include "../common.h"
extern __device__ int collatz(unsigned n);
__global__ void run(int *out) {
    int local[4] = {1, 2, 3, 4};
    out[threadIdx.x] = collatz(threadIdx.x + 1) + local[threadIdx.x % 4];
}
int main() {
    const int n = 64;
    Array<int> out(n);
    run<<<1, n>>>(out.data);
    auto got = out.host();
    bool right = true;
    for (int i = 0; i < n; i++) {
        int steps = 0;
        for (unsigned k = i + 1; k != 1; steps++)
            k = k % 2 ? 3 * k + 1 : k / 2;
        right &= got[i] == steps + i % 4 + 1;
    }
    std::printf("%d %d\n", got[26], got[63]);
    return verdict(right);
}
