#include "../common.h"
#include "shape.cuh"
__global__ void areas(int *out) {
    int i = threadIdx.x;
    Shape *shape = i % 2 ? make_square(i) : make_rectangle(i, i + 1);
    out[i] = shape->area() * 10 + shape->sides();
    delete shape;
}
int main() {
    const int n = 64;
    Array<int> out(n);
    areas<<<1, n>>>(out.data);
    auto got = out.host();
    bool right = true;
    for (int i = 0; i < n; i++)
        right &= got[i] == (i % 2 ? i * i * 10 + 4 : i * (i + 1) * 10);
    std::printf("%d %d %d\n", got[1], got[2], got[63]);
    return verdict(right);
}
