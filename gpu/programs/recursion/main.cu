#include "../common.h"
extern __device__ int is_even(int n);
extern __device__ int ackermann(int m, int n);
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recurse(int *out) {
    int i = threadIdx.x;
    out[i] = fibonacci(i % 16) * 10 + is_even(i) + ackermann(2, i % 4) * 100000;
}
int main() {
    const int n = 64;
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16384));
    Array<int> out(n);
    recurse<<<1, n>>>(out.data);
    auto got = out.host();
    bool right = true;
    for (int i = 0; i < n; i++) {
        int a = 0, b = 1;
        for (int k = 0; k < i % 16; k++) {
            int c = a + b;
            a = b;
            b = c;
        }
        right &= got[i] == a * 10 + (i % 2 == 0) + (2 * (i % 4) + 3) * 100000;
    }
    std::printf("%d %d\n", got[15], got[63]);
    return verdict(right);
}
