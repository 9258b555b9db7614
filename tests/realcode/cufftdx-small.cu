// about: cuFFTDx transforms of many sizes, of threads and blocks, in three precisions
// packages: mathdx
#include <cufftdx.hpp>
using namespace cufftdx;
template <typename F> __global__ void thread_wide(typename F::value_type *v) {
    typename F::value_type x[F::storage_size];
    unsigned base = (blockIdx.x * blockDim.x + threadIdx.x) * F::input_length;
    for (unsigned i = 0; i < F::input_length; i++) x[i] = v[base + i];
    F().execute(x);
    for (unsigned i = 0; i < F::output_length; i++) v[base + i] = x[i];
}
template <typename F> __global__ void __launch_bounds__(F::max_threads_per_block) block_wide(typename F::value_type *v) {
    extern __shared__ __align__(16) unsigned char shared[];
    typename F::value_type x[F::storage_size];
    unsigned base = (blockIdx.x * F::ffts_per_block + threadIdx.y) * size_of<F>::value;
    for (unsigned i = 0, at = threadIdx.x; i < F::elements_per_thread; i++, at += F::stride)
        if (at < size_of<F>::value) x[i] = v[base + at];
    F().execute(x, shared);
    for (unsigned i = 0, at = threadIdx.x; i < F::elements_per_thread; i++, at += F::stride)
        if (at < size_of<F>::value) v[base + at] = x[i];
}
template <unsigned N, typename P, fft_direction D> using ThreadFft = decltype(Thread() + Size<N>() + Type<fft_type::c2c>() + Direction<D>() + Precision<P>() + SM<1000>());
template <unsigned N, typename P, unsigned E> using BlockFft =
    decltype(Block() + Size<N>() + Type<fft_type::c2c>() + Direction<fft_direction::forward>() + Precision<P>() + ElementsPerThread<E>() + FFTsPerBlock<2>() + SM<1000>());
template <unsigned N> void *threads() {
    static void *list[] = {(void *)thread_wide<ThreadFft<N, float, fft_direction::forward>>, (void *)thread_wide<ThreadFft<N, float, fft_direction::inverse>>,
                           (void *)thread_wide<ThreadFft<N, double, fft_direction::forward>>, (void *)thread_wide<ThreadFft<N, __half, fft_direction::forward>>};
    return list;
}
void *small[] = {threads<2>(), threads<3>(), threads<4>(), threads<5>(), threads<6>(), threads<7>(), threads<8>(), threads<9>(), threads<10>(), threads<11>(),
                 threads<12>(), threads<13>(), threads<15>(), threads<16>()};
void *blocks[] = {(void *)block_wide<BlockFft<64, float, 8>>, (void *)block_wide<BlockFft<128, float, 8>>, (void *)block_wide<BlockFft<256, float, 16>>,
                  (void *)block_wide<BlockFft<512, float, 8>>, (void *)block_wide<BlockFft<1024, float, 16>>, (void *)block_wide<BlockFft<2048, float, 8>>,
                  (void *)block_wide<BlockFft<81, float, 9>>, (void *)block_wide<BlockFft<125, float, 5>>, (void *)block_wide<BlockFft<343, float, 7>>,
                  (void *)block_wide<BlockFft<64, double, 8>>, (void *)block_wide<BlockFft<256, double, 4>>, (void *)block_wide<BlockFft<100, double, 10>>,
                  (void *)block_wide<BlockFft<128, __half, 8>>, (void *)block_wide<BlockFft<256, __half, 8>>};
