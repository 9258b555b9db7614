#include "parts.h"

namespace render {
template <int Tile>
__global__ void shade(const float *angles, float *pixels, int kind, int count) {
    __shared__ float tile[Tile][Tile + 1];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x % Tile][threadIdx.x / Tile % Tile] = i < count ? angles[i] : 0.f;
    __syncthreads();
    if (i < count) pixels[i] = physics::shader(kind)(tile[threadIdx.x / Tile % Tile][threadIdx.x % Tile]);
}
template __global__ void shade<16>(const float *, float *, int, int);
template __global__ void shade<32>(const float *, float *, int, int);

// A kernel with so many callees that its graph is taller than the window.
template <int Kind>
__device__ __noinline__ float filter(float x) {
    float sum = x;
    for (int i = 0; i < Kind + 2; i++) sum = fmaf(sum, x, __cosf(sum + Kind));
    return sum;
}
template <int... Kinds>
struct Chain {
    static __device__ float apply(float x) { return (filter<Kinds>(x) + ...); }
};
__global__ void filters(float *pixels) {
    pixels[threadIdx.x] = Chain<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23>::apply(
        pixels[threadIdx.x]);
}

__global__ void depths(const tree::Node *nodes, float *result) { result[threadIdx.x] = tree::depth(nodes, threadIdx.x); }
}  // namespace render

namespace tree {
__device__ float depth(const Node *nodes, int at) {
    if (at < 0) return 0.f;
    float left = depth(nodes, nodes[at].left), right = depth(nodes, nodes[at].right);
    return nodes[at].value + fmaxf(left, right);
}
}  // namespace tree
