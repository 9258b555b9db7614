// A buffer of this file, one of the whole program, and the dynamic part behind both.
__shared__ int whole_program[64];
static __shared__ int own[64];
extern __shared__ int rest[];
__device__ void fill(int i) {
    own[i] = i;
    whole_program[i] = i * 2;
    rest[i] = i * 3;
}
__device__ int own_at(int i) { return own[i]; }
