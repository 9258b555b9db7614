// about: device-wide reductions and sorts of segments
// packages: cccl
#include <cub/cub.cuh>
void all(void *p, size_t &b, int n, int s) {
    int *at = (int *)p;
    cub::DeviceSegmentedReduce::Sum(p, b, (float *)p, (float *)p, s, at, at + 1);
    cub::DeviceSegmentedReduce::Max(p, b, (int *)p, (int *)p, s, at, at + 1);
    cub::DeviceSegmentedReduce::ArgMin(p, b, (double *)p, (cub::KeyValuePair<int, double> *)p, s, at, at + 1);
    cub::DeviceSegmentedSort::SortKeys(p, b, (int *)p, (int *)p, n, s, at, at + 1);
    cub::DeviceSegmentedSort::SortPairs(p, b, (float *)p, (float *)p, (int *)p, (int *)p, n, s, at, at + 1);
    cub::DeviceSegmentedRadixSort::SortKeys(p, b, (unsigned *)p, (unsigned *)p, n, s, at, at + 1);
}
