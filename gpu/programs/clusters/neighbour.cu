#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// Reads a word of the shared memory of another block of the cluster.
__device__ int neighbour(int *own, int at) {
    cg::cluster_group cluster = cg::this_cluster();
    int *other = cluster.map_shared_rank(own, (cluster.block_rank() + 1) % cluster.num_blocks());
    return other[at];
}
