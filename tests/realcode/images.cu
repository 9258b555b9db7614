// about: textures and surfaces of all dimensions
template <typename T> __global__ void tex_1d(cudaTextureObject_t t, T *out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tex1Dfetch<T>(t, i);
}
template <typename T> __global__ void tex_2d(cudaTextureObject_t t, T *out, int w, float s) {
    out[threadIdx.y * w + threadIdx.x] = tex2D<T>(t, threadIdx.x * s, threadIdx.y * s);
}
template <typename T> __global__ void tex_3d(cudaTextureObject_t t, T *out, float s) { out[threadIdx.x] = tex3D<T>(t, threadIdx.x * s, s, threadIdx.x * 2 * s); }
template <typename T> __global__ void tex_layered(cudaTextureObject_t t, T *out, float s) { out[threadIdx.x] = tex2DLayered<T>(t, threadIdx.x * s, s, threadIdx.x & 3); }
template <typename T> __global__ void tex_cube(cudaTextureObject_t t, T *out, float s) { out[threadIdx.x] = texCubemap<T>(t, threadIdx.x * s, s, -s); }
template <typename T> __global__ void tex_level(cudaTextureObject_t t, T *out, float s) {
    out[threadIdx.x] = tex2DLod<T>(t, threadIdx.x * s, s, 1.5f);
    out[threadIdx.x + 32] = tex2DGrad<T>(t, threadIdx.x * s, s, make_float2(s, 0), make_float2(0, s));
}
template <typename T> __global__ void surfaces(cudaSurfaceObject_t s, cudaSurfaceObject_t d, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    T v;
    surf2Dread(&v, s, x * (int)sizeof(T), y, cudaBoundaryModeClamp);
    surf2Dwrite(v, d, (w - 1 - x) * (int)sizeof(T), y, cudaBoundaryModeZero);
    surf1Dread(&v, s, x * (int)sizeof(T), cudaBoundaryModeTrap);
    surf3Dwrite(v, d, x * (int)sizeof(T), y, 2, cudaBoundaryModeTrap);
    surf2DLayeredwrite(v, d, x * (int)sizeof(T), y, 1, cudaBoundaryModeClamp);
}
__global__ void bilateral(cudaTextureObject_t t, float *out, int w, int h, float sigma) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float c = tex2D<float>(t, x + 0.5f, y + 0.5f), sum = 0, weight = 0;
    for (int j = -3; j <= 3; j++)
        for (int i = -3; i <= 3; i++) {
            float v = tex2D<float>(t, x + i + 0.5f, y + j + 0.5f), d = v - c, g = __expf(-(i * i + j * j + d * d) * sigma);
            sum += v * g, weight += g;
        }
    if (x < w && y < h) out[y * w + x] = sum / weight;
}
__global__ void gathered(cudaTextureObject_t t, float4 *out, float s) { out[threadIdx.x] = tex2Dgather<float4>(t, threadIdx.x * s, s, 2); }
__global__ void march(cudaTextureObject_t t, float4 *out, int w, float step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float4 sum = {0, 0, 0, 0};
    for (float z = 0; z < 1 && sum.w < 0.95f; z += step) {
        float4 c = tex3D<float4>(t, x * step, y * step, z);
        float a = c.w * (1 - sum.w);
        sum.x += c.x * a, sum.y += c.y * a, sum.z += c.z * a, sum.w += a;
    }
    out[y * w + x] = sum;
}
#define EACH(T)                                                                   \
    template __global__ void tex_1d<T>(cudaTextureObject_t, T *, int);            \
    template __global__ void tex_2d<T>(cudaTextureObject_t, T *, int, float);     \
    template __global__ void tex_3d<T>(cudaTextureObject_t, T *, float);          \
    template __global__ void tex_layered<T>(cudaTextureObject_t, T *, float);     \
    template __global__ void tex_cube<T>(cudaTextureObject_t, T *, float);        \
    template __global__ void tex_level<T>(cudaTextureObject_t, T *, float);       \
    template __global__ void surfaces<T>(cudaSurfaceObject_t, cudaSurfaceObject_t, int, int);
EACH(float) EACH(int) EACH(uchar4) EACH(float2) EACH(float4) EACH(short2) EACH(unsigned char)
