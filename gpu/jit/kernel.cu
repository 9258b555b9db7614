extern __device__ float scaled(float x);
extern __device__ float sum_of_warp(float x);
extern __constant__ float offsets[4];

extern "C" __global__ void run(float *out)
{
    extern __shared__ float room[];
    room[threadIdx.x] = scaled(threadIdx.x) + offsets[threadIdx.x % 4];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum_of_warp(room[blockDim.x - 1 - threadIdx.x]) + blockIdx.x;
}
