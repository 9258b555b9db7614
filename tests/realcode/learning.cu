// about: kernels of neural networks: normalization, softmax, activations, embeddings, optimizers, attention, quantization
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
template <typename T> __device__ float f(T x) { return (float)x; }
template <typename T> __device__ T g(float x) { return (T)x; }
__device__ float warp_sum(float x) {
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    return x;
}
__device__ float warp_max(float x) {
    for (int d = 16; d; d >>= 1) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
    return x;
}
template <int N> __device__ float block_sum(float x) {
    __shared__ float s[N / 32];
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < N / 32 ? s[threadIdx.x % 32] : 0;
    return warp_sum(x);
}
template <typename T, int N> __global__ void layer_norm(const T *in, T *out, const T *gamma, const T *beta, int n, float eps) {
    const T *p = in + (size_t)blockIdx.x * n;
    float sum = 0, square = 0;
    for (int i = threadIdx.x; i < n; i += N) sum += f(p[i]), square += f(p[i]) * f(p[i]);
    float mean = block_sum<N>(sum) / n, scale = rsqrtf(block_sum<N>(square) / n - mean * mean + eps);
    for (int i = threadIdx.x; i < n; i += N) out[(size_t)blockIdx.x * n + i] = g<T>((f(p[i]) - mean) * scale * f(gamma[i]) + f(beta[i]));
}
template <typename T, int N> __global__ void rms_norm(const T *in, T *out, const T *gamma, int n, float eps) {
    float square = 0;
    for (int i = threadIdx.x; i < n; i += N) square += f(in[blockIdx.x * n + i]) * f(in[blockIdx.x * n + i]);
    float scale = rsqrtf(block_sum<N>(square) / n + eps);
    for (int i = threadIdx.x; i < n; i += N) out[blockIdx.x * n + i] = g<T>(f(in[blockIdx.x * n + i]) * scale * f(gamma[i]));
}
template <typename T, int P> __global__ void softmax_row(const T *in, T *out, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float v[P], most = -1e30f, sum = 0;
#pragma unroll
    for (int i = 0; i < P; i++) {
        int c = lane + i * 32;
        v[i] = c < n ? f(in[row * n + c]) : -1e30f;
        most = fmaxf(most, v[i]);
    }
    most = warp_max(most);
#pragma unroll
    for (int i = 0; i < P; i++) sum += v[i] = __expf(v[i] - most);
    sum = 1 / warp_sum(sum);
#pragma unroll
    for (int i = 0; i < P; i++)
        if (lane + i * 32 < n) out[row * n + lane + i * 32] = g<T>(v[i] * sum);
}
template <typename T> __global__ void online_softmax(const T *in, T *out, int n) {
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        float x = f(in[blockIdx.x * n + i]), m = fmaxf(most, x);
        sum = sum * __expf(most - m) + __expf(x - m);
        most = m;
    }
    for (int d = 16; d; d >>= 1) {
        float m = __shfl_xor_sync(~0u, most, d), s = __shfl_xor_sync(~0u, sum, d), k = fmaxf(m, most);
        sum = sum * __expf(most - k) + s * __expf(m - k);
        most = k;
    }
    for (int i = threadIdx.x; i < n; i += 32) out[blockIdx.x * n + i] = g<T>(__expf(f(in[blockIdx.x * n + i]) - most) / sum);
}
template <typename T, int A> __global__ void activate(T *v, const T *bias, int n, int width) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = f(v[i]) + f(bias[i % width]);
        if (A == 0) x = fmaxf(x, 0.f);
        if (A == 1) x = 0.5f * x * (1 + erff(x * 0.70710678f));
        if (A == 2) x = 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
        if (A == 3) x = x / (1 + __expf(-x));
        if (A == 4) x = log1pf(expf(x));
        v[i] = g<T>(x);
    }
}
template <typename T> __global__ void swiglu(const T *in, T *out, int rows, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * half) return;
    float a = f(in[i / half * 2 * half + i % half]), b = f(in[i / half * 2 * half + half + i % half]);
    out[i] = g<T>(a / (1 + __expf(-a)) * b);
}
template <typename T> __global__ void rotary(T *q, const int *position, int heads, int width, float base) {
    int i = threadIdx.x;
    if (i >= width / 2) return;
    float angle = position[blockIdx.x] * powf(base, -2.f * i / width), s, c;
    sincosf(angle, &s, &c);
    for (int h = 0; h < heads; h++) {
        T *p = q + ((size_t)blockIdx.x * heads + h) * width;
        float a = f(p[i]), b = f(p[i + width / 2]);
        p[i] = g<T>(a * c - b * s), p[i + width / 2] = g<T>(b * c + a * s);
    }
}
template <typename T> __global__ void embed(const int *tokens, const T *table, const T *positions, T *out, int width, int words) {
    int t = tokens[blockIdx.x];
    if (t < 0 || t >= words) return;
    for (int i = threadIdx.x; i < width; i += blockDim.x) out[blockIdx.x * width + i] = g<T>(f(table[t * width + i]) + f(positions[blockIdx.x * width + i]));
}
template <typename T> __global__ void adam(T *w, const T *gradient, float *m, float *v, float rate, float b1, float b2, float eps, int step, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float d = f(gradient[i]);
    m[i] = b1 * m[i] + (1 - b1) * d;
    v[i] = b2 * v[i] + (1 - b2) * d * d;
    float a = m[i] / (1 - powf(b1, step)), c = v[i] / (1 - powf(b2, step));
    w[i] = g<T>(f(w[i]) - rate * a / (sqrtf(c) + eps));
}
template <typename T, int D> __global__ void attention(const T *q, const T *k, const T *v, T *out, int n, float scale, bool causal) {
    __shared__ float sk[32][D + 1], sv[32][D];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float mine[D], acc[D] = {}, most = -1e30f, sum = 0;
#pragma unroll
    for (int i = 0; i < D; i++) mine[i] = row < n ? f(q[row * D + i]) * scale : 0;
    for (int tile = 0; tile < n; tile += 32) {
        for (int i = threadIdx.x; i < 32 * D; i += blockDim.x) sk[i / D][i % D] = f(k[tile * D + i]), sv[i / D][i % D] = f(v[tile * D + i]);
        __syncthreads();
        for (int j = 0; j < 32 && tile + j < n; j++) {
            if (causal && tile + j > row) break;
            float s = 0;
#pragma unroll
            for (int i = 0; i < D; i++) s += mine[i] * sk[j][i];
            float m = fmaxf(most, s), old = __expf(most - m), p = __expf(s - m);
            sum = sum * old + p;
#pragma unroll
            for (int i = 0; i < D; i++) acc[i] = acc[i] * old + p * sv[j][i];
            most = m;
        }
        __syncthreads();
    }
    if (row < n)
        for (int i = 0; i < D; i++) out[row * D + i] = g<T>(acc[i] / sum);
}
template <typename T> __global__ void quantize(const T *in, signed char *out, float *scales, int n) {
    float most = 0;
    for (int i = threadIdx.x; i < n; i += 32) most = fmaxf(most, fabsf(f(in[blockIdx.x * n + i])));
    most = warp_max(most);
    if (threadIdx.x == 0) scales[blockIdx.x] = most / 127;
    for (int i = threadIdx.x; i < n; i += 32) out[blockIdx.x * n + i] = (signed char)__float2int_rn(f(in[blockIdx.x * n + i]) * 127 / most);
}
template <typename T> __global__ void dequantize4(const unsigned *in, const T *scales, T *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned w = in[i];
    float s = f(scales[i / 16]);
#pragma unroll
    for (int k = 0; k < 8; k++) out[i * 8 + k] = g<T>(((int)(w >> (4 * k) & 15) - 8) * s);
}
template <typename T> __global__ void gemv8(const signed char *m, const T *x, T *y, const float *scales, int n) {
    float s = 0;
    const char4 *row = (const char4 *)(m + (size_t)blockIdx.x * n);
    for (int i = threadIdx.x; i < n / 4; i += 32) {
        char4 w = row[i];
        s += w.x * f(x[i * 4]) + w.y * f(x[i * 4 + 1]) + w.z * f(x[i * 4 + 2]) + w.w * f(x[i * 4 + 3]);
    }
    s = warp_sum(s);
    if (threadIdx.x == 0) y[blockIdx.x] = g<T>(s * scales[blockIdx.x]);
}
template <typename T, int K> __global__ void top(const T *in, T *values, int *indices, int n) {
    float best[K];
    int at[K];
    for (int k = 0; k < K; k++) best[k] = -1e30f, at[k] = -1;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float x = f(in[blockIdx.x * n + i]);
        if (x <= best[K - 1]) continue;
        best[K - 1] = x, at[K - 1] = i;
#pragma unroll
        for (int k = K - 1; k > 0; k--)
            if (best[k] > best[k - 1]) {
                float t = best[k];
                best[k] = best[k - 1], best[k - 1] = t;
                int u = at[k];
                at[k] = at[k - 1], at[k - 1] = u;
            }
    }
    for (int k = 0; k < K; k++) values[threadIdx.x * K + k] = g<T>(best[k]), indices[threadIdx.x * K + k] = at[k];
}
template <typename T> __global__ void pool(const T *in, T *out, int w, int h, int size, int stride) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.z;
    float most = -1e30f;
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++)
            if (x * stride + i < w && y * stride + j < h) most = fmaxf(most, f(in[(c * h + y * stride + j) * w + x * stride + i]));
    out[(c * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x] = g<T>(most);
}
template <typename T> __global__ void cross_entropy(const T *logits, const int *labels, float *loss, T *gradient, int n) {
    const T *p = logits + (size_t)blockIdx.x * n;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) most = fmaxf(most, f(p[i]));
    most = warp_max(most);
    for (int i = threadIdx.x; i < n; i += 32) sum += __expf(f(p[i]) - most);
    sum = warp_sum(sum);
    for (int i = threadIdx.x; i < n; i += 32) gradient[blockIdx.x * (size_t)n + i] = g<T>(__expf(f(p[i]) - most) / sum - (i == labels[blockIdx.x]));
    if (threadIdx.x == 0) atomicAdd(loss, logf(sum) + most - f(p[labels[blockIdx.x]]));
}
template <typename T> void *all() {
    static void *list[] = {(void *)layer_norm<T, 128>, (void *)layer_norm<T, 1024>, (void *)rms_norm<T, 256>, (void *)softmax_row<T, 1>, (void *)softmax_row<T, 8>, (void *)online_softmax<T>,
                           (void *)activate<T, 0>, (void *)activate<T, 1>, (void *)activate<T, 2>, (void *)activate<T, 3>, (void *)activate<T, 4>, (void *)swiglu<T>, (void *)rotary<T>, (void *)embed<T>,
                           (void *)adam<T>, (void *)attention<T, 16>, (void *)attention<T, 64>, (void *)quantize<T>, (void *)dequantize4<T>, (void *)gemv8<T>, (void *)top<T, 4>, (void *)top<T, 16>,
                           (void *)pool<T>, (void *)cross_entropy<T>};
    return list;
}
void *use[] = {all<float>(), all<__half>(), all<__nv_bfloat16>()};
