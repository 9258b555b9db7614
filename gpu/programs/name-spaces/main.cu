#include "../common.h"
extern __device__ int left(int x);
extern __device__ int right(int x);
extern void run_left(int *out);
extern void run_right(int *out);
__global__ void both(int *out) { out[2] = left(7) * 10000 + right(7); }
int main() {
    Array<int> out(3);
    run_left(out.data);
    run_right(out.data);
    both<<<1, 1>>>(out.data);
    auto got = out.host();
    std::printf("%d %d %d\n", got[0], got[1], got[2]);
    return verdict(got[0] == 11 + 12 && got[1] == -999 - 998 && got[2] == (14 + 12) * 10000 + 21 + 998);
}
