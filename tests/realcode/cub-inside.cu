// about: kernels of our own that combine block-wide primitives of CUB
// packages: cccl
#include <cub/cub.cuh>
template <typename T, int N, int I> __global__ void compact(const T *in, T *out, int *count, int n, T limit) {
    using Load = cub::BlockLoad<T, N, I, cub::BLOCK_LOAD_TRANSPOSE>;
    using Scan = cub::BlockScan<int, N>;
    __shared__ union { typename Load::TempStorage load; typename Scan::TempStorage scan; } s;
    __shared__ int base;
    T v[I];
    int keep[I], at[I], total;
    Load(s.load).Load(in + blockIdx.x * N * I, v, n - blockIdx.x * N * I, T(0));
    __syncthreads();
    for (int i = 0; i < I; i++) keep[i] = v[i] > limit;
    Scan(s.scan).ExclusiveSum(keep, at, total);
    if (threadIdx.x == 0) base = atomicAdd(count, total);
    __syncthreads();
    for (int i = 0; i < I; i++)
        if (keep[i]) out[base + at[i]] = v[i];
}
template <typename K, typename V, int N, int I> __global__ void sort_pairs(K *keys, V *values, int begin, int end) {
    using Sort = cub::BlockRadixSort<K, N, I, V>;
    __shared__ typename Sort::TempStorage s;
    K k[I];
    V v[I];
    cub::LoadDirectBlocked(threadIdx.x, keys + blockIdx.x * N * I, k);
    cub::LoadDirectBlocked(threadIdx.x, values + blockIdx.x * N * I, v);
    Sort(s).SortDescending(k, v, begin, end);
    cub::StoreDirectBlocked(threadIdx.x, keys + blockIdx.x * N * I, k);
    cub::StoreDirectBlocked(threadIdx.x, values + blockIdx.x * N * I, v);
}
template <typename T, int N, int I> __global__ void segmented(T *v, const int *flags) {
    struct Item { T value; int flag; };
    struct Add { __device__ Item operator()(Item a, Item b) const { return {b.flag ? b.value : a.value + b.value, a.flag | b.flag}; } };
    using Scan = cub::BlockScan<Item, N, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename Scan::TempStorage s;
    Item x[I];
    for (int i = 0; i < I; i++) x[i] = {v[threadIdx.x * I + i], flags[threadIdx.x * I + i]};
    Scan(s).InclusiveScan(x, x, Add());
    for (int i = 0; i < I; i++) v[threadIdx.x * I + i] = x[i].value;
}
template <int N, int I> __global__ void run_lengths(const unsigned char *v, const unsigned *lengths, unsigned char *out, int runs) {
    using Decode = cub::BlockRunLengthDecode<unsigned char, N, 1, I>;
    __shared__ typename Decode::TempStorage s;
    unsigned char value[1] = {threadIdx.x < runs ? v[threadIdx.x] : (unsigned char)0};
    unsigned length[1] = {threadIdx.x < runs ? lengths[threadIdx.x] : 0u}, total;
    Decode decode(s, value, length, total);
    for (unsigned at = 0; at < total; at += N * I) {
        unsigned char x[I];
        decode.RunLengthDecode(x, at);
        for (int i = 0; i < I; i++)
            if (at + threadIdx.x * I + i < total) out[at + threadIdx.x * I + i] = x[i];
    }
}
struct Prefix {
    int running;
    __device__ int operator()(int total) { int old = running; running += total; return old; }
};
template <int N> __global__ void running(int *v, int n) {
    using Scan = cub::BlockScan<int, N>;
    __shared__ typename Scan::TempStorage s;
    Prefix prefix{0};
    for (int i = 0; i < n; i += N) {
        int x = i + threadIdx.x < n ? v[i + threadIdx.x] : 0;
        Scan(s).ExclusiveSum(x, x, prefix);
        __syncthreads();
        if (i + threadIdx.x < n) v[i + threadIdx.x] = x;
    }
}
template <typename T, int N> __global__ void differences(T *v) {
    using Difference = cub::BlockAdjacentDifference<T, N>;
    __shared__ typename Difference::TempStorage s;
    T x[3];
    cub::LoadDirectBlocked(threadIdx.x, v, x);
    Difference(s).SubtractLeft(x, x, cuda::std::minus<>());
    cub::StoreDirectBlocked(threadIdx.x, v, x);
}
template <typename T> void *all() {
    static void *list[] = {(void *)compact<T, 128, 4>, (void *)compact<T, 256, 7>, (void *)sort_pairs<T, int, 128, 3>, (void *)sort_pairs<unsigned, T, 64, 6>, (void *)segmented<T, 128, 2>,
                           (void *)segmented<T, 64, 5>, (void *)differences<T, 128>};
    return list;
}
void *use[] = {all<int>(), all<float>(), all<double>(), all<long long>(), (void *)run_lengths<64, 4>, (void *)run_lengths<128, 2>, (void *)running<128>, (void *)running<512>};
