// about: half and bfloat16 arithmetic, functions, comparisons, conversions, atomics
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T, typename F> __device__ void each(T *out, const T *a, const T *b, int n, F f) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = f(a[i], b[i]);
}
#define KERNEL(name, expression)                                                                                  \
    template <typename T> __global__ void name(T *out, const T *a, const T *b, int n) {                           \
        each(out, a, b, n, [](T x, T y) { return expression; });                                                  \
    }                                                                                                             \
    template __global__ void name<__half>(__half *, const __half *, const __half *, int);                         \
    template __global__ void name<__nv_bfloat16>(__nv_bfloat16 *, const __nv_bfloat16 *, const __nv_bfloat16 *, int);
#define KERNEL2(name, expression)                                                                                 \
    template <typename T> __global__ void name(T *out, const T *a, const T *b, int n) {                           \
        each(out, a, b, n, [](T x, T y) { return expression; });                                                  \
    }                                                                                                             \
    template __global__ void name<__half2>(__half2 *, const __half2 *, const __half2 *, int);                     \
    template __global__ void name<__nv_bfloat162>(__nv_bfloat162 *, const __nv_bfloat162 *, const __nv_bfloat162 *, int);
KERNEL(add, x + y) KERNEL(mul, x *y) KERNEL(quotient, x / y) KERNEL(fma1, __hfma(x, y, x)) KERNEL(sat, __hfma_sat(x, y, x))
KERNEL(relu, __hfma_relu(x, y, y)) KERNEL(root, hsqrt(x)) KERNEL(rroot, hrsqrt(x)) KERNEL(ex, hexp(x)) KERNEL(ex2, hexp2(y))
KERNEL(ex10, hexp10(y)) KERNEL(lg, hlog(x)) KERNEL(lg2, hlog2(x)) KERNEL(lg10, hlog10(x)) KERNEL(sine, hsin(x)) KERNEL(cosine, hcos(x))
KERNEL(recip, hrcp(x)) KERNEL(fl, hfloor(x) + hceil(y) + hrint(x) + htrunc(y)) KERNEL(mx, __hmax(x, y) + __hmin_nan(x, y))
KERNEL(cmp, x < y ? x : __heq(x, y) ? __habs(y) : y)
KERNEL2(add2, x + y) KERNEL2(mul2, x *y) KERNEL2(div2, __h2div(x, y)) KERNEL2(fma2, __hfma2(x, y, x)) KERNEL2(root2, h2sqrt(x))
KERNEL2(ex2_2, h2exp2(x)) KERNEL2(lg_2, h2log(x)) KERNEL2(sin_2, h2sin(x)) KERNEL2(max2, __hmax2(x, y)) KERNEL2(cmp2, __hgt2(x, y))
KERNEL2(swap2, __lowhigh2highlow(__hcmadd(x, y, x)))

template <typename T> __global__ void sum(T *out, const T *in, int n) {
    __shared__ T part[256];
    T s = T(0.0f);
    for (int i = threadIdx.x; i < n; i += 256) s += in[i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int w = 128; w; w >>= 1) {
        if (threadIdx.x < w) part[threadIdx.x] += part[threadIdx.x + w];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}
template __global__ void sum<__half>(__half *, const __half *, int);
template __global__ void sum<__nv_bfloat16>(__nv_bfloat16 *, const __nv_bfloat16 *, int);

template <typename To, typename From> __global__ void convert(To *out, const From *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (To)in[i];
}
#define CONVERT(H, T)                                               \
    template __global__ void convert<H, T>(H *, const T *, int);    \
    template __global__ void convert<T, H>(T *, const H *, int);
CONVERT(__half, float) CONVERT(__half, double) CONVERT(__half, int) CONVERT(__half, unsigned) CONVERT(__half, short)
CONVERT(__half, long long) CONVERT(__half, unsigned long long)
CONVERT(__nv_bfloat16, float) CONVERT(__nv_bfloat16, double) CONVERT(__nv_bfloat16, int) CONVERT(__nv_bfloat16, unsigned)
CONVERT(__nv_bfloat16, short) CONVERT(__nv_bfloat16, long long) CONVERT(__nv_bfloat16, unsigned long long)
__global__ void shuffled(__half2 *out, const __half2 *in) {
    __half2 v = in[threadIdx.x];
    for (int d = 16; d; d >>= 1) v = __hadd2(v, __shfl_xor_sync(~0u, v, d));
    out[threadIdx.x] = v;
}
