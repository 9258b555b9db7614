// about: warp-wide matrix fragments of mma.h in all shapes
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;
template <typename T, typename Acc, int M, int N, int K, typename A, typename B, typename Mem = T>
__global__ void multiply(const Mem *a, const Mem *b, Acc *c, int m, int n, int k) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * M, column = blockIdx.y * N;
    fragment<matrix_a, M, N, K, T, A> fa;
    fragment<matrix_b, M, N, K, T, B> fb;
    fragment<accumulator, M, N, K, Acc> fc;
    fill_fragment(fc, Acc(0));
    for (int i = 0; i < k; i += K) {
        if (row < m && column < n) {
            load_matrix_sync(fa, a + (size_t)row * k + i, k);
            load_matrix_sync(fb, b + (size_t)i * n + column, n);
            mma_sync(fc, fa, fb, fc);
        }
    }
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] + fc.x[i];
    store_matrix_sync(c + (size_t)row * n + column, fc, n, mem_row_major);
}
#define LAYOUTS(T, Acc, M, N, K, Mem)                                                                                            \
    template __global__ void multiply<T, Acc, M, N, K, row_major, col_major, Mem>(const Mem *, const Mem *, Acc *, int, int, int); \
    template __global__ void multiply<T, Acc, M, N, K, col_major, row_major, Mem>(const Mem *, const Mem *, Acc *, int, int, int); \
    template __global__ void multiply<T, Acc, M, N, K, row_major, row_major, Mem>(const Mem *, const Mem *, Acc *, int, int, int);
LAYOUTS(__half, float, 16, 16, 16, __half) LAYOUTS(__half, __half, 16, 16, 16, __half) LAYOUTS(__half, float, 32, 8, 16, __half)
LAYOUTS(__half, float, 8, 32, 16, __half) LAYOUTS(__nv_bfloat16, float, 16, 16, 16, __nv_bfloat16)
LAYOUTS(__nv_bfloat16, float, 32, 8, 16, __nv_bfloat16) LAYOUTS(__nv_bfloat16, float, 8, 32, 16, __nv_bfloat16)
LAYOUTS(signed char, int, 16, 16, 16, signed char) LAYOUTS(unsigned char, int, 32, 8, 16, unsigned char)
LAYOUTS(precision::tf32, float, 16, 16, 8, float) LAYOUTS(double, double, 8, 8, 4, double)
// Staged through shared memory, two tiles for each warp.
template <int Warps> __global__ void staged(const __half *a, const __half *b, float *c, int n) {
    extern __shared__ __half s[];
    __half *sa = s, *sb = s + 64 * 16;
    int warp = threadIdx.x / 32;
    fragment<accumulator, 16, 16, 16, float> fc[2];
    for (auto &f : fc) fill_fragment(f, 0.0f);
    for (int i = 0; i < n; i += 16) {
        for (int j = threadIdx.x; j < 64 * 16; j += Warps * 32) sa[j] = a[(j / 16) * n + i + j % 16], sb[j] = b[(i + j / 64) * n + j % 64];
        __syncthreads();
        fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
        load_matrix_sync(fa, sa + warp % 4 * 256, 16);
        for (int j = 0; j < 2; j++) {
            fragment<matrix_b, 16, 16, 16, __half, row_major> fb;
            load_matrix_sync(fb, sb + j * 16, 64);
            mma_sync(fc[j], fa, fb, fc[j]);
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; j++) store_matrix_sync(c + warp * 256 + j * 4096, fc[j], 16, mem_col_major);
}
template __global__ void staged<2>(const __half *, const __half *, float *, int);
template __global__ void staged<4>(const __half *, const __half *, float *, int);
template __global__ void staged<8>(const __half *, const __half *, float *, int);
