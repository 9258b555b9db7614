// about: transposes, hand-written multiplications, factorizations and solvers in shared memory and registers
template <typename T, int W> __global__ void transpose(const T *in, T *out, int w, int h) {
    __shared__ T s[W][W + 1];
    int x = blockIdx.x * W + threadIdx.x, y = blockIdx.y * W + threadIdx.y;
    for (int j = 0; j < W; j += 8)
        if (x < w && y + j < h) s[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * W + threadIdx.x, y = blockIdx.x * W + threadIdx.y;
    for (int j = 0; j < W; j += 8)
        if (x < h && y + j < w) out[(y + j) * h + x] = s[threadIdx.x][threadIdx.y + j];
}
template <typename T, int B, int R> __global__ void multiply(const T *a, const T *b, T *c, int n) {
    __shared__ T sa[B * R][B], sb[B][B * R];
    T acc[R][R] = {};
    int row = blockIdx.y * B * R, column = blockIdx.x * B * R;
    for (int k = 0; k < n; k += B) {
#pragma unroll
        for (int r = 0; r < R; r++) {
            sa[threadIdx.y + r * B][threadIdx.x] = a[(row + threadIdx.y + r * B) * n + k + threadIdx.x];
            sb[threadIdx.y][threadIdx.x + r * B] = b[(k + threadIdx.y) * n + column + threadIdx.x + r * B];
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < B; j++)
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int q = 0; q < R; q++) acc[r][q] += sa[threadIdx.y + r * B][j] * sb[j][threadIdx.x + q * B];
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int q = 0; q < R; q++) c[(row + threadIdx.y + r * B) * n + column + threadIdx.x + q * B] = acc[r][q];
}
template <typename T, int N> __global__ void cholesky(T *m) {
    __shared__ T s[N][N + 1];
    int i = threadIdx.x;
    for (int j = 0; j < N; j++) s[j][i] = m[(blockIdx.x * N + j) * N + i];
    __syncthreads();
    for (int k = 0; k < N; k++) {
        if (i == k) s[k][k] = sqrt(s[k][k]);
        __syncthreads();
        if (i > k) s[i][k] /= s[k][k];
        __syncthreads();
        for (int j = k + 1; j <= i; j++) s[i][j] -= s[i][k] * s[j][k];
        __syncthreads();
    }
    for (int j = 0; j < N; j++) m[(blockIdx.x * N + j) * N + i] = i <= j ? s[j][i] : T(0);
}
template <typename T, int N> __global__ void solve(const T *m, T *b) {
    T a[N][N], x[N];
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * N;
    for (int i = 0; i < N; i++) {
        x[i] = b[base + i];
        for (int j = 0; j < N; j++) a[i][j] = m[(base + i) * N + j];
    }
#pragma unroll
    for (int k = 0; k < N; k++)
#pragma unroll
        for (int i = k + 1; i < N; i++) {
            T f = a[i][k] / a[k][k];
            x[i] -= f * x[k];
#pragma unroll
            for (int j = k; j < N; j++) a[i][j] -= f * a[k][j];
        }
#pragma unroll
    for (int i = N - 1; i >= 0; i--) {
#pragma unroll
        for (int j = i + 1; j < N; j++) x[i] -= a[i][j] * x[j];
        x[i] /= a[i][i];
    }
    for (int i = 0; i < N; i++) b[base + i] = x[i];
}
template <typename T, int N> __global__ void pivoted(T *m, int *order) {
    __shared__ T s[N][N];
    __shared__ int p;
    int i = threadIdx.x;
    for (int j = 0; j < N; j++) s[j][i] = m[j * N + i];
    __syncthreads();
    for (int k = 0; k < N; k++) {
        if (i == 0) {
            p = k;
            for (int r = k + 1; r < N; r++)
                if (fabs(s[r][k]) > fabs(s[p][k])) p = r;
            order[k] = p;
        }
        __syncthreads();
        T t = s[k][i];
        s[k][i] = s[p][i];
        s[p][i] = t;
        __syncthreads();
        if (i > k) {
            T f = s[i][k] / s[k][k];
            s[i][k] = f;
            for (int j = k + 1; j < N; j++) s[i][j] -= f * s[k][j];
        }
        __syncthreads();
    }
    for (int j = 0; j < N; j++) m[j * N + i] = s[j][i];
}
template <typename T> __global__ void jacobi_eigen(T *m, int sweeps) {
    T a = m[threadIdx.x * 6], b = m[threadIdx.x * 6 + 1], c = m[threadIdx.x * 6 + 2], d = m[threadIdx.x * 6 + 3], e = m[threadIdx.x * 6 + 4], f = m[threadIdx.x * 6 + 5];
    auto rotate = [](T &p, T &q, T &off, T &u, T &v) {
        if (fabs(off) < T(1e-12)) return;
        T th = (q - p) / (2 * off), t = (th >= 0 ? T(1) : T(-1)) / (fabs(th) + sqrt(th * th + 1)), c = T(1) / sqrt(t * t + 1), s = t * c;
        p -= t * off, q += t * off, off = 0;
        T w = c * u - s * v;
        v = s * u + c * v, u = w;
    };
    for (int i = 0; i < sweeps; i++) rotate(a, b, d, e, f), rotate(a, c, e, d, f), rotate(b, c, f, d, e);
    m[threadIdx.x * 6] = a, m[threadIdx.x * 6 + 1] = b, m[threadIdx.x * 6 + 2] = c;
}
template <typename T> __global__ void tridiagonal(const T *l, const T *d, const T *u, const T *b, T *x, T *scratch, int n, int systems) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems) return;
    T w = d[s];
    x[s] = b[s] / w;
    for (int i = 1; i < n; i++) {
        int k = i * systems + s;
        scratch[k] = u[k - systems] / w;
        w = d[k] - l[k] * scratch[k];
        x[k] = (b[k] - l[k] * x[k - systems]) / w;
    }
    for (int i = n - 2; i >= 0; i--) x[i * systems + s] -= scratch[(i + 1) * systems + s] * x[(i + 1) * systems + s];
}
template <typename T> void *all() {
    static void *list[] = {(void *)transpose<T, 32>, (void *)transpose<T, 16>, (void *)multiply<T, 16, 1>, (void *)multiply<T, 16, 2>, (void *)multiply<T, 8, 4>, (void *)cholesky<T, 16>,
                           (void *)cholesky<T, 32>, (void *)solve<T, 2>, (void *)solve<T, 3>, (void *)solve<T, 5>, (void *)pivoted<T, 32>, (void *)jacobi_eigen<T>, (void *)tridiagonal<T>};
    return list;
}
void *use[] = {all<float>(), all<double>()};
void *more[] = {(void *)transpose<char, 32>, (void *)transpose<short, 32>, (void *)transpose<float4, 16>, (void *)multiply<int, 16, 2>, (void *)multiply<long long, 16, 2>};
