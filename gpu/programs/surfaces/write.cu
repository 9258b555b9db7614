__device__ void put(cudaSurfaceObject_t surface, int x, int y, int value) {
    surf2Dwrite(value, surface, x * (int)sizeof(int), y);
}
__device__ int get(cudaSurfaceObject_t surface, int x, int y) {
    return surf2Dread<int>(surface, x * (int)sizeof(int), y, cudaBoundaryModeClamp);
}
