#include "../common.h"
extern __global__ void parent(int *out);
int main() {
    const int parents = 8;
    Array<int> out(32 * parents + 1);
    parent<<<1, parents>>>(out.data);
    auto got = out.host();
    int expected = 0;
    for (int i = 0; i < 32 * parents; i++)
        expected += i / 32 * 1000 + i % 32;
    std::printf("sum %d, last %d\n", got[32 * parents], got[32 * parents - 1]);
    return verdict(got[32 * parents] == expected);
}
