// about: sorts of thrust, of numbers, pairs and records
// packages: cccl
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/sort.h>
#include <thrust/tuple.h>
struct Distance {
    __host__ __device__ bool operator()(float2 a, float2 b) const { return a.x * a.x + a.y * a.y < b.x * b.x + b.y * b.y; }
};
void all(void *p, int n) {
    thrust::sort(thrust::device, (int *)p, (int *)p + n);
    thrust::sort(thrust::device, (float *)p, (float *)p + n, thrust::greater<float>());
    thrust::stable_sort(thrust::device, (float2 *)p, (float2 *)p + n, Distance());
    thrust::sort_by_key(thrust::device, (double *)p, (double *)p + n, (int *)p);
}
