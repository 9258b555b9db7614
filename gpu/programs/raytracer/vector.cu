#include "vector.cuh"
__device__ Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ Vector operator*(Vector a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ float dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ Vector normalized(Vector a) { return a * rsqrtf(dot(a, a)); }
