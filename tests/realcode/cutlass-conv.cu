// about: CUTLASS convolutions: forward, gradients of data and weights, on the tensor cores
// packages: cutlass
#include <cutlass/conv/convolution.h>
#include <cutlass/conv/conv2d_problem_size.h>
#include <cutlass/conv/device/implicit_gemm_convolution.h>
#include <cutlass/conv/kernel/default_conv2d_dgrad.h>
#include <cutlass/conv/kernel/default_conv2d_fprop.h>
#include <cutlass/conv/kernel/default_conv2d_wgrad.h>
#include <cutlass/epilogue/thread/linear_combination.h>
using cutlass::half_t;
using Nhwc = cutlass::layout::TensorNHWC;
using Tensor = cutlass::arch::OpClassTensorOp;
using Sm80 = cutlass::arch::Sm80;
using End = cutlass::epilogue::thread::LinearCombination<half_t, 8, float, float>;
using Swizzle = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>;
using Block = cutlass::gemm::GemmShape<128, 128, 32>;
using Warp = cutlass::gemm::GemmShape<64, 64, 32>;
using Step = cutlass::gemm::GemmShape<16, 8, 16>;
template <typename Kernel> void use() {
    cutlass::conv::device::ImplicitGemmConvolution<Kernel> convolution;
    typename cutlass::conv::device::ImplicitGemmConvolution<Kernel>::Arguments arguments;
    convolution.initialize(arguments);
    convolution.run();
}
void all() {
    using namespace cutlass::conv;
    using Plain = cutlass::arch::OpMultiplyAdd;
    use<kernel::DefaultConv2dFprop<half_t, Nhwc, half_t, Nhwc, half_t, Nhwc, float, Tensor, Sm80, Block, Warp, Step, End, Swizzle, 3, Plain, IteratorAlgorithm::kOptimized>::Kernel>();
    use<kernel::DefaultConv2dFprop<half_t, Nhwc, half_t, Nhwc, half_t, Nhwc, float, Tensor, Sm80, Block, Warp, Step, End, Swizzle, 4, Plain, IteratorAlgorithm::kAnalytic>::Kernel>();
    use<kernel::DefaultConv2dDgrad<half_t, Nhwc, half_t, Nhwc, half_t, Nhwc, float, Tensor, Sm80, Block, Warp, Step, End, Swizzle, 3, Plain, IteratorAlgorithm::kOptimized, StrideSupport::kUnity>::Kernel>();
    use<kernel::DefaultConv2dWgrad<half_t, Nhwc, half_t, Nhwc, half_t, Nhwc, float, Tensor, Sm80, Block, Warp, Step, End, Swizzle, 3, Plain, IteratorAlgorithm::kOptimized>::Kernel>();
}
