/* Compiled to PTX: assembled while it is linked. */
__device__ __noinline__ float sum_of_warp(float x)
{
    for (int lane = 16; lane > 0; lane /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, lane);
    return x;
}
