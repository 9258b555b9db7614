// about: thrust over zipped, permuted, counted and transformed ranges; complex numbers and random engines
// packages: cccl
// options: --extended-lambda
#include <thrust/complex.h>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>
#include <thrust/transform_scan.h>
#include <thrust/tuple.h>
struct Halve { __host__ __device__ float operator()(float x) const { return x * 0.5f; } };
struct Pi {
    __host__ __device__ float operator()(unsigned i) const {
        thrust::default_random_engine r(i);
        r.discard(i % 64);
        thrust::uniform_real_distribution<float> u(0, 1);
        float hits = 0;
        for (int k = 0; k < 100; k++) {
            float x = u(r), y = u(r);
            hits += x * x + y * y < 1;
        }
        return hits;
    }
};
struct Normal {
    __host__ __device__ double operator()(unsigned i) const {
        thrust::taus88 r(i);
        thrust::normal_distribution<double> d(0, 1);
        return d(r);
    }
};
double all(float *a, float *b, double *d, int *map, thrust::complex<float> *z, thrust::complex<double> *w, int n) {
    auto p = thrust::device;
    auto zip = thrust::make_zip_iterator(thrust::make_tuple(a, b, map));
    thrust::for_each(p, zip, zip + n, [] __device__(auto t) { thrust::get<0>(t) += thrust::get<1>(t) * thrust::get<2>(t); });
    auto permuted = thrust::make_permutation_iterator(a, map);
    thrust::copy(p, permuted, permuted + n, b);
    thrust::copy_if(p, zip, zip + n, map, thrust::make_zip_iterator(thrust::make_tuple(b, a, map)), [] __host__ __device__(int m) -> bool { return m & 1; });
    auto squares = thrust::make_transform_iterator(thrust::make_counting_iterator(0), [] __host__ __device__(int i) -> double { return (double)i * i; });
    thrust::copy(p, squares, squares + n, d);
    thrust::transform(p, z, z + n, z, [] __host__ __device__(thrust::complex<float> x) -> thrust::complex<float> { return thrust::exp(x) * thrust::sqrt(x) / thrust::sin(x); });
    thrust::transform(p, w, w + n, w, [] __host__ __device__(thrust::complex<double> x) -> thrust::complex<double> { return thrust::log(x) + thrust::pow(x, 2.5) + thrust::tanh(x); });
    thrust::transform(p, thrust::make_counting_iterator(0u), thrust::make_counting_iterator(0u) + n, d, Normal());
    thrust::transform_inclusive_scan(p, a, a + n, b, [] __host__ __device__(float x) -> float { return x * x; }, thrust::plus<float>());
    auto scaled = thrust::make_transform_output_iterator(b, Halve());
    thrust::inclusive_scan(p, a, a + n, scaled);
    auto tries = thrust::make_transform_iterator(thrust::make_counting_iterator(0u), Pi());
    return thrust::reduce(p, tries, tries + n) + thrust::reduce(p, d, d + n, 0.0, thrust::maximum<double>());
}
