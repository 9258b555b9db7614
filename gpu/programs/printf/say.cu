#include <cstdio>
__device__ void say(const char *what, int i, double x) { printf("%s %d %.3f %c %lld %%\n", what, i, x, 'a' + i, 1LL << (40 + i)); }
