// about: lattice Boltzmann, finite volumes, waves, transforms by hand: long straight-line kernels
template <typename T> __global__ void lattice2(const T *in, T *out, int w, int h, T omega) {
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const T wt[9] = {T(4) / 9, T(1) / 9, T(1) / 9, T(1) / 9, T(1) / 9, T(1) / 36, T(1) / 36, T(1) / 36, T(1) / 36};
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = w * h;
    if (x >= w || y >= h) return;
    T f[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int i = 0; i < 9; i++) {
        f[i] = in[i * n + (y - cy[i] + h) % h * w + (x - cx[i] + w) % w];
        rho += f[i], ux += cx[i] * f[i], uy += cy[i] * f[i];
    }
    ux /= rho, uy /= rho;
    T u2 = T(1.5) * (ux * ux + uy * uy);
#pragma unroll
    for (int i = 0; i < 9; i++) {
        T cu = 3 * (cx[i] * ux + cy[i] * uy);
        out[i * n + y * w + x] = f[i] + omega * (wt[i] * rho * (1 + cu + T(0.5) * cu * cu - u2) - f[i]);
    }
}
template <typename T> __global__ void lattice3(const T *in, T *out, const unsigned char *wall, int nx, int ny, int nz, T omega) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z, n = nx * ny * nz, at = (z * ny + y) * nx + x;
    if (x >= nx) return;
    T f[27], rho = 0, u[3] = {};
