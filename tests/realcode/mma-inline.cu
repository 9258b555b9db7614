// about: tensor core instructions, matrix loads and stores, written as PTX
#include <cstdint>
#define LOOP(name, types, na, nb, nc, A, B, C, instruction, constraintC)                                            \
    __global__ void name(const unsigned *a, const unsigned *b, C *c, int n) {                                       \
        unsigned fa[4] = {}, fb[2] = {};                                                                            \
        C fc[4] = {};                                                                                               \
        for (int i = 0; i < n; i++) {                                                                               \
            for (int k = 0; k < na; k++) fa[k] = a[(i * 4 + k) * 32 + threadIdx.x];                                 \
            for (int k = 0; k < nb; k++) fb[k] = b[(i * 2 + k) * 32 + threadIdx.x];                                 \
            asm volatile(instruction                                                                                \
                         : "+" constraintC(fc[0]), "+" constraintC(fc[1]), "+" constraintC(fc[2]), "+" constraintC(fc[3]) \
                         : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));                 \
        }                                                                                                           \
        for (int k = 0; k < 4; k++) c[k * 32 + threadIdx.x] = fc[k];                                                \
    }
#define FULL(op) op " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
#define HALF(op) op " {%0,%1,%2,%3}, {%4,%5}, {%8}, {%0,%1,%2,%3};"
LOOP(f16_k16, , 4, 2, 4, , , float, FULL("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "f")
LOOP(f16_k8, , 2, 1, 4, , , float, HALF("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"), "f")
LOOP(bf16_k16, , 4, 2, 4, , , float, FULL("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), "f")
LOOP(bf16_k8, , 2, 1, 4, , , float, HALF("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"), "f")
LOOP(tf32_k8, , 4, 2, 4, , , float, FULL("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"), "f")
LOOP(tf32_k4, , 2, 1, 4, , , float, HALF("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32"), "f")
LOOP(s8_k32, , 4, 2, 4, , , int, FULL("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"), "r")
LOOP(u8_k16, , 2, 1, 4, , , int, HALF("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32"), "r")
LOOP(s8_sat, , 4, 2, 4, , , int, FULL("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32"), "r")
LOOP(s4_k64, , 4, 2, 4, , , int, FULL("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "r")
LOOP(b1_k256, , 4, 2, 4, , , int, FULL("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"), "r")
LOOP(e4m3_k32, , 4, 2, 4, , , float, FULL("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"), "f")
LOOP(e5m2_k32, , 4, 2, 4, , , float, FULL("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32"), "f")
template <int T> __global__ void matrix_loads(const unsigned *in, unsigned *out, int n) {
    __shared__ alignas(16) unsigned s[1024];
    for (int i = threadIdx.x; i < 1024; i += 32) s[i] = in[i];
    __syncthreads();
    unsigned p = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x * 16, a, b, c, d, e = 0;
    for (int i = 0; i < n; i++) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(p));
        e += a ^ b ^ c ^ d;
        if (T) asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(p));
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(c) : "r"(e));
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(p), "r"(a + c), "r"(b));
        __syncwarp();
    }
    out[threadIdx.x] = e;
}
template __global__ void matrix_loads<0>(const unsigned *, unsigned *, int);
template __global__ void matrix_loads<1>(const unsigned *, unsigned *, int);
__global__ void double_precision(const double *a, const double *b, double *c, int n) {
    double x = 0, y = 0;
    for (int i = 0; i < n; i++)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(x), "+d"(y) : "d"(a[i * 32 + threadIdx.x]), "d"(b[i * 32 + threadIdx.x]));
    c[threadIdx.x] = x, c[threadIdx.x + 32] = y;
}
__global__ void sparse(const unsigned *a, const unsigned *b, float *c, const unsigned *meta, int n) {
    float f[4] = {};
    for (int i = 0; i < n; i++) {
        const unsigned *p = a + i * 128 + threadIdx.x, *q = b + i * 128 + threadIdx.x;
        asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"
                     : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
                     : "r"(p[0]), "r"(p[32]), "r"(p[64]), "r"(p[96]), "r"(q[0]), "r"(q[32]), "r"(q[64]), "r"(q[96]), "r"(meta[i]));
    }
    for (int k = 0; k < 4; k++) c[k * 32 + threadIdx.x] = f[k];
}
// A tile of 64 by 64 for four warps, loads two steps ahead.
template <int Stages> __global__ void tile(const unsigned short *a, const unsigned short *b, float *c, int n) {
    __shared__ alignas(16) unsigned short sa[Stages][64 * 32], sb[Stages][64 * 32];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    float acc[8][4] = {};
    auto fetch = [&](int step) {
        for (int i = t * 8; i < 64 * 32; i += 128 * 8) {
            unsigned da = (unsigned)__cvta_generic_to_shared(&sa[step % Stages][i]), db = (unsigned)__cvta_generic_to_shared(&sb[step % Stages][i]);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(da), "l"(a + (i / 32) * n + step * 32 + i % 32));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(db), "l"(b + (i / 32) * n + step * 32 + i % 32));
        }
        asm volatile("cp.async.commit_group;");
    };
    for (int s = 0; s < Stages - 1; s++) fetch(s);
    for (int step = 0; step < n / 32; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(Stages - 2));
        __syncthreads();
        fetch(step + Stages - 1);
        for (int k = 0; k < 32; k += 16) {
            unsigned fa[4], fb[2];
            unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[step % Stages][(warp * 16 + lane % 16) * 32 + k + lane / 16 * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(pa));
#pragma unroll
            for (int j = 0; j < 8; j++) {
                unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[step % Stages][(j * 8 + lane % 8) * 32 + k + lane / 8 % 2 * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(fb[0]), "=r"(fb[1]) : "r"(pb));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(acc[j][0]), "+f"(acc[j][1]), "+f"(acc[j][2]), "+f"(acc[j][3])
                             : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
            }
        }
    }
    for (int j = 0; j < 8; j++)
        for (int k = 0; k < 4; k++) c[((warp * 16 + lane / 4 + k / 2 * 8) * 64) + j * 8 + lane % 4 * 2 + k % 2] = acc[j][k];
}
template __global__ void tile<2>(const unsigned short *, const unsigned short *, float *, int);
template __global__ void tile<3>(const unsigned short *, const unsigned short *, float *, int);
template __global__ void tile<4>(const unsigned short *, const unsigned short *, float *, int);
