// The kernel: each thread smooths one sample. What a sample's neighbours weigh is decided in weights.cu.

__device__ float weigh(const float *samples, int count, int at);

__global__ void blur(const float *in, float *out, int count)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count)
        out[at] = weigh(in, count, at);
}
