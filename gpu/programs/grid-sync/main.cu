#include "../common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern __device__ void stage(cg::grid_group grid, int *values, int n, int round);
__global__ void rounds(int *values, int n, int count) {
    cg::grid_group grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        values[i] = i;
    grid.sync();
    for (int round = 0; round < count; round++)
        stage(grid, values, n, round);
}
int main() {
    int n = 1 << 14, count = 10;
    Array<int> values(2 * n);
    void *arguments[] = {&values.data, &n, &count};
    CHECK(cudaLaunchCooperativeKernel((void *)rounds, 32, 128, arguments));
    auto got = values.host();
    bool right = true;
    for (int i = 0; i < n; i++)
        right &= got[i] == (i + count) % n + count;
    std::printf("%d %d\n", got[0], got[n - 1]);
    return verdict(right);
}
