#include "../common.h"
extern __device__ unsigned totals[16];
extern __device__ unsigned long long checksum;
extern __device__ int highest, lowest;
extern __device__ float float_sum;
extern __device__ void count(unsigned value);
__device__ int lock;
__device__ int guarded;
__global__ void histogram() {
    count(scramble(blockIdx.x * blockDim.x + threadIdx.x));
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
        __threadfence();
        guarded += 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
}
int main() {
    const int blocks = 64, threads = 128;
    histogram<<<blocks, threads>>>();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    unsigned got[16], expected[16] = {};
    unsigned long long sum, expected_sum = 0;
    int high, low, expected_high = 0, expected_low = 1 << 30, once;
    float floats, expected_floats = 0;
    CHECK(cudaMemcpyFromSymbol(got, totals, sizeof got));
    CHECK(cudaMemcpyFromSymbol(&sum, checksum, sizeof sum));
    CHECK(cudaMemcpyFromSymbol(&high, highest, sizeof high));
    CHECK(cudaMemcpyFromSymbol(&low, lowest, sizeof low));
    CHECK(cudaMemcpyFromSymbol(&once, guarded, sizeof once));
    CHECK(cudaMemcpyFromSymbol(&floats, float_sum, sizeof floats));
    for (int i = 0; i < blocks * threads; i++) {
        unsigned value = scramble(i);
        expected[value % 16]++;
        expected_sum ^= (unsigned long long)value << (value % 32);
        expected_high = std::max(expected_high, (int)(value % 100000));
        expected_low = std::min(expected_low, (int)(value % 100000));
        expected_floats += value % 4;
    }
    bool right = sum == expected_sum && high == expected_high && low == expected_low && once == blocks;
    right &= floats == expected_floats;
    for (int i = 0; i < 16; i++) {
        std::printf("%u\n", got[i]);
        right &= got[i] == expected[i];
    }
    return verdict(right);
}
