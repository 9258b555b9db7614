#include "../common.h"
extern __device__ float weighted(cudaTextureObject_t texture, float x, float y);
__global__ void sample(cudaTextureObject_t texture, float *out, int width) {
    out[blockIdx.x * width + threadIdx.x] = weighted(texture, threadIdx.x, blockIdx.x);
}
int main() {
    const int width = 64, height = 32;
    std::vector<float> image(width * height);
    for (int i = 0; i < width * height; i++)
        image[i] = scramble(i) % 256;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, width, height));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModePoint;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    Array<float> out(width * height);
    sample<<<height, width>>>(texture, out.data, width);
    auto got = out.host();
    bool right = true;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float next = image[y * width + (x + 1 < width ? x + 1 : x)];
            right &= got[y * width + x] == image[y * width + x] * 2 + next;
        }
    std::printf("%g %g %g\n", got[0], got[100], got[2047]);
    return verdict(right);
}
