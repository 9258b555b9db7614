#include "vector.cuh"
__constant__ Sphere spheres[3] = {{{0, 0, 5}, 1, 0.5f}, {{1.5f, 0.5f, 4}, 0.7f, 0.3f}, {{-1.5f, -0.5f, 6}, 1.2f, 0.8f}};
__device__ float intersect(const Sphere &sphere, Vector from, Vector along) {
    Vector to = sphere.centre + from * -1;
    float middle = dot(to, along), rest = sphere.radius * sphere.radius - dot(to, to) + middle * middle;
    return rest < 0 ? -1 : middle - sqrtf(rest);
}
