#include "../common.h"
extern __managed__ int counters[8];
extern __managed__ int *where;
extern __device__ void bump(int i);
__global__ void count() {
    bump(threadIdx.x % 8);
    if (threadIdx.x == 0)
        where = &counters[5];
}
int main() {
    counters[3] = 1000;
    count<<<1, 64>>>();
    CHECK(cudaDeviceSynchronize());
    bool right = where == &counters[5];
    for (int i = 0; i < 8; i++) {
        std::printf("%d\n", counters[i]);
        right &= counters[i] == (i == 3 ? 1000 : i + 1) + 8 * i;
    }
    return verdict(right);
}
