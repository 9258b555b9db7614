#include "operations.cuh"
extern __device__ int far_away(int a, int b);
__device__ int add(int a, int b) { return a + b; }
__device__ int multiply(int a, int b) { return a * b; }
static __device__ int subtract(int a, int b) { return a - b; }
__device__ Operation operations[4] = {add, multiply, subtract, far_away};
__constant__ Operation fixed_operations[2] = {multiply, far_away};
