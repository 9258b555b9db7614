// about: shuffles, votes, matches, reductions and elections of a warp; atomics and volatile accesses in loops
#include <cuda_fp16.h>
template <typename T> __global__ void shuffles(T *v, int n) {
    T x = v[threadIdx.x];
    for (int i = 0; i < n; i++) {
        x += __shfl_sync(~0u, x, i);
        x -= __shfl_up_sync(~0u, x, 1, 16);
        x += __shfl_down_sync(~0u, x, i & 7, 8);
        x *= __shfl_xor_sync(~0u, x, 3);
    }
    v[threadIdx.x] = x;
}
template <typename T> __global__ void matches(const T *v, unsigned *out) {
    int all;
    unsigned any = __match_any_sync(~0u, v[threadIdx.x]), same = __match_all_sync(~0u, v[threadIdx.x], &all);
    out[threadIdx.x] = any + same * all;
}
__global__ void votes(const int *v, unsigned *out, int n) {
    unsigned r = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned active = __activemask();
        r += __ballot_sync(active, v[i] > 3);
        if (__all_sync(active, v[i] != 0)) r ^= 1;
        if (__any_sync(active, v[i] == 77)) r ^= 2;
        r += __uni_sync(active, v[i] & 1);
    }
    out[threadIdx.x] = r;
}
__global__ void integer_reductions(int *v, unsigned *u) {
    int x = v[threadIdx.x];
    unsigned y = u[threadIdx.x];
    v[threadIdx.x] = __reduce_add_sync(~0u, x) + __reduce_min_sync(~0u, x) + __reduce_max_sync(~0u, x);
    u[threadIdx.x] = __reduce_and_sync(~0u, y) + __reduce_or_sync(~0u, y) + __reduce_xor_sync(~0u, y) + __reduce_max_sync(~0u, y);
}
template <typename T> __global__ void atomics(T *v, const T *in, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(&v[0], in[i]);
        T old = atomicExch(&v[1], in[i]);
        atomicAdd(&v[2 + ((int)old & 7)], T(1));
        atomicAdd_block(&v[11], old);
        atomicAdd_system(&v[12], old);
    }
}
template <typename T> __global__ void integer_atomics(T *v, const T *in, int n) {
    __shared__ T s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        T x = in[i];
        atomicMax(&v[0], x), atomicMin(&v[1], x), atomicAnd(&v[2], x), atomicOr(&v[3], x), atomicXor(&v[4], x);
        atomicAdd(&s[x & 63], T(1)), atomicMax(&s[(x >> 3) & 63], x), atomicCAS(&s[5], x, T(9));
    }
    __syncthreads();
    if (threadIdx.x < 64) v[5 + threadIdx.x] += s[threadIdx.x];
}
__global__ void wrapping(unsigned *v, int n) {
    for (int i = 0; i < n; i++) v[threadIdx.x + 1] += atomicInc(v, 100) + atomicDec(v + 40, 50) + atomicSub((int *)v + 41, 3);
}
__global__ void float_maximum(float *v, const float *in, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int *p = (int *)v, old = *p, seen;
        do {
            seen = old;
            old = atomicCAS(p, seen, __float_as_int(fmaxf(in[i], __int_as_float(seen))));
        } while (old != seen);
    }
}
__global__ void flags(volatile int *flag, volatile float *data, int n) {
    for (int i = 0; i < n; i++) {
        if (threadIdx.x == 0) {
            while (flag[blockIdx.x] != i) __nanosleep(100);
            data[i] = data[i] * 2 + 1;
            __threadfence();
            flag[blockIdx.x + 1] = i;
        }
        __syncthreads();
    }
}
__device__ unsigned arrived;
__global__ void last_block(const float *in, float *partial, float *out) {
    __shared__ bool last;
    partial[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x] * blockIdx.x;
    __threadfence();
    if (threadIdx.x == 0) last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        float s = 0;
        for (int i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x) s += ((volatile float *)partial)[i];
        atomicAdd(out, s);
    }
}
template <int Bins, int Copies> __global__ void histogram(const unsigned char *in, unsigned *out, int n) {
    __shared__ unsigned s[Copies][Bins];
    for (int i = threadIdx.x; i < Bins * Copies; i += blockDim.x) (&s[0][0])[i] = 0;
    __syncthreads();
    const uint4 *v = (const uint4 *)in;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 16; i += gridDim.x * blockDim.x) {
        uint4 x = v[i];
        for (unsigned w : {x.x, x.y, x.z, x.w})
            for (int b = 0; b < 32; b += 8) atomicAdd(&s[threadIdx.x % Copies][(w >> b & 255) * Bins / 256], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < Bins; i += blockDim.x) {
        unsigned t = 0;
        for (int c = 0; c < Copies; c++) t += s[c][i];
        atomicAdd(&out[i], t);
    }
}
__global__ void queue(int *head, int *tail, int *items, int *done, int capacity) {
    __shared__ int base;
    while (true) {
        if (threadIdx.x == 0) base = atomicAdd(head, blockDim.x);
        __syncthreads();
        int i = base + threadIdx.x;
        if (base >= *(volatile int *)tail) break;
        if (i < *(volatile int *)tail) {
            int x = items[i % capacity];
            if (x > 1) items[atomicAdd(tail, 1) % capacity] = x / 2;
            atomicAdd(done, x);
        }
        __syncthreads();
    }
}
__global__ void elected(int *v) {
    unsigned mask = __activemask();
    if ((threadIdx.x & 31) == __ffs(mask) - 1) v[threadIdx.x / 32] = __popc(mask);
    __syncwarp(mask);
    int c = __syncthreads_count(v[threadIdx.x] > 2), a = __syncthreads_and(v[threadIdx.x]), o = __syncthreads_or(v[threadIdx.x] == 9);
    v[threadIdx.x] = c + a + o;
}
#define EACH(T) template __global__ void shuffles<T>(T *, int);
EACH(int) EACH(float) EACH(double) EACH(long long) EACH(unsigned) EACH(__half2)
template __global__ void matches<int>(const int *, unsigned *);
template __global__ void matches<unsigned long long>(const unsigned long long *, unsigned *);
template __global__ void matches<double>(const double *, unsigned *);
template __global__ void atomics<int>(int *, const int *, int);
template __global__ void atomics<float>(float *, const float *, int);
template __global__ void atomics<unsigned long long>(unsigned long long *, const unsigned long long *, int);
template __global__ void integer_atomics<int>(int *, const int *, int);
template __global__ void integer_atomics<unsigned>(unsigned *, const unsigned *, int);
template __global__ void integer_atomics<unsigned long long>(unsigned long long *, const unsigned long long *, int);
template __global__ void histogram<64, 1>(const unsigned char *, unsigned *, int);
template __global__ void histogram<256, 1>(const unsigned char *, unsigned *, int);
template __global__ void histogram<256, 4>(const unsigned char *, unsigned *, int);
