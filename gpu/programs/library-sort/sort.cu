#include <cub/device/device_radix_sort.cuh>
// The kernels of a template library, instantiated here and used elsewhere.
cudaError_t sort_keys(const unsigned *in, unsigned *out, int n) {
    void *space = nullptr;
    size_t size = 0;
    cudaError_t status = cub::DeviceRadixSort::SortKeys(space, size, in, out, n);
    if (status == cudaSuccess)
        status = cudaMalloc(&space, size);
    if (status == cudaSuccess)
        status = cub::DeviceRadixSort::SortKeys(space, size, in, out, n);
    cudaFree(space);
    return status;
}
