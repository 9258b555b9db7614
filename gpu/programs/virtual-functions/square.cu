#include "shape.cuh"
struct Square : Shape {
    int side;
    __device__ explicit Square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
    __device__ int sides() const override { return 4; }
};
__device__ Shape *make_square(int side) { return new Square(side); }
