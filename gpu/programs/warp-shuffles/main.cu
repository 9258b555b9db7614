#include "../common.h"
extern __device__ int warp_prefix(int value);
extern __device__ unsigned warp_votes(int value);
extern __device__ int warp_rotate(int value, int by);
__global__ void shuffle(int *out) {
    int i = threadIdx.x;
    out[3 * i] = warp_prefix(i);
    out[3 * i + 1] = warp_votes(i);
    out[3 * i + 2] = warp_rotate(i, 5) + __reduce_add_sync(~0u, i);
}
int main() {
    const int n = 64;
    Array<int> out(3 * n);
    shuffle<<<1, n>>>(out.data);
    auto got = out.host();
    bool right = true;
    for (int i = 0; i < n; i++) {
        int base = i / 32 * 32, prefix = 0, all = 0;
        unsigned thirds = 0, parity = 0;
        for (int k = base; k < base + 32; k++) {
            all += k;
            if (k <= i)
                prefix += k;
            thirds |= (k % 3 == 0 ? 1u : 0u) << (k - base);
            parity |= (k % 2 == i % 2 ? 1u : 0u) << (k - base);
        }
        right &= got[3 * i] == prefix && (unsigned)got[3 * i + 1] == (thirds ^ parity);
        right &= got[3 * i + 2] == base + (i + 5) % 32 + all;
    }
    std::printf("%d %x %d\n", got[93], got[94], got[95]);
    return verdict(right);
}
