#include "../common.h"
extern __constant__ int table[4 * 1024];
extern __constant__ char text[];
extern __device__ double own_value(int i);
extern cudaError_t set_own(const double *from, int count);
static __constant__ int own[256] = {7};
__global__ void look(int *out, double *values) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[i] + text[i % 50] + own[i % 256];
    values[i] = own_value(i % 1024);
}
int main() {
    const int n = 4096;
    double replaced[2] = {10.25, 20.25};
    CHECK(set_own(replaced, 2));
    Array<int> out(n);
    Array<double> values(n);
    look<<<n / 256, 256>>>(out.data, values.data);
    auto got = out.host();
    auto doubles = values.host();
    const char *expected_text = "a text of some length that lies in constant memory";
    bool right = doubles[0] == 0.5 && doubles[1] == 1.5 && doubles[2] == 10.25 && doubles[3] == 20.25 && doubles[4] == 0;
    for (int i = 0; i < n; i++) {
        int x = i / 4, row[4] = {x * x, x * 3 + 1, ~x, x ^ 0x5a5a};
        right &= got[i] == row[i % 4] + expected_text[i % 50] + (i % 256 == 0 ? 7 : 0);
    }
    std::printf("%d %d %g\n", got[5], got[4095], doubles[2]);
    return verdict(right);
}
