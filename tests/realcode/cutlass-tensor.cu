// about: CUTLASS multiplications on the tensor cores: half, bfloat16, tf32, integers, double precision
// packages: cutlass
#include <cutlass/gemm/device/gemm.h>
#include <cutlass/epilogue/thread/linear_combination_clamp.h>
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
template <typename T, typename A, typename B, typename Out, typename Sum, int M, int N, int K, int WM, int WN, int IM, int IN, int IK, int Stages>
void use() {
    constexpr bool is_double = cutlass::sizeof_bits<T>::value == 64;
    constexpr int width = is_double ? 1 : 128 / cutlass::sizeof_bits<T>::value, wide = is_double ? 1 : 128 / cutlass::sizeof_bits<Out>::value;
    using End = cutlass::epilogue::thread::LinearCombination<Out, wide, Sum, Sum>;
    using Swizzle = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>;
    cutlass::gemm::device::Gemm<T, A, T, B, Out, Row, Sum, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, cutlass::gemm::GemmShape<M, N, K>,
                                cutlass::gemm::GemmShape<WM, WN, K>, cutlass::gemm::GemmShape<IM, IN, IK>, End, Swizzle, Stages, width, width> gemm;
    gemm({{512, 512, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {Sum(1), Sum(0)}});
}
void all() {
    using cutlass::bfloat16_t;
    using cutlass::half_t;
    using cutlass::tfloat32_t;
    use<half_t, Row, Column, half_t, float, 128, 128, 32, 64, 64, 16, 8, 16, 4>();
    use<half_t, Column, Row, float, float, 128, 64, 32, 64, 32, 16, 8, 16, 3>();
    use<half_t, Row, Row, half_t, half_t, 64, 64, 64, 32, 32, 16, 8, 16, 5>();
    use<bfloat16_t, Row, Column, bfloat16_t, float, 128, 128, 32, 64, 64, 16, 8, 16, 3>();
    use<bfloat16_t, Column, Column, float, float, 256, 64, 32, 64, 64, 16, 8, 16, 3>();
    use<tfloat32_t, Row, Column, float, float, 128, 128, 16, 64, 64, 16, 8, 8, 4>();
    use<tfloat32_t, Column, Row, float, float, 64, 64, 16, 32, 32, 16, 8, 8, 3>();
    use<double, Row, Column, double, double, 64, 64, 16, 32, 32, 8, 8, 4, 4>();
}
