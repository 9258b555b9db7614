// about: the standard library on the device: complex numbers, mdspan, bitset, optional, variant, tuple, chrono, algorithms
// packages: cccl
// options: --expt-relaxed-constexpr
#include <cuda/std/__algorithm_>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/bitset>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/expected>
#include <cuda/std/inplace_vector>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>
namespace s = cuda::std;
#define COMPLEX(name, expression)                                                              \
    template <typename T> __global__ void z_##name(s::complex<T> *out, const s::complex<T> *in) { \
        s::complex<T> x = in[threadIdx.x], y = in[threadIdx.x + 32];                           \
        out[threadIdx.x] = expression;                                                         \
    }                                                                                          \
    template __global__ void z_##name<float>(s::complex<float> *, const s::complex<float> *);  \
    template __global__ void z_##name<double>(s::complex<double> *, const s::complex<double> *);
COMPLEX(mul, x *y) COMPLEX(div, x / y) COMPLEX(exp, s::exp(x)) COMPLEX(log, s::log(x)) COMPLEX(sqrt, s::sqrt(x)) COMPLEX(pow, s::pow(x, y))
COMPLEX(sin, s::sin(x)) COMPLEX(cos, s::cos(x)) COMPLEX(tan, s::tan(x)) COMPLEX(asin, s::asin(x)) COMPLEX(acos, s::acos(x)) COMPLEX(atan, s::atan(x))
COMPLEX(sinh, s::sinh(x)) COMPLEX(acosh, s::acosh(x)) COMPLEX(tanh, s::tanh(x)) COMPLEX(polar, s::polar(s::abs(x), s::arg(y)))
template <typename T, typename Layout> __global__ void matrix_vector(const T *a, const T *x, T *y, int m, int n) {
    s::mdspan<const T, s::dextents<int, 2>, Layout> A(a, m, n);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= A.extent(0)) return;
    T sum = 0;
    for (int j = 0; j < A.extent(1); j++) sum += A(i, j) * x[j];
    y[i] = sum;
}
template <typename T> __global__ void stencil(const T *a, T *b) {
    s::mdspan<const T, s::extents<int, 8, 16, 32>> A(a);
    s::mdspan<T, s::extents<int, 8, 16, 32>> B(b);
    int k = threadIdx.x;
    for (int i = 1; i < 7; i++)
        for (int j = 1; j < 15; j++) B(i, j, k) = A(i - 1, j, k) + A(i + 1, j, k) + A(i, j - 1, k) + A(i, j + 1, k);
}
template <typename T> __global__ void algorithms(T *v, int n) {
    T *b = v + threadIdx.x * n, *e = b + n;
    T sum = s::accumulate(b, e, T(0));
    s::rotate(b, b + n / 3, e);
    s::partial_sum(b, e, b);
    T *p = s::partition(b, e, [](T x) { return x > T(4); });
    s::make_heap(b, e);
    s::sort_heap(b, e);
    T *l = s::lower_bound(b, e, sum);
    s::reverse(b, l);
    *b = T(s::count_if(b, e, [](T x) { return x < T(9); })) + T(p - b) + *s::max_element(b, e) + T(s::unique(b, e) - b) + T(s::next_permutation(b, e));
}
template <int N> __global__ void bits(unsigned *out, const unsigned long long *in) {
    s::bitset<N> a(in[threadIdx.x]), b(in[threadIdx.x + 1]);
    for (int i = 0; i < N; i += 3) a.flip(i);
    auto c = (a << 5) ^ (b >> 2) ^ (a & ~b);
    out[threadIdx.x] = (unsigned)c.count() + c.any() + c.all() * 2 + c[N / 2] + s::countl_zero(out[threadIdx.x]) + s::rotl(out[threadIdx.x], 5) + s::bit_ceil(out[threadIdx.x]);
}
using Value = s::variant<int, float, s::complex<float>, s::array<short, 6>>;
__global__ void visit(const int *kind, float *v) {
    int i = threadIdx.x;
    Value x;
    if (kind[i] == 0) x = i;
    else if (kind[i] == 1) x = v[i];
    else if (kind[i] == 2) x = s::complex<float>(v[i], v[i + 1]);
    else x = s::array<short, 6>{1, 2, (short)i, 4, 5, 6};
    struct See {
        __device__ float operator()(int a) { return a * 2; }
        __device__ float operator()(float a) { return sqrtf(a); }
        __device__ float operator()(s::complex<float> a) { return s::abs(a); }
        __device__ float operator()(s::array<short, 6> a) { return a[threadIdx.x % 6]; }
    };
    v[i] = s::visit(See(), x);
}
__device__ s::optional<float> root(float x) { return x < 0 ? s::nullopt : s::optional<float>(sqrtf(x)); }
__device__ s::expected<int, int> parse(s::span<const char> text) {
    int n = 0;
    for (char c : text) {
        if (c < '0' || c > '9') return s::unexpected<int>(c);
        n = n * 10 + c - '0';
    }
    return n;
}
__global__ void values(float *v, const char *text, int length) {
    v[threadIdx.x] = root(v[threadIdx.x]).value_or(-1) + parse(s::span<const char>(text + threadIdx.x, length)).value_or(3);
    auto [q, r, t] = s::make_tuple(threadIdx.x / 7, threadIdx.x % 7, v[threadIdx.x]);
    v[q * 8 + r] = t;
}
__global__ void times(long long *out) {
    using namespace s::chrono;
    auto d = nanoseconds(out[threadIdx.x]);
    out[threadIdx.x] = duration_cast<minutes>(d).count() * 7 + duration_cast<microseconds>(d).count() % 60 + (year(2024) / 2 / day(out[1] % 28)).ok();
}
__global__ void vectors(int *v, int n) {
    s::inplace_vector<int, 12> x;
    for (int i = 0; i < n && x.size() < x.capacity(); i++)
        if (v[i] & 1) x.push_back(v[i]);
    s::span<int> y(x.data(), x.size());
    int sum = 0;
    for (int z : y) sum += z;
    v[threadIdx.x] = sum;
}
template __global__ void matrix_vector<float, s::layout_right>(const float *, const float *, float *, int, int);
template __global__ void matrix_vector<double, s::layout_left>(const double *, const double *, double *, int, int);
template __global__ void stencil<float>(const float *, float *);
template __global__ void stencil<double>(const double *, double *);
template __global__ void algorithms<int>(int *, int);
template __global__ void algorithms<double>(double *, int);
template __global__ void bits<40>(unsigned *, const unsigned long long *);
template __global__ void bits<200>(unsigned *, const unsigned long long *);
