// A small program for the pictures of the report: particles on a grid, in three files.
#include "parts.h"

namespace sim {

template <class T, int Block>
__device__ __noinline__ T reduce(T value) {
    __shared__ T partial[Block];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int step = Block / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    return partial[0];
}

namespace forces {
__device__ __noinline__ float3 gravity(float3 a, float3 b, float mass) {
    float3 d = make_float3(b.x - a.x, b.y - a.y, b.z - a.z);
    float r = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z + 1e-3f);
    float f = mass * r * r * r;
    return make_float3(d.x * f, d.y * f, d.z * f);
}
__device__ __noinline__ float3 drag(float3 v) {
    float s = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
    return make_float3(-v.x * s, -v.y * s, -v.z * s);
}
__device__ float3 unused_spring(float3 a, float3 b, float k) { return gravity(a, b, k * physics::stiffness(k)); }
}  // namespace forces

__constant__ float masses[256];

template <int Block>
__global__ void step(float3 *position, float3 *velocity, float dt, int count) {
    int i = blockIdx.x * Block + threadIdx.x;
    if (i >= count) return;
    float3 sum = forces::drag(velocity[i]);
    for (int j = 0; j < count; j++) {
        float3 f = forces::gravity(position[i], position[j], masses[j & 255]);
        sum.x += f.x, sum.y += f.y, sum.z += f.z;
    }
    velocity[i] = physics::integrate(velocity[i], sum, dt);
    position[i] = physics::integrate(position[i], velocity[i], dt);
}

__global__ void energy(const float3 *velocity, double *total, int count) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float3 v = i < count ? velocity[i] : make_float3(0, 0, 0);
    double sum = reduce<double, 256>(0.5 * (v.x * v.x + v.y * v.y + v.z * v.z));
    if (threadIdx.x == 0) total[blockIdx.x] = sum;
}

template __global__ void step<128>(float3 *, float3 *, float, int);
template __global__ void step<256>(float3 *, float3 *, float, int);
}  // namespace sim
