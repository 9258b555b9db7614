// about: CUTLASS multiplications of 8- and 4-bit integers and of bits on the tensor cores, with clamping epilogues
// packages: cutlass
#include <cutlass/epilogue/thread/linear_combination_clamp.h>
#include <cutlass/epilogue/thread/linear_combination_relu.h>
#include <cutlass/gemm/device/gemm.h>
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
template <typename T, int M, int N, int K, int WM, int WN, int IK, int Stages> void use() {
    using End = cutlass::epilogue::thread::LinearCombinationClamp<int, 4, int, float>;
    cutlass::gemm::device::Gemm<T, Row, T, Column, int, Row, int, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, cutlass::gemm::GemmShape<M, N, K>,
                                cutlass::gemm::GemmShape<WM, WN, K>, cutlass::gemm::GemmShape<16, 8, IK>, End,
                                cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, Stages, 128 / cutlass::sizeof_bits<T>::value,
                                128 / cutlass::sizeof_bits<T>::value, false, cutlass::arch::OpMultiplyAddSaturate> gemm;
    gemm({{512, 512, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {1.0f, 0.0f}});
}
void all() {
    use<int8_t, 128, 128, 64, 64, 64, 32, 3>();
    use<int8_t, 64, 64, 64, 32, 32, 32, 4>();
    use<uint8_t, 128, 64, 64, 64, 32, 32, 3>();
    use<cutlass::int4b_t, 128, 128, 128, 64, 64, 64, 3>();
}
