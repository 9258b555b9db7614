// about: n-body forces, cell lists, molecular potentials, Monte-Carlo paths, mandelbrot, ray casting
#include <cstdint>
template <typename T> struct Body { T x, y, z, m; };
template <typename T, int N> __global__ void forces(const Body<T> *b, T *f, int n) {
    __shared__ Body<T> s[N];
    int i = blockIdx.x * N + threadIdx.x;
    Body<T> me = b[min(i, n - 1)];
    T fx = 0, fy = 0, fz = 0;
    for (int tile = 0; tile < n; tile += N) {
        s[threadIdx.x] = b[min(tile + (int)threadIdx.x, n - 1)];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < N; j++) {
            T dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z;
            T r = rsqrt(dx * dx + dy * dy + dz * dz + T(1e-4)), g = s[j].m * r * r * r;
            fx += dx * g, fy += dy * g, fz += dz * g;
        }
        __syncthreads();
    }
    if (i < n) f[i * 3] = fx, f[i * 3 + 1] = fy, f[i * 3 + 2] = fz;
}
template <typename T> __global__ void cells(const Body<T> *b, const int *start, const int *item, T *energy, int n, int side) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body<T> me = b[i];
    int cx = (int)me.x, cy = (int)me.y, cz = (int)me.z;
    T e = 0;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int c = ((cz + dz + side) % side * side + (cy + dy + side) % side) * side + (cx + dx + side) % side;
                for (int k = start[c]; k < start[c + 1]; k++) {
                    if (item[k] == i) continue;
                    Body<T> o = b[item[k]];
                    T d = (o.x - me.x) * (o.x - me.x) + (o.y - me.y) * (o.y - me.y) + (o.z - me.z) * (o.z - me.z);
                    if (d < T(1)) {
                        T s = T(1) / (d * d * d);
                        e += 4 * (s * s - s) + me.m * o.m * sqrt(T(1) / d) * exp(-d);
                    }
                }
            }
    energy[i] = e;
}
template <typename T> __global__ void mandelbrot(int *out, int w, int h, T cx, T cy, T scale, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    T a = cx + px * scale, b = cy + py * scale, x = 0, y = 0;
    int n = 0;
    while (n < limit && x * x + y * y < T(4)) {
        T t = x * x - y * y + a;
        y = 2 * x * y + b;
        x = t;
        n++;
    }
    if (px < w && py < h) out[py * w + px] = n;
}
template <typename T> __global__ void options(const T *spot, const T *strike, const T *years, T *call, T *put, T rate, T sigma, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T q = sqrt(years[i]), d1 = (log(spot[i] / strike[i]) + (rate + sigma * sigma / 2) * years[i]) / (sigma * q), d2 = d1 - sigma * q;
    T n1 = T(0.5) * erfc(-d1 * T(0.70710678)), n2 = T(0.5) * erfc(-d2 * T(0.70710678)), e = strike[i] * exp(-rate * years[i]);
    call[i] = spot[i] * n1 - e * n2;
    put[i] = e * (1 - n2) - spot[i] * (1 - n1);
}
struct Ray { float o[3], d[3]; };
struct Ball { float c[3], r; int material; };
__global__ void trace(const Ray *rays, const Ball *balls, float *out, int n, int count, int bounces) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Ray r = rays[i];
    float light = 1, total = 0;
    for (int b = 0; b < bounces; b++) {
        float best = 1e30f;
        int hit = -1;
        for (int k = 0; k < count; k++) {
            float ox = r.o[0] - balls[k].c[0], oy = r.o[1] - balls[k].c[1], oz = r.o[2] - balls[k].c[2];
            float p = ox * r.d[0] + oy * r.d[1] + oz * r.d[2], q = ox * ox + oy * oy + oz * oz - balls[k].r * balls[k].r, d = p * p - q;
            if (d < 0) continue;
            float t = -p - sqrtf(d);
            if (t > 1e-3f && t < best) best = t, hit = k;
        }
        if (hit < 0) {
            total += light * fmaxf(0.f, r.d[1]);
            break;
        }
        float normal[3], dot = 0;
        for (int k = 0; k < 3; k++) {
            r.o[k] += best * r.d[k];
            normal[k] = (r.o[k] - balls[hit].c[k]) / balls[hit].r;
            dot += normal[k] * r.d[k];
        }
        switch (balls[hit].material) {
        case 0: for (int k = 0; k < 3; k++) r.d[k] -= 2 * dot * normal[k]; light *= 0.9f; break;
        case 1: total += light * 0.3f; for (int k = 0; k < 3; k++) r.d[k] = normal[k]; light *= 0.5f; break;
        default: {
            float eta = dot < 0 ? 0.66f : 1.5f, k2 = 1 - eta * eta * (1 - dot * dot);
            for (int k = 0; k < 3; k++) r.d[k] = k2 < 0 ? r.d[k] - 2 * dot * normal[k] : eta * r.d[k] - (eta * dot + sqrtf(k2)) * normal[k];
        }
        }
    }
    out[i] = total;
}
template <typename T, int N> __global__ void runge_kutta(T *state, T h, int steps) {
    T y[N], k1[N], k2[N], k3[N], k4[N], t[N];
    for (int i = 0; i < N; i++) y[i] = state[i * 256 + threadIdx.x];
    auto f = [](const T *y, T *d) {
        for (int i = 0; i < N; i++) d[i] = (y[(i + 1) % N] - y[(i + N - 2) % N]) * y[(i + N - 1) % N] - y[i] + T(8);
    };
    for (int s = 0; s < steps; s++) {
        f(y, k1);
        for (int i = 0; i < N; i++) t[i] = y[i] + h / 2 * k1[i];
        f(t, k2);
        for (int i = 0; i < N; i++) t[i] = y[i] + h / 2 * k2[i];
        f(t, k3);
        for (int i = 0; i < N; i++) t[i] = y[i] + h * k3[i];
        f(t, k4);
        for (int i = 0; i < N; i++) y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
    for (int i = 0; i < N; i++) state[i * 256 + threadIdx.x] = y[i];
}
template <typename T> void *all() {
    static void *list[] = {(void *)forces<T, 64>, (void *)forces<T, 256>, (void *)cells<T>, (void *)mandelbrot<T>, (void *)options<T>, (void *)runge_kutta<T, 5>, (void *)runge_kutta<T, 12>};
    return list;
}
void *use[] = {all<float>(), all<double>()};
