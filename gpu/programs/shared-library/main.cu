#include "../common.h"
extern void library(int *out, int n);
// A function of the same name as one in the library: the two device images know nothing of each other.
__device__ int detail(int x) { return x * 7; }
static __global__ void kernel(int *out) { out[threadIdx.x] += detail(threadIdx.x); }
int main() {
    const int n = 32;
    Array<int> out(n);
    library(out.data, n);
    kernel<<<1, n>>>(out.data);
    auto got = out.host();
    bool right = true;
    for (int i = 0; i < n; i++)
        right &= got[i] == 12 * i;
    std::printf("%d\n", got[31]);
    return verdict(right);
}
