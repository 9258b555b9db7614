// The kernels whose code, as assembled (.before) and as nvlink 13.0.88 linked it (.after), is in this folder:
//   nvcc -arch=sm_100 -rdc=true -cubin kernels.cu -o kernels.cubin; nvlink -arch=sm_100 kernels.cubin -o kernels.out
// and the contents of their .text sections. mutants.txt has wrong versions of the linked code.

// Loops, shared memory, shuffles, an atomic.
extern "C" __global__ void sum(float *out, const float *in, int n)
{
    __shared__ float part[256];
    float s = 0;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        s += in[i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int k = 128; k > 32; k >>= 1) {
        if (threadIdx.x < k)
            part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        s = part[threadIdx.x];
        for (int o = 16; o; o >>= 1)
            s += __shfl_xor_sync(~0u, s, o);
        if (!threadIdx.x)
            atomicAdd(out, s);
    }
}

// Loads of many widths.
extern "C" __global__ void widths(float4 *a, const float4 *b, double2 *c, short *d, char4 *e)
{
    int i = threadIdx.x;
    float4 x = b[i], y = b[i + 32];
    a[i] = make_float4(x.x + y.y, x.y * y.z, x.z - y.x, x.w + y.w);
    double2 q = c[i];
    c[i + 4] = make_double2(q.y * q.x, q.x + 1);
    d[i] = d[i + 3] + d[i + 9];
    char4 k = e[i];
    e[i + 77] = make_char4(k.w, k.x, k.y, k.z);
}

// Votes, matches, reductions over a warp.
extern "C" __global__ void votes(int *a, unsigned *b)
{
    int i = threadIdx.x, all;
    b[i] = __ballot_sync(~0u, a[i] > 0);
    if (__any_sync(~0u, a[i + 1] == 3))
        b[i + 32] = __match_any_sync(~0u, a[i + 3]);
    b[i + 64] = __match_all_sync(~0u, a[i + 5], &all) + all;
    b[i + 96] = __reduce_add_sync(~0u, b[i + 44]);
    b[i + 99] = __popc(b[i + 5]) + __ffs(a[i + 7]) + __clz(a[i + 9]);
    int q = __shfl_sync(~0u, a[i + 60], a[i + 50]);
    b[i + 600] = q + __shfl_up_sync(~0u, q, 3);
}

// Conditions that depend on what is loaded in a loop.
extern "C" __global__ void conditions(int *a, int n)
{
    int i = threadIdx.x, x = 0;
    bool p = a[i] > 3, q = a[i + 1] < 7, r = (a[i + 2] & 8) != 0;
    for (int k = 0; k < n; k++) {
        if (p && q)
            x += a[k];
        else if (r || (q ^ p))
            x ^= a[k + n];
        p = a[k + 3] > x;
        q = q != r;
    }
    a[i] = x + (p ? 1 : 0) + (q ? 2 : 0) + (r ? 4 : 0);
}

// A fence, before which the assembler has precautions that nvlink leaves out.
extern "C" __global__ void fences(int *a, volatile int *flag)
{
    int i = threadIdx.x;
    a[i] = a[i + 32];
    __threadfence();
    flag[i] = 1;
    while (flag[i + 1] != 3)
        ;
    __threadfence_system();
    a[i + 64] = a[i + 96];
}
