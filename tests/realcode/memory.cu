// about: vector loads, local arrays and spills, cache hints, constants, structures, unions, unaligned and generic accesses
#include <cstdint>
template <typename V> __global__ void copy_vectors(const V *in, V *out, int n) {
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}
template <typename T> __global__ void hints(const T *in, T *out) {
    int i = threadIdx.x;
    __stcg(&out[i], __ldcg(&in[i]) + __ldca(&in[i + 32]));
    __stcs(&out[i + 64], __ldcs(&in[i]) + __ldlu(&out[i + 96]));
    __stwt(&out[i + 128], __ldcv(&out[i + 160]) + __ldg(&in[i + 96]));
    __stwb(&out[i + 192], in[i + 128]);
}
template <typename T, int N> __global__ void local_array(const T *in, T *out, const int *order, int n) {
    T v[N];
    for (int i = 0; i < N; i++) v[i] = in[i * blockDim.x + threadIdx.x];
    for (int k = 0; k < n; k++) {
        int a = order[k] % N, b = order[k + 1] % N;
        T t = v[a];
        v[a] = v[b] + t;
        v[b] = t;
    }
    for (int i = 0; i < N; i++) out[i * blockDim.x + threadIdx.x] = v[i];
}
template <typename T, int N> __global__ void __launch_bounds__(1024, 2) pressed(const T *in, T *out) {
    T v[N];
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = in[i * 1024 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int j = 0; j < N; j += 3) v[i] = v[i] * v[j] + v[(i + j) % N];
#pragma unroll
    for (int i = 0; i < N; i++) out[i * 1024 + threadIdx.x] = v[i];
}
__constant__ struct { float scale[32]; int4 offsets[8]; double bias; short small[10]; } settings;
__global__ void constants(float *v, const int *which) {
    int i = threadIdx.x, w = which[i] & 31;
    v[i] = v[i] * settings.scale[w] + settings.offsets[w & 7].y + (float)settings.bias + settings.small[w % 10] + settings.scale[3];
}
template <typename T> __global__ void generic(T *a, T *b, int which, int n) {
    __shared__ T s[64];
    T l[4] = {T(1), T(2), T(3), T(4)};
    s[threadIdx.x & 63] = a[threadIdx.x];
    __syncthreads();
    T *p = which == 0 ? a : which == 1 ? s : which == 2 ? l : b;
    T sum = 0;
    for (int i = 0; i < n; i++) sum += p[i & 3], p[(i + 1) & 3] = sum;
    b[threadIdx.x] = sum + l[n & 3];
}
struct Packed { char a; int b; short c; double d; float e[3]; } __attribute__((packed));
__global__ void packed(Packed *p, double *out) {
    Packed x = p[threadIdx.x];
    out[threadIdx.x] = x.a + x.b + x.c + x.d + x.e[1];
    x.b += x.c, x.d *= 2;
    p[threadIdx.x] = x;
}
union Word { uint32_t u; float f; uint8_t b[4]; struct { unsigned low : 5, mid : 13, high : 14; } bits; };
__global__ void unions(Word *w) {
    Word x = w[threadIdx.x];
    x.f *= 2;
    x.b[1] ^= x.b[3];
    x.bits.mid += x.bits.low;
    w[threadIdx.x] = x;
}
extern __shared__ unsigned char arena[];
template <typename T> __global__ void carved(const T *in, double *out, int n) {
    T *a = (T *)arena;
    double *b = (double *)(a + n);
    int *c = (int *)(b + n);
    for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = in[i], b[i] = in[n - 1 - i], c[i] = i * i % n;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = a[c[i]] + b[c[(i + 1) % n]];
}
__global__ void strings(const char *text, char *out, const char *needle, int *at, int n, int m) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i + m <= n; i += gridDim.x * blockDim.x) {
        int k = 0;
        while (k < m && text[i + k] == needle[k]) k++;
        if (k == m) atomicMin(at, i);
        char c = text[i];
        out[i] = c >= 'a' && c <= 'z' ? c - 32 : c;
    }
}
__global__ void many_parameters(float *o, float a, double b, int c, long long d, char e, short f, float4 g, double2 h, const float *i, const int *j, unsigned k, bool l, uchar4 m, long long n, float p,
                                double q) {
    o[threadIdx.x] = a + b + c + d + e + f + g.x + g.w + h.y + i[threadIdx.x] + j[threadIdx.x] + k + l + m.z + n + p * q;
}
struct Huge { float v[600]; };
__global__ void huge_parameter(float *o, const __grid_constant__ Huge h, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s += h.v[(i * 7 + threadIdx.x) % 600];
    o[threadIdx.x] = s;
}
__device__ float global_table[512];
__device__ __managed__ int managed_counter;
__global__ void globals(float *o) {
    o[threadIdx.x] = global_table[threadIdx.x] + managed_counter;
    global_table[(threadIdx.x * 7) & 511] = o[threadIdx.x];
    if (threadIdx.x == 0) managed_counter++;
}
#define VECTORS(V) template __global__ void copy_vectors<V>(const V *, V *, int);
VECTORS(char) VECTORS(short) VECTORS(int) VECTORS(int2) VECTORS(int4) VECTORS(float3) VECTORS(double2) VECTORS(double4) VECTORS(uchar4) VECTORS(longlong2) VECTORS(Packed)
template __global__ void hints<int>(const int *, int *);
template __global__ void hints<float>(const float *, float *);
template __global__ void hints<double>(const double *, double *);
template __global__ void local_array<int, 16>(const int *, int *, const int *, int);
template __global__ void local_array<double, 24>(const double *, double *, const int *, int);
template __global__ void local_array<short, 100>(const short *, short *, const int *, int);
template __global__ void pressed<float, 16>(const float *, float *);
template __global__ void pressed<float, 40>(const float *, float *);
template __global__ void pressed<double, 24>(const double *, double *);
template __global__ void pressed<int, 32>(const int *, int *);
template __global__ void generic<int>(int *, int *, int, int);
template __global__ void generic<double>(double *, double *, int, int);
template __global__ void carved<float>(const float *, double *, int);
template __global__ void carved<int>(const int *, double *, int);
