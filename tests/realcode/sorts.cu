// about: sorting networks, odd-even and bitonic sorts, radix passes, scans and reductions written by hand
template <typename T, int N> __global__ void bitonic(T *v) {
    __shared__ T s[N];
    T *p = v + blockIdx.x * N;
    for (int i = threadIdx.x; i < N; i += blockDim.x) s[i] = p[i];
    for (int k = 2; k <= N; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < N; i += blockDim.x) {
                int o = i ^ j;
                if (o > i && (s[i] > s[o]) == ((i & k) == 0)) {
                    T t = s[i];
                    s[i] = s[o];
                    s[o] = t;
                }
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += blockDim.x) p[i] = s[i];
}
template <typename T, int N> __global__ void network(T *v) {
    T r[N];
#pragma unroll
    for (int i = 0; i < N; i++) r[i] = v[i * 128 + threadIdx.x];
#pragma unroll
    for (int pass = 0; pass < N; pass++)
#pragma unroll
        for (int i = pass & 1; i + 1 < N; i += 2) {
            T a = r[i] < r[i + 1] ? r[i] : r[i + 1], b = r[i] < r[i + 1] ? r[i + 1] : r[i];
            r[i] = a, r[i + 1] = b;
        }
#pragma unroll
    for (int i = 0; i < N; i++) v[i * 128 + threadIdx.x] = r[i];
}
template <typename T> __global__ void warp_bitonic(T *v) {
    T x = v[blockIdx.x * blockDim.x + threadIdx.x];
    int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 2; k <= 32; k *= 2)
#pragma unroll
        for (int j = k / 2; j; j /= 2) {
            T y = __shfl_xor_sync(~0u, x, j);
            bool up = (lane & k) == 0, low = (lane & j) == 0;
            x = (up == low) == (x < y) ? x : y;
        }
    v[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
template <int Bits> __global__ void radix_pass(const unsigned *in, unsigned *out, unsigned *offsets, int shift, int n) {
    __shared__ unsigned count[1 << Bits], base[1 << Bits];
    for (int i = threadIdx.x; i < 1 << Bits; i += blockDim.x) count[i] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned digit = i < n ? in[i] >> shift & ((1 << Bits) - 1) : 0, mine = 0;
    unsigned peers = __match_any_sync(~0u, i < n ? digit : ~0u);
    int leader = __ffs(peers) - 1, lane = threadIdx.x & 31;
    if (lane == leader && i < n) mine = atomicAdd(&count[digit], __popc(peers));
    mine = __shfl_sync(~0u, mine, leader) + __popc(peers & ((1u << lane) - 1));
    __syncthreads();
    for (int d = threadIdx.x; d < 1 << Bits; d += blockDim.x) base[d] = atomicAdd(&offsets[d], count[d]);
    __syncthreads();
    if (i < n) out[base[digit] + mine] = in[i];
}
template <typename T, int N> __global__ void scan_block(T *v, T *sums) {
    __shared__ T s[2][N];
    int which = 0;
    s[0][threadIdx.x] = v[blockIdx.x * N + threadIdx.x];
    __syncthreads();
    for (int d = 1; d < N; d *= 2) {
        s[!which][threadIdx.x] = s[which][threadIdx.x] + (threadIdx.x >= d ? s[which][threadIdx.x - d] : T(0));
        which = !which;
        __syncthreads();
    }
    v[blockIdx.x * N + threadIdx.x] = s[which][threadIdx.x];
    if (threadIdx.x == N - 1) sums[blockIdx.x] = s[which][N - 1];
}
template <typename T, int N> __global__ void scan_tree(T *v) {
    __shared__ T s[2 * N];
    int t = threadIdx.x, offset = 1;
    s[2 * t] = v[2 * t], s[2 * t + 1] = v[2 * t + 1];
    for (int d = N; d; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    }
    if (t == 0) s[2 * N - 1] = 0;
    for (int d = 1; d < 2 * N; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            T x = s[offset * (2 * t + 1) - 1];
            s[offset * (2 * t + 1) - 1] = s[offset * (2 * t + 2) - 1];
            s[offset * (2 * t + 2) - 1] += x;
        }
    }
    __syncthreads();
    v[2 * t] = s[2 * t], v[2 * t + 1] = s[2 * t + 1];
}
template <typename T, int N> __global__ void reduce(const T *v, T *out, int n) {
    __shared__ T s[N / 32];
    T x = 0;
#pragma unroll 4
    for (int i = blockIdx.x * N + threadIdx.x; i < n; i += gridDim.x * N) x += v[i];
    for (int d = 16; d; d >>= 1) x += __shfl_down_sync(~0u, x, d);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = threadIdx.x < N / 32 ? s[threadIdx.x] : T(0);
        for (int d = N / 64; d; d >>= 1) x += __shfl_down_sync(~0u, x, d);
        if (threadIdx.x == 0) out[blockIdx.x] = x;
    }
}
template <typename T, int N> __global__ void reduce_volatile(const T *v, T *out) {
    __shared__ volatile T s[N];
    int t = threadIdx.x;
    s[t] = v[blockIdx.x * N + t];
    __syncthreads();
    for (int d = N / 2; d >= 32; d >>= 1) {
        if (t < d) s[t] = s[t] + s[t + d];
        __syncthreads();
    }
    if (t < 16)
        for (int d = 16; d; d >>= 1) {
            T x = s[t] + s[t + d];
            __syncwarp(0xffff);
            s[t] = x;
            __syncwarp(0xffff);
        }
    if (t == 0) out[blockIdx.x] = s[0];
}
template <typename T> __global__ void merge_path(const T *a, const T *b, T *c, int n, int m, int per) {
    int d = (blockIdx.x * blockDim.x + threadIdx.x) * per;
    int low = max(0, d - m), high = min(d, n);
    while (low < high) {
        int mid = (low + high) / 2;
        if (a[mid] <= b[d - 1 - mid]) low = mid + 1;
        else high = mid;
    }
    for (int i = low, j = d - low, k = 0; k < per && d + k < n + m; k++) c[d + k] = j >= m || (i < n && a[i] <= b[j]) ? a[i++] : b[j++];
}
template <typename T> void *all() {
    static void *list[] = {(void *)bitonic<T, 256>, (void *)bitonic<T, 1024>, (void *)network<T, 4>, (void *)network<T, 8>, (void *)network<T, 15>, (void *)warp_bitonic<T>,
                           (void *)scan_block<T, 256>, (void *)scan_tree<T, 128>, (void *)reduce<T, 128>, (void *)reduce<T, 512>, (void *)reduce_volatile<T, 256>, (void *)merge_path<T>};
    return list;
}
void *use[] = {all<int>(), all<float>(), all<double>(), all<unsigned long long>(), (void *)radix_pass<4>, (void *)radix_pass<8>};
