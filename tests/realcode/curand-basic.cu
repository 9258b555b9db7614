// about: cuRAND's generators with uniform, normal and lognormal distributions
// packages: curand
#include <curand_kernel.h>
template <typename S> __global__ void start(S *states, unsigned long long seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, i, 0, &states[i]);
}
template <typename S> __global__ void bits(S *states, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    S s = states[i];
    unsigned x = 0;
    for (int k = 0; k < n; k++) x ^= curand(&s);
    states[i] = s;
    out[i] = x;
}
template <typename S> __global__ void uniform(S *states, float *f, double *d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    S s = states[i];
    for (int k = 0; k < n; k++) f[i] += curand_uniform(&s), d[i] += curand_uniform_double(&s);
    states[i] = s;
}
template <typename S> __global__ void normal(S *states, float *f, double *d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    S s = states[i];
    for (int k = 0; k < n; k++) f[i] += curand_normal(&s), d[i] += curand_normal_double(&s);
    states[i] = s;
}
template <typename S> __global__ void lognormal(S *states, float *f, double *d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    S s = states[i];
    for (int k = 0; k < n; k++) f[i] += curand_log_normal(&s, 1.0f, 2.0f), d[i] += curand_log_normal_double(&s, 1.0, 2.0);
    states[i] = s;
}
template <typename S> __global__ void poisson(S *states, unsigned *out, double lambda) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    S s = states[i];
    out[i] = curand_poisson(&s, lambda);
    states[i] = s;
}
template <typename S> __global__ void skip(S *states, unsigned long long n) { skipahead(n, &states[blockIdx.x * blockDim.x + threadIdx.x]); }
template <typename S> __global__ void circle(S *states, unsigned *hits, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    S s = states[i];
    unsigned h = 0;
    for (int k = 0; k < n; k++) {
        float x = curand_uniform(&s), y = curand_uniform(&s);
        h += x * x + y * y <= 1;
    }
    atomicAdd(hits, h);
    states[i] = s;
}
template <typename S> void *all() {
    static void *list[] = {(void *)start<S>, (void *)bits<S>, (void *)uniform<S>, (void *)normal<S>, (void *)lognormal<S>,
                           (void *)poisson<S>, (void *)skip<S>, (void *)circle<S>};
    return list;
}
void *use[] = {all<curandStateXORWOW_t>(), all<curandStatePhilox4_32_10_t>(), all<curandStateMRG32k3a_t>()};
__global__ void four(curandStatePhilox4_32_10_t *s, float4 *f, uint4 *u, double2 *d) {
    int i = threadIdx.x;
    f[i] = curand_normal4(&s[i]);
    u[i] = curand_poisson4(&s[i], 12.0);
    d[i] = curand_log_normal2_double(&s[i], 0.0, 1.0);
}
