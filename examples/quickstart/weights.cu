// Device functions and a table in constant memory, called from blur.cu.

__constant__ float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

static __device__ __noinline__ float sample(const float *samples, int count, int at)
{
    return samples[at < 0 ? 0 : at >= count ? count - 1 : at];
}

__device__ float weigh(const float *samples, int count, int at)
{
    float sum = 0.0f;
    for (int i = 0; i < 5; i++)
        sum += weights[i] * sample(samples, count, at + i - 2);
    return sum;
}
