__device__ unsigned totals[16];
__device__ unsigned long long checksum;
__device__ int highest, lowest = 1 << 30;
__device__ float float_sum;
__device__ void count(unsigned value) {
    atomicAdd(&totals[value % 16], 1);
    atomicXor(&checksum, (unsigned long long)value << (value % 32));
    atomicMax(&highest, (int)(value % 100000));
    atomicMin(&lowest, (int)(value % 100000));
    atomicAdd(&float_sum, (float)(value % 4));
}
