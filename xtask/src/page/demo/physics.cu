#include "parts.h"

namespace physics {
__constant__ float coefficients[32];

__device__ float3 integrate(float3 value, float3 change, float dt) {
    float a = coefficients[0], b = coefficients[1];
    return make_float3(fmaf(change.x, dt * a, value.x * b), fmaf(change.y, dt * a, value.y * b), fmaf(change.z, dt * a, value.z * b));
}
__device__ float stiffness(float k) { return k * coefficients[2] + coefficients[3]; }

namespace shaders {
__device__ __noinline__ float lambert(float x) { return fmaxf(0.f, cosf(x)); }
__device__ __noinline__ float phong(float x) { return powf(fmaxf(0.f, cosf(x)), coefficients[4]); }
__device__ __noinline__ float noise(float x) {
    float sum = 0;
    for (int i = 5; i < 32; i++) sum += sinf(x * coefficients[i]) * expf(-x * i);
    return sum;
}
}  // namespace shaders
__device__ Shader shader(int kind) {
    return kind == 0 ? shaders::lambert : kind == 1 ? shaders::phong : shaders::noise;
}
__device__ float old_shader(float x) { return shaders::noise(x) * shaders::phong(x); }
}  // namespace physics
