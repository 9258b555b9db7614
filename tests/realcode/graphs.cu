// about: graphs, sparse matrices and hash tables
#include <cstdint>
__global__ void bfs(const int *row, const int *column, int *level, const int *queue, int *next, int *count, int n, int depth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = queue[i];
    for (int e = row[v]; e < row[v + 1]; e++)
        if (atomicCAS(&level[column[e]], -1, depth) == -1) next[atomicAdd(count, 1)] = column[e];
}
__global__ void bfs_warp(const int *row, const int *column, int *level, bool *changed, int n, int depth) {
    int v = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (v >= n || level[v] != depth) return;
    for (int e = row[v] + lane; e < row[v + 1]; e += 32)
        if (level[column[e]] < 0) level[column[e]] = depth + 1, *changed = true;
}
__global__ void components(const int *row, const int *column, volatile int *label, bool *changed, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int least = label[v];
    for (int e = row[v]; e < row[v + 1]; e++) least = min(least, label[column[e]]);
    while (label[least] != least) least = label[least];
    if (least < label[v]) label[v] = least, *changed = true;
}
__global__ void shortest(const int *row, const int *column, const float *w, float *d, int *changed, int n) {
    for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x)
        for (int e = row[v]; e < row[v + 1]; e++) {
            float t = d[v] + w[e];
            int old = atomicMin((int *)&d[column[e]], __float_as_int(t));
            if (__int_as_float(old) > t) atomicExch(changed, 1);
        }
}
template <typename T> __global__ void rank_page(const int *row, const int *column, const T *in, T *out, const int *degree, int n, T damping) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    T s = 0;
    for (int e = row[v]; e < row[v + 1]; e++) s += in[column[e]] / T(degree[column[e]]);
    out[v] = (1 - damping) / n + damping * s;
}
__global__ void triangles(const int *row, const int *column, unsigned long long *total, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long t = 0;
    if (v < n)
        for (int e = row[v]; e < row[v + 1]; e++) {
            int u = column[e], a = row[v], b = row[u];
            while (a < row[v + 1] && b < row[u + 1]) {
                int x = column[a], y = column[b];
                t += x == y;
                a += x <= y;
                b += y <= x;
            }
        }
    for (int d = 16; d; d >>= 1) t += __shfl_down_sync(~0u, t, d);
    if (threadIdx.x % 32 == 0) atomicAdd(total, t);
}
template <typename T, int L> __global__ void spmv_csr(const int *row, const int *column, const T *value, const T *x, T *y, int n) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / L, lane = threadIdx.x % L;
    T s = 0;
    if (r < n)
        for (int e = row[r] + lane; e < row[r + 1]; e += L) s += value[e] * x[column[e]];
    for (int d = L / 2; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    if (r < n && lane == 0) y[r] = s;
}
template <typename T> __global__ void spmv_ell(const int *column, const T *value, const T *x, T *y, int n, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    T s = 0;
    for (int k = 0; k < width; k++) {
        int c = __ldg(&column[k * n + r]);
        if (c >= 0) s += __ldg(&value[k * n + r]) * __ldg(&x[c]);
    }
    y[r] = s;
}
template <typename T> __global__ void spmv_coo(const int *r, const int *c, const T *v, const T *x, T *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&y[r[i]], v[i] * x[c[i]]);
}
__device__ uint32_t mix(uint32_t x) {
    x ^= x >> 16, x *= 0x85ebca6b, x ^= x >> 13, x *= 0xc2b2ae35;
    return x ^ x >> 16;
}
__device__ uint64_t mix(uint64_t x) {
    x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}
template <typename K, typename C, typename V> __global__ void insert(C *table, V *values, const K *keys, const V *in, unsigned mask, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (unsigned at = (unsigned)mix(keys[i]) & mask;; at = (at + 1) & mask) {
        C old = atomicCAS(&table[at], C(0), C(keys[i]));
        if (old == 0 || old == keys[i]) {
            values[at] = in[i];
            return;
        }
    }
}
template <typename K, typename C, typename V> __global__ void find(const C *table, const V *values, const K *keys, V *out, unsigned mask, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned at = (unsigned)mix(keys[i]) & mask, tries = 0;
        while (table[at] != keys[i] && table[at] != 0 && tries++ <= mask) at = (at + tries) & mask;
        out[i] = table[at] == keys[i] ? values[at] : V(-1);
    }
}
__global__ void cuckoo(unsigned long long *table, const unsigned *keys, unsigned size, int *failed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long item = (unsigned long long)keys[i] << 32 | i;
    unsigned at = mix(keys[i]) % size;
    for (int tries = 0; tries < 64; tries++) {
        item = atomicExch(&table[at], item);
        if (item == 0) return;
        unsigned key = item >> 32, a = mix(key) % size, b = mix(key ^ 0x9e3779b9u) % size;
        at = at == a ? b : a;
    }
    atomicAdd(failed, 1);
}
__global__ void list_push(int *heads, int *next, int *value, int *count, const int *in, int buckets, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int node = atomicAdd(count, 1);
    value[node] = in[i];
    next[node] = atomicExch(&heads[((in[i] % buckets) + buckets) % buckets], node);
}
template __global__ void rank_page<float>(const int *, const int *, const float *, float *, const int *, int, float);
template __global__ void rank_page<double>(const int *, const int *, const double *, double *, const int *, int, double);
#define SPMV(T)                                                                                                  \
    template __global__ void spmv_csr<T, 4>(const int *, const int *, const T *, const T *, T *, int);           \
    template __global__ void spmv_csr<T, 8>(const int *, const int *, const T *, const T *, T *, int);           \
    template __global__ void spmv_csr<T, 32>(const int *, const int *, const T *, const T *, T *, int);          \
    template __global__ void spmv_ell<T>(const int *, const T *, const T *, T *, int, int);                      \
    template __global__ void spmv_coo<T>(const int *, const int *, const T *, const T *, T *, int);
SPMV(float) SPMV(double)
template __global__ void insert<uint32_t, unsigned, int>(unsigned *, int *, const uint32_t *, const int *, unsigned, int);
template __global__ void insert<uint64_t, unsigned long long, double>(unsigned long long *, double *, const uint64_t *, const double *, unsigned, int);
template __global__ void find<uint32_t, unsigned, int>(const unsigned *, const int *, const uint32_t *, int *, unsigned, int);
template __global__ void find<uint64_t, unsigned long long, double>(const unsigned long long *, const double *, const uint64_t *, double *, unsigned, int);
