#include "../common.h"

extern __global__ void bitonic_step(unsigned *values, int width, int distance);
extern __global__ void bitonic_block(unsigned *values);

int main() {
    const int n = 1 << 16, block = 512;
    std::vector<unsigned> values(n);
    for (int i = 0; i < n; i++)
        values[i] = scramble(i * 7 + 1) % 100000;
    Array<unsigned> device(values);
    bitonic_block<<<n / block, block, block * sizeof(unsigned)>>>(device.data);
    for (int width = 2 * block; width <= n; width *= 2)
        for (int distance = width / 2; distance > 0; distance /= 2)
            bitonic_step<<<n / block, block>>>(device.data, width, distance);
    auto got = device.host();
    std::sort(values.begin(), values.end());
    std::printf("first %u middle %u last %u\n", got[0], got[n / 2], got[n - 1]);
    return verdict(got == values);
}
