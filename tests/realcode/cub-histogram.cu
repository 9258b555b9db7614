// about: device-wide histograms and run-length encoding
// packages: cccl
#include <cub/cub.cuh>
template <typename S, typename L> void even(void *p, size_t &b, int n) {
    cub::DeviceHistogram::HistogramEven(p, b, (S *)p, (int *)p, 129, L(0), L(128), n);
}
void all(void *p, size_t &b, int n) {
    even<unsigned char, int>(p, b, n);
    even<float, float>(p, b, n);
    even<int, int>(p, b, n);
    int *h[3] = {(int *)p, (int *)p, (int *)p};
    int levels[3] = {257, 257, 257}, low[3] = {}, high[3] = {256, 256, 256};
    cub::DeviceHistogram::MultiHistogramEven<4, 3>(p, b, (unsigned char *)p, h, levels, low, high, n);
    cub::DeviceHistogram::HistogramRange(p, b, (float *)p, (int *)p, 65, (float *)p, n);
    cub::DeviceRunLengthEncode::Encode(p, b, (int *)p, (int *)p, (int *)p, (int *)p, n);
    cub::DeviceRunLengthEncode::Encode(p, b, (double *)p, (double *)p, (int *)p, (int *)p, n);
    cub::DeviceRunLengthEncode::NonTrivialRuns(p, b, (char *)p, (int *)p, (int *)p, (int *)p, n);
}
