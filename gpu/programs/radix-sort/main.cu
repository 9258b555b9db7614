#include "../common.h"
#include "digit.cuh"

// One block sorts everything, four bits at a time: small, stable, and it uses both other files.
__global__ void radix_sort(unsigned *keys, unsigned *spare, int n) {
    for (int pass = 0; pass < 8; pass++) {
        int base = 0;
        for (int digit = 0; digit < DIGITS; digit++)
            for (int start = 0; start < n; start += THREADS) {
                int i = start + threadIdx.x, total;
                int match = i < n && digit_of(keys[i], pass) == digit;
                int place = block_scan(match, &total);
                if (match)
                    spare[base + place] = keys[i];
                base += total;
            }
        __syncthreads();
        unsigned *swap = keys;
        keys = spare;
        spare = swap;
    }
}

int main() {
    const int n = 3000;
    std::vector<unsigned> keys(n);
    for (int i = 0; i < n; i++)
        keys[i] = scramble(i);
    Array<unsigned> device(keys), spare(n);
    radix_sort<<<1, THREADS>>>(device.data, spare.data, n);
    auto got = device.host();
    std::sort(keys.begin(), keys.end());
    std::printf("%08x %08x %08x\n", got[0], got[n / 2], got[n - 1]);
    return verdict(got == keys);
}
