__device__ int partition(int *v, int lo, int hi) {
    int pivot = v[hi], at = lo;
    for (int i = lo; i < hi; i++)
        if (v[i] < pivot) {
            int t = v[i];
            v[i] = v[at];
            v[at++] = t;
        }
    v[hi] = v[at];
    v[at] = pivot;
    return at;
}
__device__ void insertion(int *v, int lo, int hi) {
    for (int i = lo + 1; i <= hi; i++)
        for (int j = i; j > lo && v[j - 1] > v[j]; j--) {
            int t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
}
