// about: cooperative groups: grid and cluster synchronization, large tiles, asynchronous copies
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
template <typename T> __global__ void relax(T *a, T *b, int n, int rounds) {
    auto grid = cg::this_grid();
    for (int r = 0; r < rounds; r++) {
        for (int i = grid.thread_rank() + 1; i < n - 1; i += grid.size()) b[i] = (a[i - 1] + a[i] * 2 + a[i + 1]) / 4;
        grid.sync();
        T *t = a;
        a = b;
        b = t;
    }
}
template <typename T> __global__ void grid_sum(T *v, T *parts, int n) {
    auto grid = cg::this_grid();
    auto block = cg::this_thread_block();
    __shared__ T s[32];
    T x = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) x += v[i];
    auto warp = cg::tiled_partition<32>(block);
    x = cg::reduce(warp, x, cg::plus<T>());
    if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = x;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        x = cg::reduce(warp, warp.thread_rank() < warp.meta_group_size() ? s[warp.thread_rank()] : T(0), cg::plus<T>());
        if (block.thread_rank() == 0) parts[blockIdx.x] = x;
    }
    grid.sync();
    if (grid.thread_rank() == 0) {
        x = 0;
        for (int i = 0; i < gridDim.x; i++) x += parts[i];
        v[0] = x;
    }
}
template <typename T> __global__ void __cluster_dims__(4, 1, 1) cluster_histogram(const T *v, int *out, int n) {
    __shared__ int bins[256];
    auto cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
        int bin = (int)v[i] & 1023;
        atomicAdd(cluster.map_shared_rank(bins, bin / 256) + bin % 256, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(out + cluster.block_rank() * 256 + i, bins[i]);
}
template <typename T, int N> __global__ void staged(T *out, const T *in, int n) {
    __shared__ T buffer[2][N];
    auto block = cg::this_thread_block();
    T s = 0;
    cg::memcpy_async(block, buffer[0], in, sizeof(T) * N);
    for (int k = 0; k < n; k++) {
        if (k + 1 < n) cg::memcpy_async(block, buffer[(k + 1) & 1], in + (k + 1) * N, sizeof(T) * N);
        if (k + 1 < n) cg::wait_prior<1>(block);
        else cg::wait(block);
        for (int i = threadIdx.x; i < N; i += blockDim.x) s += buffer[k & 1][i] * buffer[k & 1][N - 1 - i];
        block.sync();
    }
    out[threadIdx.x] = s;
}
template <typename T, int W> __global__ void wide_tile(T *v) {
    __shared__ cg::block_tile_memory<512> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<W>(block);
    v[block.thread_rank()] = cg::reduce(tile, v[block.thread_rank()], cg::plus<T>()) + tile.shfl(v[block.thread_rank()], 3);
}
__global__ void once(int *v) {
    auto block = cg::this_thread_block();
    cg::invoke_one(block, [&] { v[0] = block.size(); });
    auto token = block.barrier_arrive();
    v[block.thread_rank() + 1] = block.group_index().x;
    block.barrier_wait(std::move(token));
}
template <typename T> void *all() {
    static void *list[] = {(void *)relax<T>, (void *)grid_sum<T>, (void *)cluster_histogram<T>, (void *)staged<T, 256>, (void *)staged<T, 100>,
                           (void *)wide_tile<T, 64>, (void *)wide_tile<T, 256>};
    return list;
}
void *use[] = {all<int>(), all<float>(), all<double>(), all<short>()};
