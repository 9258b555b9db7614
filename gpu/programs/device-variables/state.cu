__device__ int counter = 5;
__device__ double values[100];
static __device__ int hidden = 40;
__device__ struct { char tag; short pair[2]; long long wide; } record = {'x', {1, 2}, 1LL << 40};
__device__ long long step() { return ++counter + hidden++ + record.tag + record.pair[1] + record.wide; }
