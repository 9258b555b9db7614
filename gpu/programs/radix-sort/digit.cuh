#pragma once
constexpr int DIGITS = 16, THREADS = 256;
__device__ int digit_of(unsigned key, int pass);
__device__ int block_scan(int value, int *total);
