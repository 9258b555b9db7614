#pragma once
namespace physics {
__device__ float3 integrate(float3 value, float3 change, float dt);
__device__ float stiffness(float k);
using Shader = float (*)(float);
__device__ Shader shader(int kind);
}
namespace tree {
struct Node { int left, right; float value; };
__device__ float depth(const Node *nodes, int at);
}
