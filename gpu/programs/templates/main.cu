#include "../common.h"
extern __device__ int first(int x);
extern __device__ double second(double x);
extern __device__ int second_int(int x);
extern void launch_first(int *out, int n);
extern void launch_second(int *out, int n);
__global__ void all(int *out) { out[threadIdx.x] = first(threadIdx.x) + (int)second(threadIdx.x) + second_int(threadIdx.x); }
int main() {
    const int n = 32;
    Array<int> out(n), more(2 * n);
    all<<<1, n>>>(out.data);
    launch_first(more.data, n);
    launch_second(more.data, n);
    auto got = out.host(), others = more.host();
    bool right = true;
    for (int i = 0; i < n; i++) {
        right &= got[i] == (3 * i + 6) * 2 + 3 * i + 1 + 4 * i + 1;
        right &= others[i] == 3 * i + 1 && others[n + i] == 3 * i + 1;
    }
    std::printf("%d %d\n", got[1], got[31]);
    return verdict(right);
}
