// about: CUTLASS: matrix times vector, stream-k, sparse, single precision by three tf32 products, complex
// packages: cutlass
#include <cutlass/gemm/device/gemm.h>
#include <cutlass/gemm/device/gemm_complex.h>
#include <cutlass/gemm/device/gemm_sparse.h>
#include <cutlass/gemm/device/gemm_universal.h>
#include <cutlass/gemm/device/gemv.h>
#include <cutlass/gemm/kernel/gemv.h>
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using cutlass::half_t;
using Tensor = cutlass::arch::OpClassTensorOp;
using Sm80 = cutlass::arch::Sm80;
template <int M, int N, int K> using Shape = cutlass::gemm::GemmShape<M, N, K>;
template <typename G> void run() {
    G g;
    g.initialize(typename G::Arguments());
    g.run();
}
template <typename T, typename L, int W> using Vector = cutlass::gemm::device::Gemv<cutlass::gemm::kernel::Gemv<T, L, T, T, float, cutlass::epilogue::thread::LinearCombination<T, 1, float, float>, W>>;
using End = cutlass::epilogue::thread::LinearCombination<half_t, 8, float, float>;
using StreamK = cutlass::gemm::device::GemmUniversal<half_t, Row, half_t, Column, half_t, Row, float, Tensor, Sm80, Shape<128, 128, 32>, Shape<64, 64, 32>, Shape<16, 8, 16>, End,
                                                     cutlass::gemm::threadblock::ThreadblockSwizzleStreamK, 4, 8, 8>;
using Sparse = cutlass::gemm::device::SparseGemm<half_t, Row, half_t, Column, half_t, Row, float, Tensor, Sm80, Shape<128, 128, 64>, Shape<64, 64, 64>, Shape<16, 8, 32>, End,
                                                 cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3>;
using Precise = cutlass::gemm::device::Gemm<float, Row, float, Column, float, Row, float, Tensor, Sm80, Shape<64, 64, 16>, Shape<32, 32, 16>, Shape<16, 8, 8>,
                                            cutlass::epilogue::thread::LinearCombination<float, 4, float, float>, cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3, 4, 4, false,
                                            cutlass::arch::OpMultiplyAddFastF32>;
using Z = cutlass::complex<double>;
using Complex = cutlass::gemm::device::GemmComplex<Z, Row, Z, Column, Z, Row, Z, Tensor, Sm80, Shape<32, 32, 16>, Shape<16, 16, 16>, Shape<8, 8, 4>,
                                                   cutlass::epilogue::thread::LinearCombination<Z, 1, Z, Z>, cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3>;
void all() {
    run<Vector<half_t, Row, 8>>();
    run<Vector<float, Row, 4>>();
    run<Vector<float, Column, 1>>();
    run<StreamK>();
    run<Sparse>();
    run<Precise>();
    run<Complex>();
}
