// about: cuFFTDx transforms of real data, and a convolution in a kernel
// packages: mathdx
#include <cufftdx.hpp>
using namespace cufftdx;
template <typename F> __global__ void __launch_bounds__(F::max_threads_per_block) transform(typename F::input_type *in, typename F::output_type *out) {
    extern __shared__ __align__(16) unsigned char shared[];
    typename F::value_type x[F::storage_size];
    auto *i = (typename F::input_type *)x;
    auto *o = (typename F::output_type *)x;
    unsigned first = (blockIdx.x * F::ffts_per_block + threadIdx.y) * F::input_length, second = (blockIdx.x * F::ffts_per_block + threadIdx.y) * F::output_length;
    for (unsigned k = 0, at = threadIdx.x; k < F::input_ept; k++, at += F::stride)
        if (at < F::input_length) i[k] = in[first + at];
    F().execute(x, shared);
    for (unsigned k = 0, at = threadIdx.x; k < F::output_ept; k++, at += F::stride)
        if (at < F::output_length) out[second + at] = o[k];
}
template <typename F, typename B> __global__ void __launch_bounds__(F::max_threads_per_block) convolve(typename F::value_type *v, const typename F::value_type *filter) {
    extern __shared__ __align__(16) unsigned char shared[];
    typename F::value_type x[F::storage_size];
    unsigned base = (blockIdx.x * F::ffts_per_block + threadIdx.y) * size_of<F>::value;
    for (unsigned k = 0; k < F::elements_per_thread; k++) x[k] = v[base + threadIdx.x + k * F::stride];
    F().execute(x, shared);
    for (unsigned k = 0; k < F::elements_per_thread; k++) {
        auto h = filter[threadIdx.x + k * F::stride];
        auto y = x[k];
        x[k].x = y.x * h.x - y.y * h.y, x[k].y = y.x * h.y + y.y * h.x;
    }
    B().execute(x, shared);
    for (unsigned k = 0; k < F::elements_per_thread; k++) v[base + threadIdx.x + k * F::stride] = x[k];
}
template <unsigned N, fft_type T, typename P, unsigned E> using Real = decltype(Block() + Size<N>() + Type<T>() + Precision<P>() + ElementsPerThread<E>() + FFTsPerBlock<1>() + SM<1000>());
template <unsigned N, fft_direction D, typename P> using Plain = decltype(Block() + Size<N>() + Type<fft_type::c2c>() + Direction<D>() + Precision<P>() + ElementsPerThread<8>() + FFTsPerBlock<1>() + SM<1000>());
void *use[] = {(void *)transform<Real<128, fft_type::r2c, float, 8>>, (void *)transform<Real<256, fft_type::c2r, float, 8>>, (void *)transform<Real<512, fft_type::r2c, double, 8>>,
               (void *)transform<Real<96, fft_type::r2c, float, 12>>, (void *)convolve<Plain<512, fft_direction::forward, float>, Plain<512, fft_direction::inverse, float>>,
               (void *)convolve<Plain<64, fft_direction::forward, double>, Plain<64, fft_direction::inverse, double>>};
