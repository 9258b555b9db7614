// about: many device functions that are called, not inlined: of the math library, of integers, of structures, through tables
#include <cuda_fp16.h>
struct Pair { double a, b; };
struct Six { int v[6]; };
#define F(name, expression) __noinline__ __device__ float f_##name(float x, float y) { return expression; }
#define D(name, expression) __noinline__ __device__ double d_##name(double x, double y) { return expression; }
#define I(name, expression) __noinline__ __device__ long long i_##name(long long x, long long y) { return expression; }
#define FLOATS(_) _(sin, sinf(x) + y) _(cos, cosf(x) * y) _(exp, expf(x - y)) _(log, logf(x) / y) _(pow, powf(x, y)) _(atan, atan2f(x, y)) _(mod, fmodf(x, y)) _(erf, erff(x) + erfcf(y))   \
    _(gamma, tgammaf(x) + lgammaf(y)) _(root, sqrtf(x) + rsqrtf(y)) _(cube, cbrtf(x) - y) _(hyp, hypotf(x, y)) _(sinh, sinhf(x) + coshf(y)) _(tanh, tanhf(x) + atanhf(y)) _(bessel, j0f(x) + y1f(y)) \
    _(quot, x / y) _(next, nextafterf(x, y)) _(rem, remainderf(x, y)) _(inv, normcdfinvf(x) + y)
#define DOUBLES(_) _(sin, sin(x) + y) _(cos, cos(x) * y) _(exp, exp(x - y)) _(log, log(x) / y) _(pow, pow(x, y)) _(atan, atan2(x, y)) _(mod, fmod(x, y)) _(erf, erf(x) + erfc(y)) _(root, sqrt(x) + rsqrt(y)) \
    _(cube, cbrt(x) - y) _(hyp, hypot(x, y)) _(sinh, sinh(x) + cosh(y)) _(tanh, tanh(x)) _(quot, x / y) _(float, (double)((float)x / (float)y))
#define INTEGERS(_) _(div, x / y) _(mod, x % y) _(udiv, (long long)((unsigned long long)x / (unsigned long long)y)) _(small, (long long)((int)x / (int)y)) _(high, __mul64hi(x, y)) \
    _(bits, __popcll(x) + __clzll(y)) _(shift, x << (y & 63) | (unsigned long long)x >> (-y & 63)) _(tofloat, (long long)((double)x / (double)y)) _(gcd, y == 0 ? x : i_gcd_step(x, y))
__noinline__ __device__ long long i_gcd_step(long long x, long long y) {
    while (y) {
        long long t = x % y;
        x = y, y = t;
    }
    return x;
}
FLOATS(F) DOUBLES(D) INTEGERS(I)
#define FT(name, e) f_##name,
#define DT(name, e) d_##name,
#define IT(name, e) i_##name,
__device__ float (*const floats[])(float, float) = {FLOATS(FT)};
__device__ double (*const doubles[])(double, double) = {DOUBLES(DT)};
__device__ long long (*const integers[])(long long, long long) = {INTEGERS(IT)};
template <typename T, int N> __device__ void through(T (*const (&table)[N])(T, T), T *v, const int *which, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) v[i] = table[(unsigned)which[i] % N](v[i], v[i + 1]);
}
__global__ void float_table(float *v, const int *which, int n) { through(floats, v, which, n); }
__global__ void double_table(double *v, const int *which, int n) { through(doubles, v, which, n); }
__global__ void integer_table(long long *v, const int *which, int n) { through(integers, v, which, n); }
#define FC(name, e) x = f_##name(x, v[threadIdx.x + 32]);
#define DC(name, e) x = d_##name(x, v[threadIdx.x + 32]);
#define IC(name, e) x = i_##name(x, v[threadIdx.x + 32]);
__global__ void float_chain(float *v) { float x = v[threadIdx.x]; FLOATS(FC) v[threadIdx.x] = x; }
__global__ void double_chain(double *v) { double x = v[threadIdx.x]; DOUBLES(DC) v[threadIdx.x] = x; }
__global__ void integer_chain(long long *v) { long long x = v[threadIdx.x]; INTEGERS(IC) v[threadIdx.x] = x; }
__noinline__ __device__ Pair swap(Pair p) { return {p.b, p.a}; }
__noinline__ __device__ Six rotate(Six s, int by) {
    Six r;
    for (int i = 0; i < 6; i++) r.v[i] = s.v[(i + by) % 6];
    return r;
}
__noinline__ __device__ void fill(float *p, float x, int n) {
    for (int i = 0; i < n; i++) p[i] = x + i;
}
__noinline__ __device__ float total(const float *p, int n) {
    float s = 0;
#pragma unroll 4
    for (int i = 0; i < n; i++) s += p[i];
    return s;
}
__noinline__ __device__ float shared_sum(float x) {
    __shared__ float s[256];
    s[threadIdx.x] = x;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    return s[0];
}
__noinline__ __device__ float warp_sum(float x) {
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    return x;
}
__noinline__ __device__ int ticket(int *counter) { return atomicAdd(counter, 1); }
__noinline__ __device__ float sampled(cudaTextureObject_t t, float x, float y) { return tex2D<float>(t, x, y) + tex2D<float>(t, y, x); }
__noinline__ __device__ __half2 halves(__half2 a, __half2 b) { return h2exp2(a) * b; }
__noinline__ __device__ double many(double a, float b, int c, long long d, char e, double f, float g, int h, long long i, double j, float k, int l, double m, double n, double o, double p) {
    return a * b + c * d + e * f + g * h + i * j + k * l + m * n + o * p;
}
__global__ void structures(Pair *p, Six *s, int by) {
    p[threadIdx.x] = swap(p[threadIdx.x]);
    s[threadIdx.x] = rotate(rotate(s[threadIdx.x], by), by + 1);
}
__global__ void buffers(float *v, int n) {
    float local[40];
    fill(local, v[threadIdx.x], n);
    v[threadIdx.x] = total(local, n) + total(v, n);
}
__global__ void groups(float *v, int *counter) {
    float x = shared_sum(v[threadIdx.x]) + warp_sum(v[threadIdx.x + 256]);
    if (x > 3) v[ticket(counter)] = x;
}
__global__ void mixed(float *v, cudaTextureObject_t t, __half2 *h, double *d) {
    v[threadIdx.x] = sampled(t, v[threadIdx.x], v[threadIdx.x + 1]);
    h[threadIdx.x] = halves(h[threadIdx.x], h[threadIdx.x + 1]);
    d[threadIdx.x] = many(d[0], v[1], threadIdx.x, 4, 5, d[6], v[7], 8, 9, d[10], v[11], 12, d[13], d[14], d[15], d[16]);
}
