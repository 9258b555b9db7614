// about: cuRAND's Sobol sequences, Mersenne twister and discrete distributions
// packages: curand
#include <curand_kernel.h>
#include <curand_mtgp32_host.h>
template <typename S, typename V> __global__ void start(S *states, V *vectors) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(vectors[i], i * 100u, &states[i]);
}
template <typename S, typename V, typename C> __global__ void start_scrambled(S *states, V *vectors, C *constants) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(vectors[i], constants[i], i * 100u, &states[i]);
}
template <typename S> __global__ void draw(S *states, float *f, double *d, unsigned *u, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    S s = states[i];
    for (int k = 0; k < n; k++) {
        f[i] += curand_uniform(&s) + curand_normal(&s) + curand_log_normal(&s, 0.0f, 1.0f);
        d[i] += curand_uniform_double(&s) + curand_normal_double(&s);
        u[i] += (unsigned)curand(&s) + curand_poisson(&s, 3.5);
    }
    states[i] = s;
}
template __global__ void start(curandStateSobol32_t *, curandDirectionVectors32_t *);
template __global__ void start(curandStateSobol64_t *, curandDirectionVectors64_t *);
template __global__ void start_scrambled(curandStateScrambledSobol32_t *, curandDirectionVectors32_t *, unsigned *);
template __global__ void start_scrambled(curandStateScrambledSobol64_t *, curandDirectionVectors64_t *, unsigned long long *);
template __global__ void draw(curandStateSobol32_t *, float *, double *, unsigned *, int);
template __global__ void draw(curandStateSobol64_t *, float *, double *, unsigned *, int);
template __global__ void draw(curandStateScrambledSobol32_t *, float *, double *, unsigned *, int);
template __global__ void draw(curandStateScrambledSobol64_t *, float *, double *, unsigned *, int);
__global__ void twister(curandStateMtgp32_t *states, unsigned *u, float *f, int n) {
    for (int k = 0; k < n; k++) {
        u[(blockIdx.x * n + k) * 256 + threadIdx.x] = curand(&states[blockIdx.x]);
        f[(blockIdx.x * n + k) * 256 + threadIdx.x] = curand_normal(&states[blockIdx.x]);
    }
}
__global__ void twister_poisson(curandStateMtgp32_t *states, unsigned *u) { u[threadIdx.x] = curand_poisson(&states[blockIdx.x], 40.0); }
__global__ void discrete(curandStateXORWOW_t *s, curandDiscreteDistribution_t d, unsigned *u) { u[threadIdx.x] = curand_discrete(&s[threadIdx.x], d); }
