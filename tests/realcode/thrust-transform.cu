// about: transformations, fills, gathers and reductions of thrust
// packages: cccl
// options: --extended-lambda
#include <thrust/adjacent_difference.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/logical.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
template <typename T> double use(T *a, T *b, T *c, int *map, int n) {
    auto p = thrust::device;
    thrust::transform(p, a, a + n, b, c, [] __host__ __device__(T x, T y) -> T { return x * y + x; });
    thrust::transform_if(p, a, a + n, map, b, [] __host__ __device__(T x) -> T { return x + 1; }, [] __host__ __device__(int i) -> bool { return i > 3; });
    thrust::for_each_n(p, a, n, [] __device__(T &x) { x = x > T(5) ? x - 5 : x; });
    thrust::gather(p, map, map + n, a, b);
    thrust::scatter(p, a, a + n, map, c);
    thrust::reverse(p, a, a + n);
    thrust::replace(p, a, a + n, T(1), T(2));
    thrust::sequence(p, a, a + n, T(2), T(3));
    thrust::tabulate(p, a, a + n, [] __device__(int i) -> T { return T(i) * T(i); });
    thrust::adjacent_difference(p, a, a + n, b);
    auto e = thrust::minmax_element(p, a, a + n);
    double s = thrust::transform_reduce(p, a, a + n, [] __host__ __device__(T x) -> double { return (double)x * x; }, 0.0, thrust::plus<double>());
    s += thrust::inner_product(p, a, a + n, b, T(0)) + (e.second - e.first) + thrust::count(p, a, a + n, T(4));
    return s + thrust::all_of(p, a, a + n, [] __host__ __device__(T x) -> bool { return x != T(9); });
}
void all(void *p, int n) {
    use((int *)p, (int *)p, (int *)p, (int *)p, n);
    use((float *)p, (float *)p, (float *)p, (int *)p, n);
    use((double *)p, (double *)p, (double *)p, (int *)p, n);
}
