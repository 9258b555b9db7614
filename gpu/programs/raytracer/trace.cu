#include "vector.cuh"
__device__ float trace(Vector from, Vector along, int depth) {
    float nearest = 1e9f;
    const Sphere *hit = nullptr;
    for (const Sphere &sphere : spheres) {
        float distance = intersect(sphere, from, along);
        if (distance > 1e-3f && distance < nearest) {
            nearest = distance;
            hit = &sphere;
        }
    }
    if (!hit)
        return 0.2f + 0.2f * along.y;
    Vector at = from + along * nearest, normal = normalized(at + hit->centre * -1);
    float light = fmaxf(0, dot(normal, normalized({1, 1, -1})));
    if (depth == 0)
        return light;
    Vector reflected = along + normal * (-2 * dot(along, normal));
    return light * (1 - hit->shine) + trace(at, reflected, depth - 1) * hit->shine;
}
