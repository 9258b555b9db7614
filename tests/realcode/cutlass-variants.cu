// about: CUTLASS: parallel split-k, batched, array and universal multiplications, epilogues with activation functions
// packages: cutlass
#include <cutlass/epilogue/thread/linear_combination_gelu.h>
#include <cutlass/epilogue/thread/linear_combination_relu.h>
#include <cutlass/epilogue/thread/linear_combination_sigmoid.h>
#include <cutlass/epilogue/thread/linear_combination_silu.h>
#include <cutlass/gemm/device/gemm_array.h>
#include <cutlass/gemm/device/gemm_batched.h>
#include <cutlass/gemm/device/gemm_splitk_parallel.h>
#include <cutlass/gemm/device/gemm_universal.h>
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using cutlass::half_t;
using Tensor = cutlass::arch::OpClassTensorOp;
using Sm80 = cutlass::arch::Sm80;
template <int M, int N, int K> using Shape = cutlass::gemm::GemmShape<M, N, K>;
template <typename End> void universal() {
    cutlass::gemm::device::GemmUniversal<half_t, Row, half_t, Column, half_t, Row, float, Tensor, Sm80, Shape<128, 128, 32>, Shape<64, 64, 32>, Shape<16, 8, 16>, End,
                                         cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3, 8, 8> gemm;
    gemm({cutlass::gemm::GemmUniversalMode::kGemm, {512, 512, 512}, 1, {}, nullptr, nullptr, nullptr, nullptr, 0, 0, 0, 0, 512, 512, 512, 512});
}
void all() {
    using namespace cutlass::epilogue::thread;
    universal<LinearCombinationRelu<half_t, 8, float, float>>();
    universal<LinearCombinationGELU<half_t, 8, float, float>>();
    universal<LinearCombinationSigmoid<half_t, 8, float, float>>();
    universal<LinearCombinationSilu<half_t, 8, float, float>>();
    cutlass::gemm::device::GemmSplitKParallel<half_t, Row, half_t, Column, float, Row, float, Tensor, Sm80, Shape<128, 64, 32>, Shape<64, 32, 32>, Shape<16, 8, 16>> split;
    split({{512, 512, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {1, 0}, 4});
    cutlass::gemm::device::GemmBatched<float, Row, float, Column, float, Row> batched;
    batched({{512, 512, 512}, {nullptr, 512}, 9, {nullptr, 512}, 9, {nullptr, 512}, 9, {nullptr, 512}, 9, {1, 0}, 8});
    cutlass::gemm::device::GemmArray<float, Row, float, Row, float, Row> array;
    array({{512, 512, 512}, nullptr, 512, nullptr, 512, nullptr, 512, nullptr, 512, {1, 0}, 8});
}
