// about: multiplications and copies written with CuTe
// packages: cutlass
#include <cute/tensor.hpp>
#include <cute/algorithm/gemm.hpp>
using namespace cute;
template <typename T, typename Acc, typename Atom, int M, int N, int K, typename Threads>
__global__ void tiled(const T *a, const T *b, Acc *c, int m, int n, int k) {
    auto A = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, Int<1>{}));
    auto B = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(k, Int<1>{}));
    auto C = make_tensor(make_gmem_ptr(c), make_shape(m, n), make_stride(n, Int<1>{}));
    auto gA = local_tile(A, Shape<Int<M>, Int<K>>{}, make_coord(blockIdx.x, _));
    auto gB = local_tile(B, Shape<Int<N>, Int<K>>{}, make_coord(blockIdx.y, _));
    auto gC = local_tile(C, Shape<Int<M>, Int<N>>{}, make_coord(blockIdx.x, blockIdx.y));
    __shared__ T sa[M * K], sb[N * K];
    auto sA = make_tensor(make_smem_ptr(sa), Layout<Shape<Int<M>, Int<K>>, Stride<Int<K>, Int<1>>>{});
    auto sB = make_tensor(make_smem_ptr(sb), Layout<Shape<Int<N>, Int<K>>, Stride<Int<K>, Int<1>>>{});
    auto mma = make_tiled_mma(Atom{}, Threads{});
    auto thread = mma.get_slice(threadIdx.x);
    auto tA = thread.partition_A(sA);
    auto tB = thread.partition_B(sB);
    auto tC = thread.partition_C(gC);
    auto acc = thread.make_fragment_C(tC);
    clear(acc);
    auto rA = thread.make_fragment_A(tA);
    auto rB = thread.make_fragment_B(tB);
    for (int step = 0; step < size<2>(gA); step++) {
        cooperative_copy<size(mma), 128>(threadIdx.x, gA(_, _, step), sA);
        cooperative_copy<size(mma), 128>(threadIdx.x, gB(_, _, step), sB);
        cp_async_fence();
        cp_async_wait<0>();
        __syncthreads();
        copy(tA, rA);
        copy(tB, rB);
        gemm(mma, rA, rB, acc);
        __syncthreads();
    }
    copy(acc, tC);
}
template <typename T, int M, int N, typename Order> __global__ void transposed(const T *in, T *out, int m, int n) {
    __shared__ T s[M * N];
    auto I = local_tile(make_tensor(make_gmem_ptr(in), make_shape(m, n), make_stride(n, Int<1>{})), Shape<Int<M>, Int<N>>{}, make_coord(blockIdx.x, blockIdx.y));
    auto O = local_tile(make_tensor(make_gmem_ptr(out), make_shape(n, m), make_stride(m, Int<1>{})), Shape<Int<N>, Int<M>>{}, make_coord(blockIdx.y, blockIdx.x));
    auto S = make_tensor(make_smem_ptr(s), composition(Swizzle<3, 0, 5>{}, Layout<Shape<Int<M>, Int<N>>, Stride<Int<N>, Int<1>>>{}));
    auto St = make_tensor(make_smem_ptr(s), composition(Swizzle<3, 0, 5>{}, Layout<Shape<Int<N>, Int<M>>, Stride<Int<1>, Int<N>>>{}));
    auto threads = Layout<Shape<Int<8>, Int<32>>, Stride<Int<32>, Int<1>>>{};
    copy(local_partition(I, threads, threadIdx.x), local_partition(S, threads, threadIdx.x));
    __syncthreads();
    copy(local_partition(St, threads, threadIdx.x), local_partition(O, threads, threadIdx.x));
}
template <typename T> __global__ void scaled(T *v, T s, int n) {
    auto V = make_tensor(make_gmem_ptr(v), make_shape(n / 4, Int<4>{}), make_stride(Int<4>{}, Int<1>{}));
    auto r = make_fragment_like(V(0, _));
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    copy_aligned(V(i, _), r);
    for (int k = 0; k < 4; k++) r(k) = r(k) * s + T(1);
    copy_aligned(r, V(i, _));
}
using Four = Layout<Shape<_2, _2, _1>>;
using Plane = Layout<Shape<_16, _16, _1>>;
template __global__ void tiled<half_t, float, SM80_16x8x16_F32F16F16F32_TN, 64, 64, 32, Four>(const half_t *, const half_t *, float *, int, int, int);
template __global__ void tiled<half_t, half_t, SM80_16x8x16_F16F16F16F16_TN, 128, 64, 32, Four>(const half_t *, const half_t *, half_t *, int, int, int);
template __global__ void tiled<bfloat16_t, float, SM80_16x8x16_F32BF16BF16F32_TN, 64, 128, 32, Four>(const bfloat16_t *, const bfloat16_t *, float *, int, int, int);
template __global__ void tiled<tfloat32_t, float, SM80_16x8x8_F32TF32TF32F32_TN, 64, 64, 16, Four>(const tfloat32_t *, const tfloat32_t *, float *, int, int, int);
template __global__ void tiled<double, double, SM80_8x8x4_F64F64F64F64_TN, 32, 32, 16, Four>(const double *, const double *, double *, int, int, int);
template __global__ void tiled<int8_t, int, SM80_16x8x32_S32S8S8S32_TN, 64, 64, 64, Four>(const int8_t *, const int8_t *, int *, int, int, int);
template __global__ void tiled<float, float, UniversalFMA<float>, 64, 64, 8, Plane>(const float *, const float *, float *, int, int, int);
template __global__ void tiled<double, double, UniversalFMA<double>, 64, 64, 8, Plane>(const double *, const double *, double *, int, int, int);
template __global__ void transposed<float, 32, 32, int>(const float *, float *, int, int);
template __global__ void transposed<double, 32, 32, int>(const double *, double *, int, int);
template __global__ void transposed<half_t, 64, 64, int>(const half_t *, half_t *, int, int);
template __global__ void scaled<float>(float *, float, int);
template __global__ void scaled<double>(double *, double, int);
template __global__ void scaled<half_t>(half_t *, half_t, int);
