// about: cuda::atomic, barriers, semaphores, pipelines and asynchronous copies
// packages: cccl
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/utility>
template <typename T, cuda::thread_scope S> __global__ void operations(cuda::atomic<T, S> *v, T *out) {
    int i = threadIdx.x;
    T x = v[0].fetch_add(T(i), cuda::std::memory_order_relaxed);
    x += v[1].exchange(T(i), cuda::std::memory_order_acq_rel);
    T expected = v[2].load(cuda::std::memory_order_acquire);
    while (!v[2].compare_exchange_weak(expected, expected + T(1), cuda::std::memory_order_seq_cst)) {}
    v[3].store(x, cuda::std::memory_order_release);
    v[4].fetch_max(x);
    v[5].fetch_min(x, cuda::std::memory_order_relaxed);
    out[i] = x + expected;
}
template <typename T, cuda::thread_scope S> __global__ void bitwise(T *v) {
    cuda::atomic_ref<T, S> r(v[0]), s(v[1]), t(v[2]);
    r.fetch_or(T(1) << threadIdx.x % 8);
    s.fetch_and(T(~threadIdx.x));
    t.fetch_xor(T(threadIdx.x), cuda::std::memory_order_release);
    cuda::atomic_thread_fence(cuda::std::memory_order_seq_cst, S);
    r.wait(T(0));
    s.notify_all();
}
template <cuda::thread_scope S> __global__ void spin_lock(cuda::atomic<int, S> *lock, int *data, int n) {
    for (int i = 0; i < n; i++) {
        while (lock->exchange(1, cuda::std::memory_order_acquire)) __nanosleep(20);
        data[0] += i;
        lock->store(0, cuda::std::memory_order_release);
    }
}
template <typename T> __global__ void barriers(T *v, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    __shared__ T s[256];
    if (threadIdx.x == 0) init(&b, blockDim.x);
    __syncthreads();
    for (int i = 0; i < n; i++) {
        s[threadIdx.x] = v[i * 256 + threadIdx.x];
        auto token = b.arrive();
        T x = v[threadIdx.x] * T(2);
        b.wait(cuda::std::move(token));
        v[i * 256 + threadIdx.x] = x + s[255 - threadIdx.x];
        b.arrive_and_wait();
    }
}
template <typename T, int N> __global__ void copied(T *out, const T *in, int n) {
    __shared__ alignas(128) T s[N];
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    auto block = cooperative_groups::this_thread_block();
    if (threadIdx.x == 0) init(&b, blockDim.x);
    block.sync();
    T x = 0;
    for (int i = 0; i < n; i++) {
        cuda::memcpy_async(block, s, in + i * N, cuda::aligned_size_t<16>(sizeof(s)), b);
        b.arrive_and_wait();
        for (int j = threadIdx.x; j < N; j += blockDim.x) x += s[j];
        block.sync();
    }
    out[threadIdx.x] = x;
}
template <typename T, int Stages> __global__ void piped(T *out, const T *in, int n) {
    __shared__ T s[Stages][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    T x = 0;
    for (int done = 0, asked = 0; done < n; done++) {
        for (; asked < n && asked < done + Stages; asked++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[asked % Stages], in + asked * 128, sizeof(s[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        x += s[done % Stages][threadIdx.x] * s[done % Stages][127 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = x;
}
template <typename T, int Stages> __global__ void own_pipe(T *out, const T *in, int n) {
    __shared__ T s[Stages][128];
    auto pipe = cuda::make_pipeline();
    T x = 0;
    for (int done = 0, asked = 0; done < n; done++) {
        for (; asked < n && asked < done + Stages; asked++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&s[asked % Stages][threadIdx.x], in + asked * 128 + threadIdx.x, sizeof(T), pipe);
            pipe.producer_commit();
        }
        cuda::pipeline_consumer_wait_prior<Stages - 1>(pipe);
        x += s[done % Stages][threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = x;
}
__global__ void semaphores(cuda::counting_semaphore<cuda::thread_scope_device, 8> *s, cuda::latch<cuda::thread_scope_device> *l, int *v) {
    s->acquire();
    atomicAdd(v, 1);
    s->release();
    l->arrive_and_wait();
    v[threadIdx.x] = v[0];
}
template <typename T> void *all() {
    static void *list[] = {(void *)operations<T, cuda::thread_scope_block>, (void *)operations<T, cuda::thread_scope_device>, (void *)operations<T, cuda::thread_scope_system>,
                           (void *)barriers<T>, (void *)copied<T, 256>, (void *)copied<T, 1024>, (void *)piped<T, 2>, (void *)piped<T, 4>, (void *)own_pipe<T, 2>, (void *)own_pipe<T, 3>};
    return list;
}
void *use[] = {all<int>(), all<unsigned long long>(), all<float>(), all<double>(), (void *)bitwise<int, cuda::thread_scope_block>,
               (void *)bitwise<unsigned long long, cuda::thread_scope_device>, (void *)bitwise<short, cuda::thread_scope_device>, (void *)bitwise<unsigned char, cuda::thread_scope_system>,
               (void *)spin_lock<cuda::thread_scope_block>, (void *)spin_lock<cuda::thread_scope_device>, (void *)spin_lock<cuda::thread_scope_system>};
