#pragma once
typedef int (*Operation)(int, int);
extern __device__ Operation operations[4];
extern __constant__ Operation fixed_operations[2];
