// about: device functions: kept calls, recursion, function pointers, virtual functions, structures by value
#include <cstdint>
struct Vec { float x, y, z; };
struct Big { double m[12]; };
__noinline__ __device__ float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__noinline__ __device__ Vec cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
__noinline__ __device__ Vec normal(Vec a) {
    float s = rsqrtf(dot(a, a));
    return {a.x * s, a.y * s, a.z * s};
}
__noinline__ __device__ Big product(const Big &a, const Big &b) {
    Big r;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            r.m[i * 4 + j] = a.m[i * 4] * b.m[j] + a.m[i * 4 + 1] * b.m[4 + j] + a.m[i * 4 + 2] * b.m[8 + j];
            if (j == 3) r.m[i * 4 + j] += a.m[i * 4 + 3];
        }
    return r;
}
__device__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ unsigned ackermann(unsigned m, unsigned n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ bool odd(unsigned n);
__noinline__ __device__ bool even(unsigned n) { return n == 0 || odd(n - 1); }
__noinline__ __device__ bool odd(unsigned n) { return n != 0 && even(n - 1); }
__device__ void quicksort(int *v, int low, int high) {
    if (low >= high) return;
    int p = v[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (v[i] < p) i++;
        while (v[j] > p) j--;
        if (i <= j) {
            int t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
    }
    quicksort(v, low, j);
    quicksort(v, i, high);
}
struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual void scale(float s) = 0;
    __device__ virtual ~Shape() {}
};
struct Circle : Shape {
    float r;
    __device__ Circle(float r) : r(r) {}
    __device__ float area() const override { return 3.14159f * r * r; }
    __device__ void scale(float s) override { r *= s; }
};
struct Box : Shape {
    float w, h;
    __device__ Box(float w, float h) : w(w), h(h) {}
    __device__ float area() const override { return w * h; }
    __device__ void scale(float s) override { w *= s, h *= s; }
};
struct Triangle final : Shape {
    float a, b, c;
    __device__ Triangle(float a, float b, float c) : a(a), b(b), c(c) {}
    __device__ float area() const override {
        float s = (a + b + c) / 2;
        return sqrtf(s * (s - a) * (s - b) * (s - c));
    }
    __device__ void scale(float s) override { a *= s, b *= s, c *= s; }
};
typedef float (*Unary)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float square(float x) { return x * x; }
__device__ float wave(float x) { return sinf(x); }
__device__ float root(float x) { return sqrtf(x); }
__device__ Unary table[] = {twice, square, wave, root};
__constant__ Unary constants[] = {root, wave};
__noinline__ __device__ float integrate(Unary f, float a, float b, int n) {
    float h = (b - a) / n, s = 0;
    for (int i = 0; i < n; i++) s += f(a + (i + 0.5f) * h);
    return s * h;
}
__global__ void vectors(Vec *out, const Vec *a, const Vec *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = normal(cross(a[i], b[i]));
}
__global__ void matrices(Big *out, const Big *in, int n) {
    Big r = in[threadIdx.x];
    for (int i = 0; i < n; i++) r = product(r, in[i]);
    out[threadIdx.x] = r;
}
__global__ void recursive(unsigned *out, unsigned n) {
    out[threadIdx.x] = fibonacci(n + threadIdx.x % 4) + ackermann(2, threadIdx.x % 5) + even(threadIdx.x);
}
__global__ void sorted(int *v, int n) { quicksort(v + threadIdx.x * n, 0, n - 1); }
__global__ void make(Shape **out, const float *in, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (i % 3 == 0) out[i] = new Circle(in[i]);
        else if (i % 3 == 1) out[i] = new Box(in[i], in[i + 1]);
        else out[i] = new Triangle(in[i], in[i + 1], in[i + 2]);
}
__global__ void measure(float *out, Shape **shapes, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        shapes[i]->scale(1.5f);
        sum += shapes[i]->area();
    }
    out[threadIdx.x] = sum;
}
__global__ void destroy(Shape **shapes, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) delete shapes[i];
}
__global__ void pointers(float *out, const int *which, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = table[which[i] & 3](out[i]) + constants[which[i] >> 2 & 1](out[i]);
}
__global__ void integrals(float *out, int n) { out[threadIdx.x] = integrate(table[threadIdx.x & 3], 0, 1, n) + integrate(square, 0, 2, n); }
__global__ void chained(float *out, Unary *functions, int n) {
    float x = out[threadIdx.x];
    for (int i = 0; i < n; i++) x = functions[i](x);
    out[threadIdx.x] = x;
}
template <int N> __noinline__ __device__ float deep(float x) { return deep<N - 1>(x * 1.5f) + x; }
template <> __noinline__ __device__ float deep<0>(float x) { return x; }
__global__ void deep_chain(float *out) { out[threadIdx.x] = deep<20>(out[threadIdx.x]); }
template <typename... A> __noinline__ __device__ double total(A... a) { return (double(a) + ...); }
__global__ void many_arguments(double *out, const float *in, long long k) {
    int i = threadIdx.x;
    out[i] = total(in[i], i, k, (short)i, in[i + 1], (char)k, in[i + 2] * 2.0, i * 2u, k << 3, in[i + 3], 1.5, in[i + 4], in[i + 5], i + 9,
                   in[i + 6], in[i + 7], k * i, in[i + 8]);
}
