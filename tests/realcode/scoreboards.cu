// about: many operations of variable latency in flight at once, of all kinds, in straight lines, branches and loops
#include <cuda_fp16.h>
// Each operation takes another unit: memory of all spaces, special functions, conversions, double precision, exchanges.
template <int K> __device__ float op(float x, const float *g, volatile float *s, int i, cudaTextureObject_t t) {
    if constexpr (K == 0) return x + g[i * 37];
    if constexpr (K == 1) return x * s[(i * 5 + 3) & 127];
    if constexpr (K == 2) return x + __sinf(x * i);
    if constexpr (K == 3) return x - (float)(int)(x * 3);
    if constexpr (K == 4) return (float)((double)x * 1.25 + i);
    if constexpr (K == 5) return x + __shfl_xor_sync(~0u, x, i & 31);
    if constexpr (K == 6) return x + tex1Dfetch<float>(t, i);
    if constexpr (K == 7) return x + __popc(__float_as_int(x)) + __ffs(i);
    if constexpr (K == 8) return x + atomicAdd((float *)&s[i & 127], x);
    if constexpr (K == 9) return x / (i + 1.5f);
    if constexpr (K == 10) return x + (float)(__float_as_int(x) / (i | 1));
    if constexpr (K == 11) return x + __half2float(__float2half(x * 0.5f));
    if constexpr (K == 12) { s[i & 127] = x; return x * 2; }
    if constexpr (K == 13) return x + (float)__ballot_sync(~0u, x > i);
    if constexpr (K == 14) return sqrtf(x * x + i);
    return x + __ldg(g + ((i * 11) & 1023));
}
// One operation after the other for several values, so that results of many are awaited.
template <int Width, int... Ks> __global__ void lines(float *out, const float *g, cudaTextureObject_t t, int n) {
    __shared__ float s[128];
    s[threadIdx.x & 127] = g[threadIdx.x];
    __syncthreads();
    float v[Width];
#pragma unroll
    for (int w = 0; w < Width; w++) v[w] = g[w * 64 + threadIdx.x];
#pragma unroll
    for (int w = 0; w < Width; w++) ((v[w] = op<Ks>(v[w], g, s, w + n, t)), ...);
#pragma unroll
    for (int w = 0; w < Width; w++) out[w * 64 + threadIdx.x] = v[w] + v[(w + 1) % Width];
}
template <int Width, int... Ks> __global__ void loops(float *out, const float *g, cudaTextureObject_t t, int n) {
    __shared__ float s[128];
    s[threadIdx.x & 127] = g[threadIdx.x];
    __syncthreads();
    float v[Width] = {};
    for (int i = 0; i < n; i++) {
#pragma unroll
        for (int w = 0; w < Width; w++) ((v[w] = op<Ks>(v[w], g + i, s, w + i, t)), ...);
        if (v[0] > 1e9f) break;
    }
#pragma unroll
    for (int w = 0; w < Width; w++) out[w * 64 + threadIdx.x] = v[w];
}
template <int Width, int... Ks> __global__ void branches(float *out, const float *g, cudaTextureObject_t t, int n) {
    __shared__ float s[128];
    s[threadIdx.x & 127] = g[threadIdx.x];
    __syncthreads();
    float v[Width];
#pragma unroll
    for (int w = 0; w < Width; w++) v[w] = g[w * n + threadIdx.x];
#pragma unroll
    for (int w = 0; w < Width; w++) {
        if (v[w] > w) {
            ((v[w] = op<Ks>(v[w], g, s, w, t)), ...);
        } else if (n & (1 << w)) {
            v[w] += v[(w + 1) % Width] * g[w + n];
        }
        out[w * 64 + threadIdx.x] = v[w];
    }
}
template <int... Ks> void *mix() {
    static void *list[] = {(void *)lines<1, Ks...>, (void *)lines<3, Ks...>, (void *)lines<7, Ks...>, (void *)loops<1, Ks...>, (void *)loops<4, Ks...>, (void *)branches<2, Ks...>, (void *)branches<5, Ks...>};
    return list;
}
void *use[] = {mix<0, 1>(), mix<0, 2, 1>(), mix<3, 0, 4>(), mix<5, 0, 2>(), mix<6, 0, 1>(), mix<7, 1, 0>(), mix<8, 0>(), mix<9, 0, 3>(), mix<10, 1>(), mix<11, 2, 4>(), mix<12, 0, 1>(), mix<13, 5, 0>(),
               mix<14, 6, 2>(), mix<15, 4, 12>(), mix<0, 15, 6, 1>(), mix<2, 14, 3, 4, 0>(), mix<1, 8, 5, 12>(), mix<4, 4, 0, 11>(), mix<0, 12, 1, 13, 2>(), mix<6, 6, 5, 3, 15>()};
