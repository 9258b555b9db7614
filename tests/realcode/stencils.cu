// about: stencils and convolutions over shared memory
template <typename T, int R> __global__ void line(const T *in, T *out, int n) {
    __shared__ T s[256 + 2 * R];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x + R] = i < n ? in[i] : T(0);
    if (threadIdx.x < R) {
        s[threadIdx.x] = i >= R ? in[i - R] : T(0);
        s[threadIdx.x + 256 + R] = i + 256 < n ? in[i + 256] : T(0);
    }
    __syncthreads();
    T sum = 0;
    for (int k = -R; k <= R; k++) sum += s[threadIdx.x + R + k] * T(k * k + 1);
    if (i < n) out[i] = sum;
}
template <typename T, int W> __global__ void plane(const T *in, T *out, int w, int h) {
    __shared__ T s[W + 2][W + 2];
    int x = blockIdx.x * W + threadIdx.x, y = blockIdx.y * W + threadIdx.y;
    auto at = [&](int i, int j) { return i >= 0 && j >= 0 && i < w && j < h ? in[j * w + i] : T(0); };
    s[threadIdx.y + 1][threadIdx.x + 1] = at(x, y);
    if (threadIdx.x == 0) s[threadIdx.y + 1][0] = at(x - 1, y), s[threadIdx.y + 1][W + 1] = at(x + W, y);
    if (threadIdx.y == 0) s[0][threadIdx.x + 1] = at(x, y - 1), s[W + 1][threadIdx.x + 1] = at(x, y + W);
    __syncthreads();
    if (x < w && y < h)
        out[y * w + x] = (s[threadIdx.y][threadIdx.x + 1] + s[threadIdx.y + 2][threadIdx.x + 1] + s[threadIdx.y + 1][threadIdx.x] + s[threadIdx.y + 1][threadIdx.x + 2] -
                          4 * s[threadIdx.y + 1][threadIdx.x + 1]) / 3;
}
template <typename T> __global__ void volume(const T *in, T *out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    int stride = nx * ny, i = y * nx + x + stride;
    T below = in[i - stride], here = in[i];
    for (int z = 1; z < nz - 1; z++, i += stride) {
        T above = in[i + stride];
        out[i] = T(0.4) * here + T(0.1) * (below + above + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx]);
        below = here;
        here = above;
    }
}
__constant__ float weights[17 * 17];
template <int R> __global__ void filter(const float *in, float *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int j = -R; j <= R; j++)
#pragma unroll
        for (int i = -R; i <= R; i++) sum += weights[(j + R) * (2 * R + 1) + i + R] * in[min(max(y + j, 0), h - 1) * w + min(max(x + i, 0), w - 1)];
    out[y * w + x] = sum;
}
template <typename T> __global__ void median(const T *in, T *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= w - 1 || y >= h - 1) return;
    T v[9];
    for (int k = 0; k < 9; k++) v[k] = in[(y + k / 3 - 1) * w + x + k % 3 - 1];
#pragma unroll
    for (int i = 0; i < 5; i++)
#pragma unroll
        for (int j = i + 1; j < 9; j++)
            if (v[j] < v[i]) {
                T t = v[i];
                v[i] = v[j];
                v[j] = t;
            }
    out[y * w + x] = v[4];
}
__global__ void life(const unsigned char *in, unsigned char *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) n += in[(y + j + h) % h * w + (x + i + w) % w];
    unsigned char c = in[y * w + x];
    out[y * w + x] = n == 3 || (c && n == 4);
}
template <typename T> void *all() {
    static void *list[] = {(void *)line<T, 1>, (void *)line<T, 4>, (void *)line<T, 9>, (void *)plane<T, 16>, (void *)plane<T, 32>, (void *)volume<T>, (void *)median<T>};
    return list;
}
void *use[] = {all<int>(), all<float>(), all<double>(), all<short>(), (void *)filter<1>, (void *)filter<3>, (void *)filter<8>};
