// about: integer division and remainder of all widths, wide products, bit counting, saturation, int128
template <typename T, int D> __global__ void by_constant(T *out, const T *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] / (T)D + in[i] % (T)D;
}
template <typename T> __global__ void by_value(T *q, T *r, const T *a, const T *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        q[i] = a[i] / b[i];
        r[i] = a[i] % b[i];
    }
}
template <typename T> __global__ void by_uniform(T *q, const T *a, T d, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) q[i] = a[i] / d * 3 + a[i] % d;
}
template <typename T> __global__ void gcd(T *out, const T *a, const T *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T x = a[i], y = b[i];
    while (y != 0) {
        T t = x % y;
        x = y;
        y = t;
    }
    out[i] = x;
}
template <typename T> __global__ void power(T *out, const T *base, const T *modulus, unsigned e, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T result = 1, b = base[i] % modulus[i];
    for (; e; e >>= 1) {
        if (e & 1) result = result * b % modulus[i];
        b = b * b % modulus[i];
    }
    out[i] = result;
}
__global__ void bits32(unsigned *out, const unsigned *in, int n) {
    int i = threadIdx.x;
    unsigned x = in[i];
    out[i] = __popc(x) + __clz(x) * 3 + __ffs(x) * 5 + __brev(x) + __byte_perm(x, n, 0x3120) + __funnelshift_l(x, n, 7) +
             __funnelshift_r(x, n, x) + __umulhi(x, n) + __mul24(x, n) + __sad(x, n, 4) + __uhadd(x, n) + __urhadd(x, n);
}
__global__ void bits64(unsigned long long *out, const unsigned long long *in, int n) {
    int i = threadIdx.x;
    unsigned long long x = in[i];
    out[i] = __popcll(x) + __clzll(x) * 3 + __ffsll(x) * 5 + __brevll(x) + __umul64hi(x, x + n) + (x << (n & 63)) + (x >> (i & 63)) +
             ((long long)x >> (n & 63));
}
__global__ void video(unsigned *out, const unsigned *a, const unsigned *b) {
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    out[i] = __vadd4(x, y) ^ __vsub2(x, y) ^ __vabsdiffu4(x, y) ^ __vmaxs2(x, y) ^ __vminu4(x, y) ^ __vcmpgtu4(x, y) ^ __vavgu4(x, y) ^
             __vsetles2(x, y) ^ __vaddss4(x, y) ^ __vsadu4(x, y) ^ __dp4a((int)x, (int)y, 7) ^ __dp2a_lo((int)x, (int)y, 9);
}
__global__ void relu(int *out, const int *a, const int *b) {
    int i = threadIdx.x;
    out[i] = __vimax3_s32(a[i], b[i], 4) + __vimin3_s32_relu(a[i], b[i], 5) + __viaddmax_s32(a[i], b[i], 6) + __vimax_s16x2_relu(a[i], b[i]);
}
__global__ void wide(unsigned __int128 *out, const unsigned __int128 *a, const unsigned __int128 *b) {
    int i = threadIdx.x;
    out[i] = a[i] * b[i] + (a[i] << 13) + (b[i] >> 77) - (a[i] < b[i]);
}
__global__ void wide_division(unsigned __int128 *out, const unsigned __int128 *a, const unsigned __int128 *b) {
    int i = threadIdx.x;
    out[i] = a[i] / b[i] + a[i] % b[i];
}
template <typename T> void *all() {
    void (*k[])(T *, const T *, int) = {by_constant<T, 3>,  by_constant<T, 5>,   by_constant<T, 7>,  by_constant<T, 10>,
                                        by_constant<T, 11>, by_constant<T, 100>, by_constant<T, 125>};
    static void *list[] = {(void *)k[0], (void *)k[1], (void *)k[2], (void *)k[3], (void *)k[4], (void *)k[5], (void *)k[6],
                           (void *)by_value<T>, (void *)by_uniform<T>, (void *)gcd<T>, (void *)power<T>};
    return list;
}
void *use[] = {all<signed char>(), all<unsigned char>(), all<short>(), all<unsigned short>(), all<int>(), all<unsigned>(), all<long long>(),
               all<unsigned long long>()};
