// about: device-wide merge sort
// packages: cccl
#include <cub/cub.cuh>
struct Less {
    template <typename T> __host__ __device__ bool operator()(const T &a, const T &b) const { return a < b; }
};
struct Record {
    int a;
    float b;
    __host__ __device__ bool operator<(const Record &o) const { return a < o.a || (a == o.a && b < o.b); }
};
void all(void *p, size_t &b, int n) {
    cub::DeviceMergeSort::SortKeys(p, b, (int *)p, n, Less());
    cub::DeviceMergeSort::StableSortKeys(p, b, (double *)p, n, Less());
    cub::DeviceMergeSort::SortPairs(p, b, (Record *)p, (int *)p, n, Less());
    cub::DeviceMergeSort::SortPairs(p, b, (float *)p, (long long *)p, n, Less());
}
