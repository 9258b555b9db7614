static __constant__ double own[1024] = {0.5, 1.5, 2.5};
__device__ double own_value(int i) { return own[i]; }
cudaError_t set_own(const double *from, int count) { return cudaMemcpyToSymbol(own, from, count * sizeof(double), 16); }
