// about: CUTLASS multiplications on the plain cores, in single and double precision, integers and complex numbers
// packages: cutlass
#include <cutlass/complex.h>
#include <cutlass/gemm/device/gemm.h>
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
template <typename T, typename A, typename B, typename C> void use() {
    cutlass::gemm::device::Gemm<T, A, T, B, T, C> gemm;
    gemm({{512, 512, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {T(1), T(0)}});
}
template <typename T, int M, int N, int K, int WM, int WN> void shaped() {
    cutlass::gemm::device::Gemm<T, Column, T, Row, T, Column, T, cutlass::arch::OpClassSimt, cutlass::arch::Sm50, cutlass::gemm::GemmShape<M, N, K>,
                                cutlass::gemm::GemmShape<WM, WN, K>, cutlass::gemm::GemmShape<1, 1, 1>> gemm;
    gemm({{512, 512, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {nullptr, 512}, {T(1), T(0)}});
}
void all() {
    use<float, Row, Row, Row>();
    use<float, Column, Row, Column>();
    use<double, Row, Column, Row>();
    use<double, Column, Column, Row>();
    use<cutlass::complex<float>, Row, Row, Row>();
    shaped<float, 64, 64, 8, 32, 32>();
    shaped<float, 32, 128, 8, 32, 32>();
    shaped<float, 128, 64, 8, 64, 32>();
    shaped<double, 64, 64, 8, 32, 32>();
    shaped<int, 64, 64, 8, 32, 32>();
}
