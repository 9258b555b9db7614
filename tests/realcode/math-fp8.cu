// about: fp8, fp6 and fp4 conversions of scalars and vectors
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

template <typename To, typename From> __global__ void convert(To *out, const From *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = To(in[i]);
}
template <typename E, typename T> __global__ void dot(float *out, const E *a, const E *b, int n) {
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += float(a[i]) * float(b[i]) + float(T(a[i]));
    for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}
#define BOTH(E, T)                                                  \
    template __global__ void convert<E, T>(E *, const T *, int);    \
    template __global__ void convert<T, E>(T *, const E *, int);
#define ALL(E)                                                      \
    BOTH(E, float) BOTH(E, double) BOTH(E, __half) BOTH(E, __nv_bfloat16)   \
    template __global__ void dot<E, __half>(float *, const E *, const E *, int);
ALL(__nv_fp8_e4m3) ALL(__nv_fp8_e5m2) ALL(__nv_fp6_e2m3) ALL(__nv_fp6_e3m2) ALL(__nv_fp4_e2m1)
BOTH(__nv_fp8x2_e4m3, float2) BOTH(__nv_fp8x2_e5m2, float2) BOTH(__nv_fp6x2_e2m3, float2) BOTH(__nv_fp4x2_e2m1, float2)
BOTH(__nv_fp8x4_e4m3, float4) BOTH(__nv_fp8x4_e5m2, float4) BOTH(__nv_fp6x4_e3m2, float4) BOTH(__nv_fp4x4_e2m1, float4)
template __global__ void convert<__nv_fp8_e8m0, float>(__nv_fp8_e8m0 *, const float *, int);
template __global__ void convert<float, __nv_fp8_e8m0>(float *, const __nv_fp8_e8m0 *, int);
