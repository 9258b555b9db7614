// about: cuBLASDx multiplications inside of a kernel
// packages: mathdx
// options: --expt-relaxed-constexpr
#include <cublasdx.hpp>
using namespace cublasdx;
template <typename G> __global__ void __launch_bounds__(G::max_threads_per_block)
multiply(const typename G::a_value_type *a, const typename G::b_value_type *b, typename G::c_value_type *c, typename G::c_value_type alpha, typename G::c_value_type beta) {
    extern __shared__ __align__(16) char shared[];
    auto ga = make_tensor(a, G::get_layout_gmem_a());
    auto gb = make_tensor(b, G::get_layout_gmem_b());
    auto gc = make_tensor(c, G::get_layout_gmem_c());
    auto [pa, pb, pc] = slice_shared_memory<G>(shared);
    auto sa = make_tensor(pa, G::get_layout_smem_a());
    auto sb = make_tensor(pb, G::get_layout_smem_b());
    auto sc = make_tensor(pc, G::get_layout_smem_c());
    copy<G, alignment_of<G>::a>(ga, sa);
    copy<G, alignment_of<G>::b>(gb, sb);
    copy<G, alignment_of<G>::c>(gc, sc);
    copy_wait();
    G().execute(alpha, sa, sb, beta, sc);
    __syncthreads();
    copy<G, alignment_of<G>::c>(sc, gc);
}
template <int M, int N, int K, typename P, typename C = P> using Real = decltype(Size<M, N, K>() + Precision<P, P, C>() + Type<type::real>() + Function<function::MM>() +
    Arrangement<row_major, col_major, row_major>() + SM<1000>() + Block() + BlockDim<128>());
template <int M, int N, int K, typename P> using Complex = decltype(Size<M, N, K>() + Precision<P>() + Type<type::complex>() + Function<function::MM>() +
    Arrangement<col_major, row_major, col_major>() + SM<1000>() + Block() + BlockDim<64>());
void *use[] = {(void *)multiply<Real<32, 32, 32, float>>,         (void *)multiply<Real<64, 32, 16, double>>,  (void *)multiply<Real<64, 64, 64, __half, float>>,
               (void *)multiply<Real<17, 9, 23, float>>,          (void *)multiply<Complex<16, 16, 16, float>>, (void *)multiply<Complex<24, 8, 16, double>>};
