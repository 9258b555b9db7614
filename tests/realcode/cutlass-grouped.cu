// about: CUTLASS: grouped multiplications, triangular and symmetric updates
// packages: cutlass
#include <cutlass/gemm/device/gemm_grouped.h>
#include <cutlass/gemm/device/rank_k.h>
#include <cutlass/gemm/device/symm.h>
#include <cutlass/gemm/device/trmm.h>
#include <cutlass/gemm/kernel/default_gemm_grouped.h>
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using cutlass::half_t;
template <int M, int N, int K> using Shape = cutlass::gemm::GemmShape<M, N, K>;
template <cutlass::gemm::kernel::GroupScheduleMode Mode> void grouped() {
    using Kernel = typename cutlass::gemm::kernel::DefaultGemmGrouped<half_t, Row, cutlass::ComplexTransform::kNone, 8, half_t, Column, cutlass::ComplexTransform::kNone, 8,
                                                             half_t, Row, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, Shape<128, 128, 32>,
                                                             Shape<64, 64, 32>, Shape<16, 8, 16>, cutlass::epilogue::thread::LinearCombination<half_t, 8, float, float>,
                                                             cutlass::gemm::threadblock::GemmBatchedIdentityThreadblockSwizzle, 3, Mode>::GemmKernel;
    cutlass::gemm::device::GemmGrouped<Kernel> gemm;
    typename cutlass::gemm::device::GemmGrouped<Kernel>::Arguments arguments;
    gemm.initialize(arguments);
    gemm.run();
}
void all() {
    grouped<cutlass::gemm::kernel::GroupScheduleMode::kDeviceOnly>();
    grouped<cutlass::gemm::kernel::GroupScheduleMode::kHostPrecompute>();
    using Tensor = cutlass::arch::OpClassTensorOp;
    using Sm80 = cutlass::arch::Sm80;
    using End = cutlass::epilogue::thread::LinearCombination<double, 1, double, double>;
    cutlass::gemm::device::RankK<double, Column, double, Column, cutlass::FillMode::kLower, double, Tensor, Sm80, Shape<32, 32, 16>, Shape<16, 16, 16>, Shape<8, 8, 4>> rank;
    rank.initialize({});
    rank.run();
    cutlass::gemm::device::Trmm<double, Column, cutlass::SideMode::kLeft, cutlass::FillMode::kLower, cutlass::DiagType::kNonUnit, double, Column, double, Column, double,
                                Tensor, Sm80, Shape<64, 64, 16>, Shape<32, 32, 16>, Shape<8, 8, 4>> triangle;
    triangle.initialize({});
    triangle.run();
    cutlass::gemm::device::Symm<double, Column, cutlass::SideMode::kRight, cutlass::FillMode::kUpper, double, Column, double, Column, double, Tensor, Sm80,
                                Shape<32, 32, 16>, Shape<16, 16, 16>, Shape<8, 8, 4>> symmetric;
    symmetric.initialize({});
    symmetric.run();
}
