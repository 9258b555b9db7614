// about: bulk and tensor copies, transaction barriers, clusters, packed single precision, wide loads, named barriers
// packages: cccl
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda.h>
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
template <typename T, int N> __global__ void bulk_in(const T *in, T *out, int n) {
    __shared__ alignas(128) T s[2][N];
    __shared__ Barrier b[2];
    if (threadIdx.x == 0) init(&b[0], blockDim.x), init(&b[1], blockDim.x), ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    auto fetch = [&](int i) {
        if (threadIdx.x == 0) {
            cuda::memcpy_async(s[i & 1], in + i * N, cuda::aligned_size_t<16>(sizeof(s[0])), b[i & 1]);
            return cuda::device::barrier_arrive_tx(b[i & 1], 1, sizeof(s[0]));
        }
        return b[i & 1].arrive();
    };
    T sum = 0;
    auto token = fetch(0);
    for (int i = 0; i < n; i++) {
        auto next = i + 1 < n ? fetch(i + 1) : b[(i + 1) & 1].arrive();
        b[i & 1].wait(std::move(token));
        for (int k = threadIdx.x; k < N; k += blockDim.x) sum += s[i & 1][k];
        __syncthreads();
        token = std::move(next);
    }
    out[threadIdx.x] = sum;
}
template <int N> __global__ void tensor_2d(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, int x, int y) {
    __shared__ alignas(128) float s[N][N];
    __shared__ uint64_t b;
    if (threadIdx.x == 0) ptx::mbarrier_init(&b, 1), ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    __syncthreads();
    if (threadIdx.x == 0) {
        int32_t at[2] = {x, y};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s, &in, at, &b);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &b, sizeof(s));
    }
    while (!ptx::mbarrier_try_wait_parity(&b, 0)) {}
    for (int i = threadIdx.x; i < N * N; i += blockDim.x) (&s[0][0])[i] *= 2;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        int32_t at[2] = {y, x};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, at, s);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
template <int N> __global__ void tensor_ring(const __grid_constant__ CUtensorMap in, float *out, int steps) {
    constexpr int Stages = 4;
    extern __shared__ __align__(128) float ring[];
    __shared__ uint64_t full[Stages], empty[Stages];
    if (threadIdx.x == 0)
        for (int i = 0; i < Stages; i++) ptx::mbarrier_init(&full[i], 1), ptx::mbarrier_init(&empty[i], 96);
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            for (int i = 0; i < steps; i++) {
                int st = i % Stages;
                while (!ptx::mbarrier_try_wait_parity(&empty[st], ((i / Stages) & 1) ^ 1)) {}
                ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[st], N * 4u);
                int32_t at[3] = {0, i, (int)blockIdx.x};
                ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, ring + st * N, &in, at, &full[st]);
            }
    } else {
        float sum = 0;
        for (int i = 0; i < steps; i++) {
            int st = i % Stages;
            while (!ptx::mbarrier_try_wait_parity(&full[st], (i / Stages) & 1)) {}
            for (int k = threadIdx.x - 32; k < N; k += 96) sum += ring[st * N + k];
            ptx::mbarrier_arrive(&empty[st]);
        }
        out[blockIdx.x * 96 + threadIdx.x - 32] = sum;
    }
}
template <typename T> __global__ void __cluster_dims__(2, 1, 1) exchange(T *v, int n) {
    __shared__ T s[128];
    s[threadIdx.x] = v[blockIdx.x * 128 + threadIdx.x];
    T sum = 0;
    for (int i = 0; i < n; i++) {
        asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
        uint32_t mine = (uint32_t)__cvta_generic_to_shared(&s[(threadIdx.x + i) % 128]), theirs, rank;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(mine), "r"(rank ^ 1));
        unsigned w;
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(w) : "r"(theirs));
        sum += T(w);
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    v[blockIdx.x * 128 + threadIdx.x] = sum;
}
__global__ void bulk_reduce(float *out, const float *in) {
    __shared__ alignas(16) float s[256];
    s[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(out), "r"((uint32_t)__cvta_generic_to_shared(s)), "r"(1024) : "memory");
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}
__global__ void packed(const float2 *a, const float2 *b, float2 *c, int n) {
    float2 s = {0, 0}, t = {1, 1};
    for (int i = threadIdx.x; i < n; i += blockDim.x) s = __ffma2_rn(a[i], b[i], s), t = __fmul2_rn(t, __fadd2_rn(a[i], b[i]));
    c[threadIdx.x] = s, c[threadIdx.x + blockDim.x] = t;
}
__global__ void named(float *v, int n) {
    __shared__ float s[2][128];
    int t = threadIdx.x % 128;
    if (threadIdx.x < 128)
        for (int i = 0; i < n; i++) {
            asm volatile("bar.sync %0, 256;" ::"r"(1 + (i & 1)) : "memory");
            s[i & 1][t] = v[i * 128 + t];
            asm volatile("bar.arrive %0, 256;" ::"r"(3 + (i & 1)) : "memory");
        }
    else {
        asm volatile("bar.arrive 1, 256; bar.arrive 2, 256;" ::: "memory");
        float sum = 0;
        for (int i = 0; i < n; i++) {
            asm volatile("bar.sync %0, 256;" ::"r"(3 + (i & 1)) : "memory");
            sum += s[i & 1][127 - t];
            asm volatile("bar.arrive %0, 256;" ::"r"(1 + (i & 1)) : "memory");
        }
        v[t] = sum;
    }
}
__global__ void dependent(float *v) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    v[threadIdx.x] *= 2;
    asm volatile("griddepcontrol.launch_dependents;");
}
__global__ void vector_atomics(float *v, const float4 *in) {
    float4 x = in[threadIdx.x];
    atomicAdd((float4 *)v + threadIdx.x % 4, x);
    atomicAdd((float2 *)v + threadIdx.x % 8, make_float2(x.x, x.w));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + threadIdx.x + 32));
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(v + 1024));
}
template __global__ void bulk_in<float, 256>(const float *, float *, int);
template __global__ void bulk_in<double, 512>(const double *, double *, int);
template __global__ void bulk_in<int, 64>(const int *, int *, int);
template __global__ void tensor_2d<16>(const __grid_constant__ CUtensorMap, const __grid_constant__ CUtensorMap, int, int);
template __global__ void tensor_2d<32>(const __grid_constant__ CUtensorMap, const __grid_constant__ CUtensorMap, int, int);
template __global__ void tensor_ring<1024>(const __grid_constant__ CUtensorMap, float *, int);
template __global__ void tensor_ring<384>(const __grid_constant__ CUtensorMap, float *, int);
template __global__ void exchange<float>(float *, int);
template __global__ void exchange<int>(int *, int);
template __global__ void exchange<double>(double *, int);
