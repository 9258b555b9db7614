// about: warp-wide primitives of many types and widths
// packages: cccl
#include <cub/cub.cuh>
struct Less { template <typename T> __device__ bool operator()(const T &a, const T &b) const { return a < b; } };
template <typename T, int W> __global__ void reduce(T *v, int n) {
    using Warp = cub::WarpReduce<T, W>;
    __shared__ typename Warp::TempStorage s[256 / W];
    T x = Warp(s[threadIdx.x / W]).Sum(v[threadIdx.x], n);
    if (threadIdx.x % W == 0) v[threadIdx.x] = x;
}
template <typename T, int W> __global__ void head_sum(T *v, const int *flags) {
    using Warp = cub::WarpReduce<T, W>;
    __shared__ typename Warp::TempStorage s[256 / W];
    v[threadIdx.x] = Warp(s[threadIdx.x / W]).HeadSegmentedSum(v[threadIdx.x], flags[threadIdx.x]);
}
template <typename T, int W> __global__ void scan(T *v) {
    using Warp = cub::WarpScan<T, W>;
    __shared__ typename Warp::TempStorage s[256 / W];
    T in, out;
    Warp(s[threadIdx.x / W]).Scan(v[threadIdx.x], in, out, T(0), cuda::std::plus<>());
    v[threadIdx.x] = in * out;
}
template <typename T, int W, int I> __global__ void sort(T *v) {
    using Warp = cub::WarpMergeSort<T, I, W>;
    __shared__ typename Warp::TempStorage s[128 / W];
    T x[I];
    for (int i = 0; i < I; i++) x[i] = v[threadIdx.x * I + i];
    Warp(s[threadIdx.x / W]).Sort(x, Less());
    for (int i = 0; i < I; i++) v[threadIdx.x * I + i] = x[i];
}
template <typename T, int W, int I> __global__ void exchange(T *v) {
    using Warp = cub::WarpExchange<T, I, W>;
    __shared__ typename Warp::TempStorage s[128 / W];
    T x[I];
    for (int i = 0; i < I; i++) x[i] = v[threadIdx.x * I + i];
    Warp(s[threadIdx.x / W]).BlockedToStriped(x, x);
    for (int i = 0; i < I; i++) v[threadIdx.x * I + i] = x[i];
}
template <typename T, int W> __global__ void copy(T *v) {
    using Load = cub::WarpLoad<T, 4, cub::WARP_LOAD_TRANSPOSE, W>;
    using Store = cub::WarpStore<T, 4, cub::WARP_STORE_VECTORIZE, W>;
    __shared__ typename Load::TempStorage s[128 / W];
    __shared__ typename Store::TempStorage t[128 / W];
    T x[4];
    Load(s[threadIdx.x / W]).Load(v + threadIdx.x / W * W * 4, x);
    for (T &y : x) y += T(1);
    Store(t[threadIdx.x / W]).Store(v + threadIdx.x / W * W * 4, x);
}
template <typename T> void *all() {
    static void *list[] = {(void *)reduce<T, 32>, (void *)reduce<T, 16>, (void *)reduce<T, 7>, (void *)head_sum<T, 32>, (void *)scan<T, 32>,
                           (void *)scan<T, 8>, (void *)scan<T, 5>, (void *)sort<T, 32, 4>, (void *)sort<T, 8, 3>, (void *)exchange<T, 32, 4>,
                           (void *)exchange<T, 16, 3>, (void *)copy<T, 32>};
    return list;
}
void *use[] = {all<int>(), all<float>(), all<double>(), all<unsigned short>(), all<long long>()};
