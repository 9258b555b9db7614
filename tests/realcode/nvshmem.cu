// about: NVSHMEM: transfers, atomics, signals, collectives and the end of the program, from the device archives of two toolkits
// packages: nvshmem-cu13
// archives: nvshmem-cu12 nvshmem-cu13
// sets: o3
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void transfers(int *target, const int *source, size_t count, int peer)
{
    nvshmem_int_p(target, source[threadIdx.x], peer);
    nvshmem_int_put(target + 1, source, count, peer);
    nvshmem_int_get(target, source + 1, count, peer);
    nvshmem_int_put_nbi(target, source, count, peer);
    nvshmemx_int_put_block(target, source, count, peer);
    nvshmemx_int_get_warp(target, source, count, peer);
    nvshmem_int_iput(target, source, 2, 3, count, peer);
    target[count] = nvshmem_int_g(source, peer);
    nvshmem_fence();
    nvshmem_quiet();
}

__global__ void atomics(unsigned long long *counter, unsigned *flags, int peer)
{
    nvshmem_ulonglong_atomic_add(counter, 3, peer);
    nvshmem_uint_atomic_or(flags, 4, peer);
    counter[1] = nvshmem_ulonglong_atomic_fetch_inc(counter, peer);
    counter[2] = nvshmem_ulonglong_atomic_compare_swap(counter, 1, 2, peer);
    flags[1] = nvshmem_uint_atomic_swap(flags, 7, peer);
}

__global__ void signals(double *target, const double *source, uint64_t *signal, int peer)
{
    nvshmem_double_put_signal(target, source, 32, signal, 1, NVSHMEM_SIGNAL_ADD, peer);
    nvshmemx_double_put_signal_nbi_warp(target, source, 32, signal, 1, NVSHMEM_SIGNAL_SET, peer);
    nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 2);
    nvshmem_uint64_wait_until(signal + 1, NVSHMEM_CMP_EQ, 5);
}

__global__ void collectives(float *target, const float *source, size_t count)
{
    nvshmem_float_sum_reduce(NVSHMEM_TEAM_WORLD, target, source, count);
    nvshmemx_float_max_reduce_block(NVSHMEM_TEAM_WORLD, target, source, count);
    nvshmem_float_broadcast(NVSHMEM_TEAM_WORLD, target, source, count, 0);
    nvshmemx_float_fcollect_warp(NVSHMEM_TEAM_WORLD, target, source, count);
    nvshmem_float_alltoall(NVSHMEM_TEAM_WORLD, target, source, count);
    nvshmemx_barrier_all_block();
    nvshmem_sync_all();
    nvshmem_team_sync(NVSHMEM_TEAM_WORLD);
}

__global__ void ends(int *target)
{
    int *other = static_cast<int *>(nvshmem_ptr(target, nvshmem_my_pe() ^ 1));
    if (other == nullptr) nvshmem_global_exit(nvshmem_n_pes());
    *target = nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD);
}
