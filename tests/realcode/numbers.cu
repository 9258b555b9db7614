// about: arithmetic built of templates: double-double, dual numbers, quaternions, fixed point, intervals, polynomials
template <typename T> struct Two { T h, l; };
template <typename T> __device__ Two<T> sum(T a, T b) { T s = a + b, v = s - a; return {s, (a - (s - v)) + (b - v)}; }
template <typename T> __device__ Two<T> operator+(Two<T> a, Two<T> b) { Two<T> s = sum(a.h, b.h); return sum(s.h, s.l + a.l + b.l); }
template <typename T> __device__ Two<T> operator*(Two<T> a, Two<T> b) { T p = a.h * b.h; return sum(p, fma(a.h, b.h, -p) + a.h * b.l + a.l * b.h); }
template <typename T> __device__ Two<T> operator/(Two<T> a, Two<T> b) {
    T q = a.h / b.h;
    Two<T> r = a + Two<T>{-q, 0} * b;
    return sum(q, r.h / b.h);
}
template <typename T, int N> struct Dual {
    T v, d[N];
    __device__ Dual operator+(Dual o) const { Dual r{v + o.v}; for (int i = 0; i < N; i++) r.d[i] = d[i] + o.d[i]; return r; }
    __device__ Dual operator*(Dual o) const { Dual r{v * o.v}; for (int i = 0; i < N; i++) r.d[i] = d[i] * o.v + v * o.d[i]; return r; }
    __device__ Dual operator/(Dual o) const { T q = 1 / o.v; Dual r{v * q}; for (int i = 0; i < N; i++) r.d[i] = (d[i] - r.v * o.d[i]) * q; return r; }
};
template <typename T, int N> __device__ Dual<T, N> exp(Dual<T, N> x) { Dual<T, N> r{::exp(x.v)}; for (int i = 0; i < N; i++) r.d[i] = r.v * x.d[i]; return r; }
template <typename T> struct Quaternion {
    T w, x, y, z;
    __device__ Quaternion operator*(Quaternion o) const {
        return {w * o.w - x * o.x - y * o.y - z * o.z, w * o.x + x * o.w + y * o.z - z * o.y, w * o.y - x * o.z + y * o.w + z * o.x, w * o.z + x * o.y - y * o.x + z * o.w};
    }
    __device__ Quaternion operator+(Quaternion o) const { return {w + o.w, x + o.x, y + o.y, z + o.z}; }
    __device__ Quaternion operator/(Quaternion o) const { T n = 1 / (o.w * o.w + o.x * o.x + o.y * o.y + o.z * o.z); return *this * Quaternion{o.w * n, -o.x * n, -o.y * n, -o.z * n}; }
};
template <int F> struct Fixed {
    int v;
    __device__ Fixed operator+(Fixed o) const { return {v + o.v}; }
    __device__ Fixed operator*(Fixed o) const { return {(int)((long long)v * o.v >> F)}; }
    __device__ Fixed operator/(Fixed o) const { return {(int)(((long long)v << F) / o.v)}; }
};
struct Interval {
    double a, b;
    __device__ Interval operator+(Interval o) const { return {__dadd_rd(a, o.a), __dadd_ru(b, o.b)}; }
    __device__ Interval operator*(Interval o) const {
        return {fmin(fmin(__dmul_rd(a, o.a), __dmul_rd(a, o.b)), fmin(__dmul_rd(b, o.a), __dmul_rd(b, o.b))), fmax(fmax(__dmul_ru(a, o.a), __dmul_ru(a, o.b)), fmax(__dmul_ru(b, o.a), __dmul_ru(b, o.b)))};
    }
    __device__ Interval operator/(Interval o) const { return *this * Interval{__ddiv_rd(1, o.b), __ddiv_ru(1, o.a)}; }
};
template <typename N> __global__ void horner(const N *c, const N *x, N *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    N r = c[n - 1], v = x[i];
    for (int k = n - 2; k >= 0; k--) r = r * v + c[k];
    y[i] = r;
}
template <typename N> __global__ void rational(const N *c, const N *x, N *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    N v = x[i];
    y[i] = ((c[0] * v + c[1]) * v + c[2]) / ((c[3] * v + c[4]) * v + c[5]);
}
template <typename N> __global__ void dot(const N *a, const N *b, N *out, int n) {
    N s{};
    for (int i = threadIdx.x; i < n; i += blockDim.x) s = s + a[i] * b[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
template <typename N> __global__ void continued(const N *a, N *out, int n) {
    N s = a[n - 1];
    for (int i = n - 2; i >= 0; i--) s = a[i] + a[i + 1] / s;
    out[threadIdx.x] = s;
}
template <typename T, int N> __global__ void newton(const Dual<T, N> *c, Dual<T, N> *x, int n) {
    Dual<T, N> v = x[threadIdx.x];
    for (int i = 0; i < n; i++) v = v + c[0] * v / exp(v * c[1] + c[2]);
    x[threadIdx.x] = v;
}
template <typename N> void *all() {
    static void *list[] = {(void *)horner<N>, (void *)rational<N>, (void *)dot<N>, (void *)continued<N>};
    return list;
}
void *use[] = {all<Two<float>>(), all<Two<double>>(), all<Dual<float, 3>>(), all<Dual<double, 4>>(), all<Quaternion<float>>(), all<Quaternion<double>>(), all<Fixed<16>>(), all<Fixed<8>>(), all<Interval>(),
               (void *)newton<float, 2>, (void *)newton<double, 3>};
