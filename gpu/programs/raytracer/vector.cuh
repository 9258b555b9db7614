#pragma once
struct Vector {
    float x, y, z;
};
__device__ Vector operator+(Vector a, Vector b);
__device__ Vector operator*(Vector a, float s);
__device__ float dot(Vector a, Vector b);
__device__ Vector normalized(Vector a);
struct Sphere {
    Vector centre;
    float radius, shine;
};
extern __constant__ Sphere spheres[3];
__device__ float intersect(const Sphere &sphere, Vector from, Vector along);
__device__ float trace(Vector from, Vector along, int depth);
