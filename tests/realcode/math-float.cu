// about: the single precision functions of the math library, one kernel for each
#define ONE(name, expression)                                                                                     \
    extern "C" __global__ void f_##name(float *out, const float *in, int n) {                                     \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                            \
        if (i < n) {                                                                                              \
            float x = in[i];                                                                                      \
            out[i] = expression;                                                                                  \
        }                                                                                                         \
    }
#define TWO(name, expression)                                                                                     \
    extern "C" __global__ void f_##name(float *out, const float *a, const float *b, int n) {                      \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {                 \
            float x = a[i], y = b[i];                                                                             \
            out[i] = expression;                                                                                  \
        }                                                                                                         \
    }
ONE(sin, sinf(x)) ONE(cos, cosf(x)) ONE(tan, tanf(x)) ONE(asin, asinf(x)) ONE(acos, acosf(x)) ONE(atan, atanf(x))
ONE(sinh, sinhf(x)) ONE(cosh, coshf(x)) ONE(tanh, tanhf(x)) ONE(asinh, asinhf(x)) ONE(acosh, acoshf(x))
ONE(atanh, atanhf(x)) ONE(exp, expf(x)) ONE(exp2, exp2f(x)) ONE(exp10, exp10f(x)) ONE(expm1, expm1f(x))
ONE(log, logf(x)) ONE(log2, log2f(x)) ONE(log10, log10f(x)) ONE(log1p, log1pf(x)) ONE(sqrt, sqrtf(x))
ONE(rsqrt, rsqrtf(x)) ONE(cbrt, cbrtf(x)) ONE(rcbrt, rcbrtf(x)) ONE(erf, erff(x)) ONE(erfc, erfcf(x))
ONE(erfinv, erfinvf(x)) ONE(erfcinv, erfcinvf(x)) ONE(erfcx, erfcxf(x)) ONE(normcdf, normcdff(x))
ONE(normcdfinv, normcdfinvf(x)) ONE(lgamma, lgammaf(x)) ONE(tgamma, tgammaf(x)) ONE(j0, j0f(x)) ONE(j1, j1f(x))
ONE(jn, jnf(3, x)) ONE(y0, y0f(x)) ONE(y1, y1f(x)) ONE(yn, ynf(4, x)) ONE(cyl0, cyl_bessel_i0f(x))
ONE(cyl1, cyl_bessel_i1f(x)) ONE(sinpi, sinpif(x)) ONE(cospi, cospif(x)) ONE(floor, floorf(x)) ONE(ceil, ceilf(x))
ONE(round, roundf(x)) ONE(rint, rintf(x)) ONE(trunc, truncf(x)) ONE(logb, logbf(x)) ONE(ilogb, (float)ilogbf(x))
ONE(reciprocal, 1.0f / x)
TWO(pow, powf(x, y)) TWO(atan2, atan2f(x, y)) TWO(fmod, fmodf(x, y)) TWO(remainder, remainderf(x, y))
TWO(hypot, hypotf(x, y)) TWO(rhypot, rhypotf(x, y)) TWO(fdim, fdimf(x, y)) TWO(fmax, fmaxf(x, y))
TWO(fmin, fminf(x, y)) TWO(copysign, copysignf(x, y)) TWO(nextafter, nextafterf(x, y)) TWO(div, x / y)
TWO(fast, __fdividef(x, y) + __powf(x, y) + __sinf(x) * __cosf(y) + __expf(x) + __logf(y))
TWO(rounded, __fadd_rd(x, y) * __fmul_ru(x, y) + __fdiv_rz(x, y) + __fsqrt_rn(x) + __frcp_rd(y))
TWO(ldexp, ldexpf(x, (int)y)) TWO(norm3, norm3df(x, y, x + y)) TWO(norm4, rnorm4df(x, y, x - y, x * y))

extern "C" __global__ void f_sincos(float *s, float *c, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sincosf(in[i], &s[i], &c[i]);
}
extern "C" __global__ void f_sincospi(float *s, float *c, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sincospif(in[i], &s[i], &c[i]);
}
extern "C" __global__ void f_frexp(float *m, int *e, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) m[i] = frexpf(in[i], &e[i]);
}
extern "C" __global__ void f_modf(float *m, float *w, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) m[i] = modff(in[i], &w[i]);
}
extern "C" __global__ void f_remquo(float *m, int *q, const float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) m[i] = remquof(a[i], b[i], &q[i]);
}