#pragma unroll
    for (int i = 0; i < 27; i++) {
        int c[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
        f[i] = in[i * n + ((z - c[2] + nz) % nz * ny + (y - c[1] + ny) % ny) * nx + (x - c[0] + nx) % nx];
        rho += f[i];
        for (int d = 0; d < 3; d++) u[d] += c[d] * f[i];
    }
    if (wall[at]) {
#pragma unroll
        for (int i = 0; i < 27; i++) out[i * n + at] = f[26 - i];
        return;
    }
    for (T &v : u) v /= rho;
    T u2 = T(1.5) * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
#pragma unroll
    for (int i = 0; i < 27; i++) {
        int c[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1}, k = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
        T w = k == 0 ? T(8) / 27 : k == 1 ? T(2) / 27 : k == 2 ? T(1) / 54 : T(1) / 216, cu = 3 * (c[0] * u[0] + c[1] * u[1] + c[2] * u[2]);
        out[i * n + at] = f[i] + omega * (w * rho * (1 + cu + T(0.5) * cu * cu - u2) - f[i]);
    }
}
template <typename T> struct State { T rho, mx, my, e; };
template <typename T> __device__ T pressure(State<T> s) { return T(0.4) * (s.e - T(0.5) * (s.mx * s.mx + s.my * s.my) / s.rho); }
template <typename T> __device__ State<T> flux(State<T> a, State<T> b) {
    T pa = pressure(a), pb = pressure(b), ua = a.mx / a.rho, ub = b.mx / b.rho, ca = sqrt(T(1.4) * pa / a.rho), cb = sqrt(T(1.4) * pb / b.rho);
    T sl = fmin(ua - ca, ub - cb), sr = fmax(ua + ca, ub + cb);
    State<T> fa = {a.mx, a.mx * ua + pa, a.my * ua, (a.e + pa) * ua}, fb = {b.mx, b.mx * ub + pb, b.my * ub, (b.e + pb) * ub};
    if (sl >= 0) return fa;
    if (sr <= 0) return fb;
    T d = 1 / (sr - sl);
    return {(sr * fa.rho - sl * fb.rho + sl * sr * (b.rho - a.rho)) * d, (sr * fa.mx - sl * fb.mx + sl * sr * (b.mx - a.mx)) * d, (sr * fa.my - sl * fb.my + sl * sr * (b.my - a.my)) * d,
            (sr * fa.e - sl * fb.e + sl * sr * (b.e - a.e)) * d};
}
template <typename T> __global__ void euler(const State<T> *in, State<T> *out, int w, int h, T dt) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x >= w - 1 || y >= h - 1) return;
    State<T> c = in[y * w + x], l = flux(in[y * w + x - 1], c), r = flux(c, in[y * w + x + 1]);
    auto turn = [](State<T> s) { return State<T>{s.rho, s.my, s.mx, s.e}; };
    State<T> d = turn(flux(turn(in[(y - 1) * w + x]), turn(c))), u = turn(flux(turn(c), turn(in[(y + 1) * w + x])));
    out[y * w + x] = {c.rho + dt * (l.rho - r.rho + d.rho - u.rho), c.mx + dt * (l.mx - r.mx + d.mx - u.mx), c.my + dt * (l.my - r.my + d.my - u.my), c.e + dt * (l.e - r.e + d.e - u.e)};
}
template <typename T> __global__ void waves(T *ex, T *ey, T *hz, const T *eps, int w, int h, int phase) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * w + x;
    if (x >= w - 1 || y >= h - 1) return;
    if (phase == 0) {
        if (y) ex[i] += T(0.5) / eps[i] * (hz[i] - hz[i - w]);
        if (x) ey[i] -= T(0.5) / eps[i] * (hz[i] - hz[i - 1]);
    } else hz[i] += T(0.5) * (ex[i + w] - ex[i] - ey[i + 1] + ey[i]);
}
template <typename T, int N> __global__ void fourier(T *re, T *im) {
    T a[N], b[N];
#pragma unroll
    for (int i = 0; i < N; i++) a[i] = re[i * blockDim.x + threadIdx.x], b[i] = im[i * blockDim.x + threadIdx.x];
#pragma unroll
    for (int len = N / 2; len; len /= 2)
#pragma unroll
        for (int base = 0; base < N; base += 2 * len)
#pragma unroll
            for (int i = 0; i < len; i++) {
                T ar = a[base + i], ai = b[base + i], br = a[base + i + len], bi = b[base + i + len], s, c;
                sincospi(T(-i) / len, &s, &c);
                a[base + i] = ar + br, b[base + i] = ai + bi;
                T dr = ar - br, di = ai - bi;
                a[base + i + len] = dr * c - di * s, b[base + i + len] = dr * s + di * c;
            }
#pragma unroll
    for (int i = 0; i < N; i++) re[i * blockDim.x + threadIdx.x] = a[i], im[i * blockDim.x + threadIdx.x] = b[i];
}
__global__ void cosine8(const short *in, short *out, const float *table) {
    __shared__ float s[8][9];
    int x = threadIdx.x, y = threadIdx.y;
    float v[8], sum = 0;
    for (int i = 0; i < 8; i++) v[i] = in[blockIdx.x * 64 + y * 8 + i] - 128;
    for (int i = 0; i < 8; i++) sum += v[i] * cospif((2 * i + 1) * x / 16.f);
    s[y][x] = sum * (x ? 0.5f : 0.353553f);
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 8; i++) sum += s[i][x] * cospif((2 * i + 1) * y / 16.f);
    out[blockIdx.x * 64 + y * 8 + x] = (short)rintf(sum * (y ? 0.5f : 0.353553f) / table[y * 8 + x]);
}
__global__ void wavelet(const float *in, float *low, float *high, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i + 3 >= n) return;
    float a = in[2 * i], b = in[2 * i + 1], c = in[2 * i + 2], d = in[2 * i + 3];
    low[i] = 0.4829629f * a + 0.8365163f * b + 0.2241439f * c - 0.1294095f * d;
    high[i] = -0.1294095f * a - 0.2241439f * b + 0.8365163f * c - 0.4829629f * d;
}
template <typename T> void *all() {
    static void *list[] = {(void *)lattice2<T>, (void *)lattice3<T>, (void *)euler<T>, (void *)waves<T>, (void *)fourier<T, 4>, (void *)fourier<T, 16>, (void *)fourier<T, 32>};
    return list;
}
void *use[] = {all<float>(), all<double>()};
