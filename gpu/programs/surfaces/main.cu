#include "../common.h"
extern __device__ void put(cudaSurfaceObject_t surface, int x, int y, int value);
extern __device__ int get(cudaSurfaceObject_t surface, int x, int y);
__global__ void fill(cudaSurfaceObject_t surface) { put(surface, threadIdx.x, blockIdx.x, blockIdx.x * 100 + threadIdx.x); }
__global__ void transpose(cudaSurfaceObject_t surface, int *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = get(surface, blockIdx.x, threadIdx.x);
}
int main() {
    const int side = 32;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, side, side, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    fill<<<side, side>>>(surface);
    Array<int> out(side * side);
    transpose<<<side, side>>>(surface, out.data);
    auto got = out.host();
    bool right = true;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            right &= got[y * side + x] == x * 100 + y;
    std::printf("%d %d\n", got[1], got[side]);
    return verdict(right);
}
