#include "shape.cuh"
struct Square : Shape {
    int side;
    __device__ explicit Square(int side) : side(side) {}
    __device__ int area() const override { return doubled(side * side); }
};
__device__ Shape *make_square(int side) { return new Square(side); }
