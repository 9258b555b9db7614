#include "../common.h"
extern cudaError_t sort_keys(const unsigned *in, unsigned *out, int n);
int main() {
    const int n = 1 << 18;
    std::vector<unsigned> keys(n);
    for (int i = 0; i < n; i++)
        keys[i] = scramble(i);
    Array<unsigned> in(keys), out(n);
    CHECK(sort_keys(in.data, out.data, n));
    auto got = out.host();
    std::sort(keys.begin(), keys.end());
    std::printf("%08x %08x\n", got[0], got[n - 1]);
    return verdict(got == keys);
}
