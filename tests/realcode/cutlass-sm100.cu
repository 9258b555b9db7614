// about: CUTLASS collectives for tensor memory, which only sm_100a has
// packages: cutlass
// arch: compute_100a
// options: --expt-relaxed-constexpr
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
using namespace cute;
template <typename T, typename Out, typename Tile, typename Cluster> void use() {
    using Row = cutlass::layout::RowMajor;
    using Column = cutlass::layout::ColumnMajor;
    constexpr int in = 128 / cutlass::sizeof_bits<T>::value, out = 128 / cutlass::sizeof_bits<Out>::value;
    using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float,
                                                                               float, Out, Row, out, Out, Row, out, cutlass::epilogue::collective::EpilogueScheduleAuto>::CollectiveOp;
    using Main = typename cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, T, Row, in, T, Column, in, float, Tile, Cluster,
                                                                       cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
                                                                       cutlass::gemm::collective::KernelScheduleAuto>::CollectiveOp;
    using Gemm = cutlass::gemm::device::GemmUniversalAdapter<cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Main, Epilogue, void>>;
    Gemm gemm;
    gemm.initialize(typename Gemm::Arguments());
    gemm.run();
}
void all() {
    use<cutlass::half_t, cutlass::half_t, Shape<_128, _128, _64>, Shape<_1, _1, _1>>();
    use<cutlass::bfloat16_t, float, Shape<_256, _128, _64>, Shape<_2, _1, _1>>();
}
