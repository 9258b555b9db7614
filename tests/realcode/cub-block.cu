// about: block-wide primitives of many types and shapes
// packages: cccl
#include <cub/cub.cuh>
template <typename T, int N, cub::BlockReduceAlgorithm A> __global__ void reduce(T *v) {
    using Block = cub::BlockReduce<T, N, A>;
    __shared__ typename Block::TempStorage s;
    T x = Block(s).Sum(v[blockIdx.x * N + threadIdx.x]);
    if (threadIdx.x == 0) v[blockIdx.x] = x;
}
template <typename T, int N, int I, cub::BlockScanAlgorithm A> __global__ void scan(T *v) {
    using Block = cub::BlockScan<T, N, A>;
    using Load = cub::BlockLoad<T, N, I, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<T, N, I, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union { typename Block::TempStorage scan; typename Load::TempStorage load; typename Store::TempStorage store; } s;
    T x[I];
    Load(s.load).Load(v + blockIdx.x * N * I, x);
    __syncthreads();
    Block(s.scan).ExclusiveSum(x, x);
    __syncthreads();
    Store(s.store).Store(v + blockIdx.x * N * I, x);
}
template <typename T, int N, int I> __global__ void radix(T *v) {
    using Block = cub::BlockRadixSort<T, N, I>;
    __shared__ typename Block::TempStorage s;
    T x[I];
    cub::LoadDirectBlocked(threadIdx.x, v + blockIdx.x * N * I, x);
    Block(s).SortBlockedToStriped(x);
    cub::StoreDirectStriped<N>(threadIdx.x, v + blockIdx.x * N * I, x);
}
struct Less { template <typename T> __device__ bool operator()(const T &a, const T &b) const { return a < b; } };
template <typename T, int N, int I> __global__ void merge_sort(T *v) {
    using Block = cub::BlockMergeSort<T, N, I>;
    __shared__ typename Block::TempStorage s;
    T x[I];
    cub::LoadDirectBlocked(threadIdx.x, v + blockIdx.x * N * I, x);
    Block(s).Sort(x, Less());
    cub::StoreDirectBlocked(threadIdx.x, v + blockIdx.x * N * I, x);
}
template <typename T, int N, int I> __global__ void exchange(T *v) {
    using Block = cub::BlockExchange<T, N, I>;
    __shared__ typename Block::TempStorage s;
    T x[I];
    cub::LoadDirectStriped<N>(threadIdx.x, v, x);
    Block(s).StripedToBlocked(x, x);
    cub::StoreDirectBlockedVectorized(threadIdx.x, v, x);
}
template <typename T, int N, int I, cub::BlockHistogramAlgorithm A> __global__ void histogram(T *v, int *out) {
    using Block = cub::BlockHistogram<T, N, I, 256, A>;
    __shared__ typename Block::TempStorage s;
    __shared__ int h[256];
    T x[I];
    cub::LoadDirectStriped<N>(threadIdx.x, v, x);
    Block(s).Histogram(x, h);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += N) atomicAdd(out + i, h[i]);
}
template <typename T, int N, int I> __global__ void heads(T *v, int *out) {
    using Block = cub::BlockDiscontinuity<T, N>;
    __shared__ typename Block::TempStorage s;
    T x[I];
    int f[I], g[I];
    cub::LoadDirectBlocked(threadIdx.x, v, x);
    Block(s).FlagHeadsAndTails(f, g, x, cuda::std::not_equal_to<>());
    for (int i = 0; i < I; i++) f[i] += g[i];
    cub::StoreDirectBlocked(threadIdx.x, out, f);
}
template <typename T> void *all() {
    static void *list[] = {
        (void *)reduce<T, 64, cub::BLOCK_REDUCE_RAKING>, (void *)reduce<T, 128, cub::BLOCK_REDUCE_WARP_REDUCTIONS>,
        (void *)reduce<T, 256, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>, (void *)reduce<T, 96, cub::BLOCK_REDUCE_WARP_REDUCTIONS>,
        (void *)scan<T, 128, 4, cub::BLOCK_SCAN_RAKING>, (void *)scan<T, 128, 7, cub::BLOCK_SCAN_WARP_SCANS>,
        (void *)scan<T, 256, 2, cub::BLOCK_SCAN_RAKING_MEMOIZE>,
        (void *)radix<T, 128, 4>, (void *)merge_sort<T, 64, 5>, (void *)merge_sort<T, 128, 2>,
        (void *)exchange<T, 128, 4>, (void *)exchange<T, 64, 9>, (void *)heads<T, 128, 3>};
    return list;
}
void *use[] = {all<int>(), all<float>(), all<double>(), all<short>(), all<unsigned long long>(), all<unsigned char>()};
void *more[] = {(void *)histogram<unsigned char, 128, 8, cub::BLOCK_HISTO_ATOMIC>, (void *)histogram<unsigned char, 128, 4, cub::BLOCK_HISTO_SORT>};
