__device__ bool goes_before(unsigned a, unsigned b, bool ascending) { return (a < b) == ascending; }
