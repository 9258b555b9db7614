// about: control flow: nested loops with several exits, jumps into loops, divergence, early returns, unrolling
template <int N> __global__ void exits(const int *v, int *out, int n, int m) {
    int found = -1, steps = 0;
    for (int i = threadIdx.x; i < n; i += N) {
        for (int j = 0; j < m; j++) {
            steps++;
            if (v[i * m + j] == 0) goto next;
            if (v[i * m + j] < 0) goto done;
            if (v[i * m + j] > 1000) {
                found = j;
                break;
            }
            for (int k = v[j]; k > 0; k /= 3) {
                if (k == 81) continue;
                if (k % 7 == 5) goto next;
                steps += k & 1;
            }
        }
        if (found >= 0) break;
    next:;
    }
done:
    out[threadIdx.x] = found * 1000 + steps;
}
__global__ void irreducible(int *v, int n) {
    int x = v[threadIdx.x], i = 0;
    if (x & 1) goto second;
first:
    x = x * 3 + 1;
    i++;
    if (i > n) goto out;
    if (x & 4) goto first;
second:
    x = x / 2 + i;
    i += 2;
    if (i < n) goto first;
    if (x & 8) goto second;
out:
    v[threadIdx.x] = x;
}
__global__ void collatz(const unsigned long long *in, int *out, int limit) {
    unsigned long long x = in[blockIdx.x * blockDim.x + threadIdx.x];
    int n = 0;
    while (x != 1 && n < limit) {
        x = x & 1 ? 3 * x + 1 : x >> 1;
        n++;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = n;
}
__device__ int classify(int x, int y, int z) {
    if (x < 0) return y < 0 ? (z < 0 ? 1 : 2) : (z < 0 ? 3 : 4);
    if (y > 100) {
        if (z > 100) return 5;
        return x > 100 ? 6 : 7;
    }
    if (x == y) return z == x ? 8 : 9;
    return (x ^ y ^ z) & 1 ? 10 : 11;
}
__global__ void tree(const int *v, int *out, int n) {
    for (int i = threadIdx.x; i + 2 < n; i += blockDim.x) {
        int c = classify(v[i], v[i + 1], v[i + 2]);
        if (c == 8) return;
        if (c > 5) out[i] = c * v[i];
        else if (c > 2) out[i] = c - v[i + 1];
        else __syncwarp(__activemask());
    }
}
template <int D> __global__ void nest(float *v, int n) {
    float s = 0;
    for (int a = 0; a < n; a++) {
        s += v[a];
        if constexpr (D > 1)
            for (int b = a; b < n; b++) {
                s *= 1 + v[b] * 1e-3f;
                if constexpr (D > 2)
                    for (int c = b; c < n; c += 2) {
                        s += v[c] > s ? v[c] : -s;
                        if constexpr (D > 3)
                            for (int d = c; d > 0; d >>= 1) s -= v[d] / (d + 1);
                    }
            }
    }
    v[threadIdx.x] = s;
}
template <int U> __global__ void unrolled(const float *a, const float *b, float *c, int n) {
    float s = 0;
#pragma unroll U
    for (int i = threadIdx.x; i < n; i += 128) {
        float x = a[i], y = b[i];
        s += x > y ? sqrtf(x - y) : x * y;
        if (s > 1e6f) s = 0;
        c[i] = s;
    }
}
template <int N> __global__ void predicated(int *v) {
    int x = v[threadIdx.x], r = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (x & (1 << i)) r += i * i + v[i];
        else if (x > i * 10) r ^= i;
        if ((x + i) % 3 == 0 && r > i) v[threadIdx.x + i * 32] = r;
    }
    v[threadIdx.x] = r;
}
__global__ void binary_search(const float *sorted, const float *keys, int *out, int n, int m) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x) {
        int low = 0, high = n;
        while (low < high) {
            int mid = low + (high - low) / 2;
            if (sorted[mid] < keys[i]) low = mid + 1;
            else high = mid;
        }
        out[i] = low < n && sorted[low] == keys[i] ? low : ~low;
    }
}
__global__ void divergent(int *v) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = v[t];
    __syncthreads();
    if (t % 32 < 8) {
        for (int i = 0; i < t; i++) s[t] += s[(t + i) % 128] & 1;
        __syncwarp(0xff);
    } else if (t % 32 < 20) {
        do s[t] -= t;
        while (s[t] > 0);
        __syncwarp(0xfff00);
    } else {
        if (s[t] & 1) s[t] *= 3;
        else s[t] /= 2;
    }
    __syncthreads();
    v[t] = s[127 - t];
}
__global__ void queens(unsigned long long *total, int n) {
    unsigned stack[16][3], avail[16];
    int depth = 0;
    unsigned all = (1u << n) - 1, count = 0, first = threadIdx.x % n;
    stack[0][0] = 1u << first, stack[0][1] = 2u << first, stack[0][2] = 1u << first >> 1;
    avail[0] = all & ~(stack[0][0] | stack[0][1] | stack[0][2]);
    while (depth >= 0) {
        if (!avail[depth]) {
            depth--;
            continue;
        }
        unsigned bit = avail[depth] & -avail[depth];
        avail[depth] ^= bit;
        if (depth == n - 2) {
            count++;
            continue;
        }
        stack[depth + 1][0] = stack[depth][0] | bit, stack[depth + 1][1] = (stack[depth][1] | bit) << 1, stack[depth + 1][2] = (stack[depth][2] | bit) >> 1;
        depth++;
        avail[depth] = all & ~(stack[depth][0] | stack[depth][1] | stack[depth][2]);
    }
    atomicAdd(total, count);
}
template __global__ void exits<32>(const int *, int *, int, int);
template __global__ void exits<128>(const int *, int *, int, int);
template __global__ void nest<1>(float *, int);
template __global__ void nest<2>(float *, int);
template __global__ void nest<3>(float *, int);
template __global__ void nest<4>(float *, int);
template __global__ void unrolled<1>(const float *, const float *, float *, int);
template __global__ void unrolled<2>(const float *, const float *, float *, int);
template __global__ void unrolled<4>(const float *, const float *, float *, int);
template __global__ void unrolled<8>(const float *, const float *, float *, int);
template __global__ void unrolled<16>(const float *, const float *, float *, int);
template __global__ void predicated<4>(int *);
template __global__ void predicated<12>(int *);
template __global__ void predicated<24>(int *);
