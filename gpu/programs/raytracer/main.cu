#include "../common.h"
#include "vector.cuh"
__global__ void render(float *image, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    Vector along = normalized({(x - width / 2) / (float)width, (y - height / 2) / (float)height, 1});
    image[y * width + x] = trace({0, 0, 0}, along, 3);
}
int main() {
    const int width = 72, height = 28;
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    Array<float> image(width * height);
    render<<<height, width>>>(image.data, width, height);
    auto got = image.host();
    unsigned digest = 0;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            float value = got[y * width + x];
            digest = scramble(digest ^ *(unsigned *)&value);
            int level = (int)(value * 9.99f);
            std::putchar(" .:-=+*#%@"[level < 0 ? 0 : level > 9 ? 9 : level]);
        }
        std::putchar('\n');
    }
    std::printf("%08x\n", digest);
    return verdict(got[height / 2 * width + width / 2] > 0);
}
