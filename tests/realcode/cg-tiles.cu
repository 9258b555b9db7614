// about: cooperative groups: tiles, coalesced and labelled groups, reductions and scans
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
template <typename T, int W> __global__ void tile_sum(T *v, int n) {
    auto tile = cg::tiled_partition<W>(cg::this_thread_block());
    T s = 0;
    for (int i = tile.meta_group_rank() * W + tile.thread_rank(); i < n; i += blockDim.x) s += v[i];
    s = cg::reduce(tile, s, cg::plus<T>());
    if (tile.thread_rank() == 0) v[tile.meta_group_rank()] = s;
}
template <typename T, int W> __global__ void tile_extremes(T *v) {
    auto tile = cg::tiled_partition<W>(cg::this_thread_block());
    T x = v[threadIdx.x];
    v[threadIdx.x] = cg::reduce(tile, x, cg::greater<T>()) - cg::reduce(tile, x, cg::less<T>());
}
template <typename T, int W> __global__ void tile_scan(T *v) {
    auto tile = cg::tiled_partition<W>(cg::this_thread_block());
    v[threadIdx.x] = cg::inclusive_scan(tile, v[threadIdx.x]) * cg::exclusive_scan(tile, v[threadIdx.x], cg::plus<T>());
}
template <typename T, int W> __global__ void tile_shuffles(T *v) {
    auto tile = cg::tiled_partition<W>(cg::this_thread_block());
    T x = v[threadIdx.x];
    x += tile.shfl_down(x, 1);
    x -= tile.shfl_xor(x, W / 2);
    x *= tile.shfl(x, W - 1);
    if (tile.any(x > T(3))) x = tile.shfl_up(x, 2);
    v[threadIdx.x] = x + T(tile.ballot(x > T(1)));
}
template <typename T> __global__ void coalesced(T *out, const T *in, int *count, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (in[i] > T(0)) {
            auto g = cg::coalesced_threads();
            int at = 0;
            if (g.thread_rank() == 0) at = atomicAdd(count, g.size());
            out[g.shfl(at, 0) + g.thread_rank()] = in[i] + cg::reduce(g, in[i], cg::plus<T>());
        }
}
template <typename T> __global__ void labelled(T *v, const int *labels) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto g = cg::labeled_partition(warp, labels[threadIdx.x] % 5);
    auto h = cg::binary_partition(warp, labels[threadIdx.x] & 1);
    v[threadIdx.x] = cg::reduce(g, v[threadIdx.x], cg::plus<T>()) + T(h.size());
}
template <typename T> void *all() {
    static void *list[] = {(void *)tile_sum<T, 32>, (void *)tile_sum<T, 16>, (void *)tile_sum<T, 8>, (void *)tile_extremes<T, 32>,
                           (void *)tile_extremes<T, 4>, (void *)tile_scan<T, 32>, (void *)tile_scan<T, 16>, (void *)tile_scan<T, 2>,
                           (void *)tile_shuffles<T, 32>, (void *)tile_shuffles<T, 8>, (void *)coalesced<T>, (void *)labelled<T>};
    return list;
}
void *use[] = {all<int>(), all<unsigned>(), all<float>(), all<double>(), all<long long>()};
