__device__ int work(int x) {
    for (int i = 0; i < 1000; i++)
        x = x * 1103515245 + 12345;
    return x;
}
