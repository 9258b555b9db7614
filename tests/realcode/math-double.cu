// about: the double precision functions of the math library, one kernel for each
#define ONE(name, expression)                                                                                     \
    extern "C" __global__ void d_##name(double *out, const double *in, int n) {                                     \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                            \
        if (i < n) {                                                                                              \
            double x = in[i];                                                                                      \
            out[i] = expression;                                                                                  \
        }                                                                                                         \
    }
#define TWO(name, expression)                                                                                     \
    extern "C" __global__ void d_##name(double *out, const double *a, const double *b, int n) {                      \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {                 \
            double x = a[i], y = b[i];                                                                             \
            out[i] = expression;                                                                                  \
        }                                                                                                         \
    }
ONE(sin, sin(x)) ONE(cos, cos(x)) ONE(tan, tan(x)) ONE(asin, asin(x)) ONE(acos, acos(x)) ONE(atan, atan(x))
ONE(sinh, sinh(x)) ONE(cosh, cosh(x)) ONE(tanh, tanh(x)) ONE(asinh, asinh(x)) ONE(acosh, acosh(x))
ONE(atanh, atanh(x)) ONE(exp, exp(x)) ONE(exp2, exp2(x)) ONE(exp10, exp10(x)) ONE(expm1, expm1(x))
ONE(log, log(x)) ONE(log2, log2(x)) ONE(log10, log10(x)) ONE(log1p, log1p(x)) ONE(sqrt, sqrt(x))
ONE(rsqrt, rsqrt(x)) ONE(cbrt, cbrt(x)) ONE(rcbrt, rcbrt(x)) ONE(erf, erf(x)) ONE(erfc, erfc(x))
ONE(erfinv, erfinv(x)) ONE(erfcinv, erfcinv(x)) ONE(erfcx, erfcx(x)) ONE(normcdf, normcdf(x))
ONE(normcdfinv, normcdfinv(x)) ONE(lgamma, lgamma(x)) ONE(tgamma, tgamma(x)) ONE(j0, j0(x)) ONE(j1, j1(x))
ONE(jn, jn(3, x)) ONE(y0, y0(x)) ONE(y1, y1(x)) ONE(yn, yn(4, x)) ONE(cyl0, cyl_bessel_i0(x))
ONE(cyl1, cyl_bessel_i1(x)) ONE(sinpi, sinpi(x)) ONE(cospi, cospi(x)) ONE(floor, floor(x)) ONE(ceil, ceil(x))
ONE(round, round(x)) ONE(rint, rint(x)) ONE(trunc, trunc(x)) ONE(logb, logb(x)) ONE(ilogb, (double)ilogb(x))
ONE(reciprocal, 1.0 / x)
TWO(pow, pow(x, y)) TWO(atan2, atan2(x, y)) TWO(fmod, fmod(x, y)) TWO(remainder, remainder(x, y))
TWO(hypot, hypot(x, y)) TWO(rhypot, rhypot(x, y)) TWO(fdim, fdim(x, y)) TWO(fmax, fmax(x, y))
TWO(fmin, fmin(x, y)) TWO(copysign, copysign(x, y)) TWO(nextafter, nextafter(x, y)) TWO(div, x / y)
TWO(mixed, (double)((float)x * (float)y) + (double)(int)x + (double)(long long)y)
TWO(rounded, __dadd_rd(x, y) * __dmul_ru(x, y) + __ddiv_rz(x, y) + __dsqrt_rn(x) + __drcp_rd(y))
TWO(ldexp, ldexp(x, (int)y)) TWO(norm3, norm3d(x, y, x + y)) TWO(norm4, rnorm4d(x, y, x - y, x * y))

extern "C" __global__ void d_sincos(double *s, double *c, const double *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sincos(in[i], &s[i], &c[i]);
}
extern "C" __global__ void d_sincospi(double *s, double *c, const double *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sincospi(in[i], &s[i], &c[i]);
}
extern "C" __global__ void d_frexp(double *m, int *e, const double *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) m[i] = frexp(in[i], &e[i]);
}
extern "C" __global__ void d_modf(double *m, double *w, const double *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) m[i] = modf(in[i], &w[i]);
}
extern "C" __global__ void d_remquo(double *m, int *q, const double *a, const double *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) m[i] = remquo(a[i], b[i], &q[i]);
}
