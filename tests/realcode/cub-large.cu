// about: large and small tiles of block-wide primitives, also in two and three dimensions
// packages: cccl
#include <cub/cub.cuh>
template <typename T, int X, int Y, int Z> __global__ void solid(T *v) {
    using Reduce = cub::BlockReduce<T, X, cub::BLOCK_REDUCE_WARP_REDUCTIONS, Y, Z>;
    using Scan = cub::BlockScan<T, X, cub::BLOCK_SCAN_RAKING, Y, Z>;
    __shared__ union { typename Reduce::TempStorage reduce; typename Scan::TempStorage scan; } s;
    int t = (threadIdx.z * Y + threadIdx.y) * X + threadIdx.x;
    T x = v[t], total;
    Scan(s.scan).InclusiveSum(x, x, total);
    __syncthreads();
    T most = Reduce(s.reduce).Reduce(x, cuda::maximum<>());
    v[t] = t == 0 ? most : x + total;
}
template <typename T, int N, int I, cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S> __global__ void moved(const T *in, T *out, int n) {
    using Load = cub::BlockLoad<T, N, I, L>;
    using Store = cub::BlockStore<T, N, I, S>;
    __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; } s;
    T x[I];
    Load(s.load).Load(in + blockIdx.x * N * I, x, n, T(3));
    __syncthreads();
    for (T &y : x) y = y * y;
    Store(s.store).Store(out + blockIdx.x * N * I, x, n);
}
template <typename T, int N, int I> __global__ void ranked(T *v, int begin) {
    using Sort = cub::BlockRadixSort<T, N, I, cub::NullType, 5, true, cub::BLOCK_SCAN_RAKING>;
    __shared__ typename Sort::TempStorage s;
    T x[I];
    cub::LoadDirectStriped<N>(threadIdx.x, v, x);
    Sort(s).Sort(x, begin);
    cub::StoreDirectBlocked(threadIdx.x, v, x);
}
template <typename T> void *all() {
    static void *list[] = {(void *)solid<T, 16, 16, 1>, (void *)solid<T, 8, 8, 8>, (void *)solid<T, 32, 2, 1>,
                           (void *)moved<T, 128, 4, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>, (void *)moved<T, 64, 8, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>,
                           (void *)moved<T, 128, 5, cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>, (void *)moved<T, 256, 3, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>,
                           (void *)moved<T, 64, 11, cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>, (void *)ranked<T, 256, 4>, (void *)ranked<T, 128, 9>};
    return list;
}
void *use[] = {all<int>(), all<float>(), all<double>(), all<unsigned short>(), all<long long>()};
