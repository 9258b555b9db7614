__device__ float weighted(cudaTextureObject_t texture, float x, float y) {
    return tex2D<float>(texture, x + 0.5f, y + 0.5f) * 2 + tex2D<float>(texture, x + 1.5f, y + 0.5f);
}
