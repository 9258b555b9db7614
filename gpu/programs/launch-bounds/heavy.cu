// Uses many registers, which the bounds of its callers limit.
__device__ __noinline__ float heavy(float x) {
    float v[12];
#pragma unroll
    for (int i = 0; i < 12; i++)
        v[i] = x * (i + 1);
#pragma unroll
    for (int round = 0; round < 4; round++)
#pragma unroll
        for (int i = 0; i < 12; i++)
            v[i] = v[i] * 0.5f + v[(i + 5) % 12] * 0.25f;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 12; i++)
        sum += v[i];
    return sum;
}
