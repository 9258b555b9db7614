// about: switch statements, small interpreters, state machines
enum Op : unsigned char { Push, Add, Sub, Mul, Div, Dup, Swap, Jump, JumpZero, Load, Store, And, Or, Xor, Shift, Less, Halt };
struct Code { Op op; int argument; };
template <typename T> __global__ void machine(const Code *code, T *memory, int limit) {
    T stack[16];
    int top = 0, pc = 0;
    for (int step = 0; step < limit; step++) {
        Code c = code[pc++];
        switch (c.op) {
        case Push: stack[top++ & 15] = (T)c.argument; break;
        case Add: stack[(top - 2) & 15] += stack[(top - 1) & 15]; top--; break;
        case Sub: stack[(top - 2) & 15] -= stack[(top - 1) & 15]; top--; break;
        case Mul: stack[(top - 2) & 15] *= stack[(top - 1) & 15]; top--; break;
        case Div: stack[(top - 2) & 15] /= stack[(top - 1) & 15]; top--; break;
        case Dup: stack[top & 15] = stack[(top - 1) & 15]; top++; break;
        case Swap: { T t = stack[(top - 1) & 15]; stack[(top - 1) & 15] = stack[(top - 2) & 15]; stack[(top - 2) & 15] = t; break; }
        case Jump: pc = c.argument; break;
        case JumpZero: if (stack[--top & 15] == T(0)) pc = c.argument; break;
        case Load: stack[top++ & 15] = memory[c.argument + threadIdx.x]; break;
        case Store: memory[c.argument + threadIdx.x] = stack[--top & 15]; break;
        case And: stack[(top - 2) & 15] = (T)((long long)stack[(top - 2) & 15] & (long long)stack[(top - 1) & 15]); top--; break;
        case Or: stack[(top - 2) & 15] = (T)((long long)stack[(top - 2) & 15] | (long long)stack[(top - 1) & 15]); top--; break;
        case Xor: stack[(top - 2) & 15] = (T)((long long)stack[(top - 2) & 15] ^ (long long)stack[(top - 1) & 15]); top--; break;
        case Shift: stack[(top - 1) & 15] = (T)((long long)stack[(top - 1) & 15] << c.argument); break;
        case Less: stack[(top - 2) & 15] = (T)(stack[(top - 2) & 15] < stack[(top - 1) & 15]); top--; break;
        case Halt: return;
        }
    }
}
template __global__ void machine<int>(const Code *, int *, int);
template __global__ void machine<float>(const Code *, float *, int);
template __global__ void machine<double>(const Code *, double *, int);
template __global__ void machine<long long>(const Code *, long long *, int);

// Counts numbers, words and strings of a text by a table-free automaton.
__global__ void tokens(const char *text, const int *begin, int *counts, int lines) {
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    int numbers = 0, words = 0, strings = 0, state = 0;
    for (int i = begin[line]; i < begin[line + 1]; i++) {
        char c = text[i];
        switch (state) {
        case 0:
            switch (c) {
            case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9': state = 1; numbers++; break;
            case '"': state = 3; strings++; break;
            case ' ': case '\t': case '\r': break;
            default: state = 2; words++;
            }
            break;
        case 1: if (c == '.') state = 4; else if (c == 'e') state = 5; else if (c < '0' || c > '9') state = 0; break;
        case 2: if (c == ' ') state = 0; break;
        case 3: if (c == '\\') state = 6; else if (c == '"') state = 0; break;
        case 4: if (c < '0' || c > '9') state = 0; break;
        case 5: state = c == '-' || c == '+' ? 4 : 1; break;
        case 6: state = 3; break;
        }
    }
    atomicAdd(&counts[0], numbers);
    atomicAdd(&counts[1], words);
    atomicAdd(&counts[2], strings);
}
__global__ void sparse(int *v) {
    int i = threadIdx.x;
    switch (v[i]) {
    case 1: v[i] = 17; break;
    case 100: v[i] = 23 + i; break;
    case 1000: v[i] = i * i; break;
    case 10000: v[i] = i << 3; break;
    case -5: v[i] ^= 0x55; break;
    case 65536: v[i] = __popc(i); break;
    default: v[i] = -1;
    }
}
template <int N> __global__ void dispatch(float *v, int which) {
    float x = v[threadIdx.x];
    switch (which % N) {
    case 0: x = sinf(x); break;
    case 1: x = cosf(x); break;
    case 2: x = expf(x); break;
    case 3: x = logf(x); break;
    case 4: x = sqrtf(x); break;
    case 5: x = x * x; break;
    case 6: x = 1 / x; break;
    case 7: x = tanhf(x); break;
    case 8: x = fabsf(x); break;
    case 9: x = floorf(x); break;
    case 10: x = erff(x); break;
    case 11: x = cbrtf(x); break;
    }
    v[threadIdx.x] = x;
}
template __global__ void dispatch<4>(float *, int);
template __global__ void dispatch<8>(float *, int);
template __global__ void dispatch<12>(float *, int);
// A loop unrolled by hand with a fall-through entry.
__global__ void fall_through(float *out, const float *in, int n) {
    float s = 0;
    int i = 0;
    switch (n & 7) {
        do {
        case 0: s += in[i++ * 32 + threadIdx.x];
        case 7: s *= in[i++ * 32 + threadIdx.x];
        case 6: s += in[i++ * 32 + threadIdx.x];
        case 5: s -= in[i++ * 32 + threadIdx.x];
        case 4: s += in[i++ * 32 + threadIdx.x];
        case 3: s *= in[i++ * 32 + threadIdx.x];
        case 2: s += in[i++ * 32 + threadIdx.x];
        case 1: s -= in[i++ * 32 + threadIdx.x];
        } while (i < n);
    }
    out[threadIdx.x] = s;
}
