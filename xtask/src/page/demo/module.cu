// One of hundreds of files of a large program; MODXXXX and NXTXXXX become the names of this one and another.
namespace app {
namespace NXTXXXX { __device__ float f0(float x); }

namespace MODXXXX {
__constant__ float table[4];
template <class T> __device__ __noinline__ T scale(T x) { return x * T(table[3]) + T(1); }
__device__ __noinline__ float f2(float x) { return scale(x) * scale(double(x)); }
__device__ __noinline__ float f1(float x) { return f2(x) + sqrtf(x); }
__device__ float f0(float x) { return f1(x) * f2(x) + table[1]; }
__device__ float never_called(float x) { return f0(x) - 1.0f; }
__global__ void run(float *data) {
    __shared__ float tile[256];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = f0(tile[255 - threadIdx.x]) + NXTXXXX::f0(tile[threadIdx.x]);
}
}  // namespace MODXXXX
}  // namespace app
