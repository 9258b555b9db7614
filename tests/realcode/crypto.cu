// about: hashes, ciphers, checksums and codes: long integer chains with tables in constant memory
#include <cstdint>
__constant__ uint32_t K[64];
__constant__ uint8_t box[256];
__constant__ uint32_t crc_table[4][256];
__device__ inline uint32_t r(uint32_t x, int n) { return __funnelshift_r(x, x, n); }
__global__ void sha256(const uint32_t *in, uint32_t *out, int blocks) {
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint32_t *p = in + (blockIdx.x * blockDim.x + threadIdx.x) * blocks * 16;
    for (int b = 0; b < blocks; b++, p += 16) {
        uint32_t w[64], s[8];
        for (int i = 0; i < 16; i++) w[i] = __byte_perm(p[i], 0, 0x0123);
        for (int i = 16; i < 64; i++)
            w[i] = w[i - 16] + (r(w[i - 15], 7) ^ r(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] + (r(w[i - 2], 17) ^ r(w[i - 2], 19) ^ w[i - 2] >> 10);
        for (int i = 0; i < 8; i++) s[i] = h[i];
        for (int i = 0; i < 64; i++) {
            uint32_t t1 = s[7] + (r(s[4], 6) ^ r(s[4], 11) ^ r(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + K[i] + w[i];
            uint32_t t2 = (r(s[0], 2) ^ r(s[0], 13) ^ r(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
            for (int j = 7; j > 0; j--) s[j] = s[j - 1];
            s[4] += t1;
            s[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++) h[i] += s[i];
    }
    for (int i = 0; i < 8; i++) out[(blockIdx.x * blockDim.x + threadIdx.x) * 8 + i] = h[i];
}
__global__ void keccak(uint64_t *states, const uint64_t *rounds) {
    uint64_t a[25];
    for (int i = 0; i < 25; i++) a[i] = states[i * blockDim.x + threadIdx.x];
    const int shift[24] = {1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44};
    const int lane[24] = {10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1};
    for (int n = 0; n < 24; n++) {
        uint64_t c[5];
#pragma unroll
        for (int i = 0; i < 5; i++) c[i] = a[i] ^ a[i + 5] ^ a[i + 10] ^ a[i + 15] ^ a[i + 20];
#pragma unroll
        for (int i = 0; i < 5; i++) {
            uint64_t t = c[(i + 4) % 5] ^ (c[(i + 1) % 5] << 1 | c[(i + 1) % 5] >> 63);
#pragma unroll
            for (int j = 0; j < 25; j += 5) a[j + i] ^= t;
        }
        uint64_t t = a[1];
#pragma unroll
        for (int i = 0; i < 24; i++) {
            uint64_t o = a[lane[i]];
            a[lane[i]] = t << shift[i] | t >> (64 - shift[i]);
            t = o;
        }
#pragma unroll
        for (int j = 0; j < 25; j += 5) {
#pragma unroll
            for (int i = 0; i < 5; i++) c[i] = a[j + i];
#pragma unroll
            for (int i = 0; i < 5; i++) a[j + i] = c[i] ^ (~c[(i + 1) % 5] & c[(i + 2) % 5]);
        }
        a[0] ^= rounds[n];
    }
    for (int i = 0; i < 25; i++) states[i * blockDim.x + threadIdx.x] = a[i];
}
__global__ void aes(uint8_t *data, const uint8_t *keys, int rounds) {
    uint8_t s[16], t[16];
    uint8_t *p = data + (blockIdx.x * blockDim.x + threadIdx.x) * 16;
    for (int i = 0; i < 16; i++) s[i] = p[i] ^ keys[i];
    for (int n = 1; n <= rounds; n++) {
        for (int i = 0; i < 16; i++) t[i] = box[s[(i * 5) % 16]];
        for (int c = 0; c < 16; c += 4) {
            uint8_t all = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3], first = t[c];
            if (n < rounds)
                for (int i = 0; i < 4; i++) {
                    uint8_t x = t[c + i] ^ (i < 3 ? t[c + i + 1] : first);
                    t[c + i] ^= all ^ (uint8_t)(x << 1 ^ (x >> 7) * 0x1b);
                }
        }
        for (int i = 0; i < 16; i++) s[i] = t[i] ^ keys[n * 16 + i];
    }
    for (int i = 0; i < 16; i++) p[i] = s[i];
}
template <int Rounds> __global__ void chacha(uint32_t *out, const uint32_t *key, uint32_t counter) {
    uint32_t x[16], s[16];
    for (int i = 0; i < 16; i++) s[i] = x[i] = i == 12 ? counter + blockIdx.x * blockDim.x + threadIdx.x : key[i];
    auto quarter = [&](int a, int b, int c, int d) {
        x[a] += x[b], x[d] = r(x[d] ^ x[a], 16), x[c] += x[d], x[b] = r(x[b] ^ x[c], 20);
        x[a] += x[b], x[d] = r(x[d] ^ x[a], 24), x[c] += x[d], x[b] = r(x[b] ^ x[c], 25);
    };
#pragma unroll 2
    for (int n = 0; n < Rounds; n += 2) {
        for (int i = 0; i < 4; i++) quarter(i, 4 + i, 8 + i, 12 + i);
        for (int i = 0; i < 4; i++) quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
    for (int i = 0; i < 16; i++) out[(blockIdx.x * blockDim.x + threadIdx.x) * 16 + i] = x[i] + s[i];
}
__global__ void crc32(const uint32_t *data, uint32_t *out, int words) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t c = ~0u;
    for (int k = 0; k < words; k++) {
        c ^= data[i * words + k];
        c = crc_table[3][c & 255] ^ crc_table[2][c >> 8 & 255] ^ crc_table[1][c >> 16 & 255] ^ crc_table[0][c >> 24];
    }
    out[i] = ~c;
}
__global__ void adler(const uint8_t *data, uint32_t *out, int n) {
    uint32_t a = 1, b = 0;
    for (int i = 0; i < n; i++) a = (a + data[threadIdx.x * n + i]) % 65521, b = (b + a) % 65521;
    out[threadIdx.x] = b << 16 | a;
}
__global__ void base64(const uint8_t *in, char *out, int triples) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= triples) return;
    uint32_t v = in[i * 3] << 16 | in[i * 3 + 1] << 8 | in[i * 3 + 2];
    for (int k = 0; k < 4; k++) {
        int d = v >> (18 - 6 * k) & 63;
        out[i * 4 + k] = d < 26 ? 'A' + d : d < 52 ? 'a' + d - 26 : d < 62 ? '0' + d - 52 : d == 62 ? '+' : '/';
    }
}
__global__ void varint(const uint8_t *in, const int *at, uint64_t *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t v = 0;
    const uint8_t *p = in + at[i];
    for (int s = 0; s < 64; s += 7) {
        v |= (uint64_t)(*p & 127) << s;
        if (!(*p++ & 128)) break;
    }
    out[i] = v >> 1 ^ -(v & 1);
}
template <int Limbs> __global__ void big_multiply(const uint32_t *a, const uint32_t *b, uint32_t *c, const uint32_t *m, uint32_t inverse) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t x[Limbs], y[Limbs], z[Limbs + 2] = {};
    for (int i = 0; i < Limbs; i++) x[i] = a[t * Limbs + i], y[i] = b[t * Limbs + i];
#pragma unroll
    for (int i = 0; i < Limbs; i++) {
        uint64_t carry = 0;
#pragma unroll
        for (int j = 0; j < Limbs; j++) {
            carry += (uint64_t)x[j] * y[i] + z[j];
            z[j] = (uint32_t)carry, carry >>= 32;
        }
        carry += z[Limbs];
        z[Limbs] = (uint32_t)carry, z[Limbs + 1] = carry >> 32;
        uint32_t q = z[0] * inverse;
        carry = ((uint64_t)q * m[0] + z[0]) >> 32;
#pragma unroll
        for (int j = 1; j < Limbs; j++) {
            carry += (uint64_t)q * m[j] + z[j];
            z[j - 1] = (uint32_t)carry, carry >>= 32;
        }
        carry += z[Limbs];
        z[Limbs - 1] = (uint32_t)carry, z[Limbs] = z[Limbs + 1] + (uint32_t)(carry >> 32);
    }
    for (int i = 0; i < Limbs; i++) c[t * Limbs + i] = z[i];
}
__global__ void edit_distance(const char *a, const char *b, int *out, int n, int m) {
    int row[65];
    a += threadIdx.x * n, b += threadIdx.x * m;
    for (int j = 0; j <= m && j < 65; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= m && j < 65; j++) {
            int v = min(min(row[j], row[j - 1]) + 1, corner + (a[i - 1] != b[j - 1]));
            corner = row[j];
            row[j] = v;
        }
    }
    out[threadIdx.x] = row[min(m, 64)];
}
template __global__ void chacha<8>(uint32_t *, const uint32_t *, uint32_t);
template __global__ void chacha<20>(uint32_t *, const uint32_t *, uint32_t);
template __global__ void big_multiply<4>(const uint32_t *, const uint32_t *, uint32_t *, const uint32_t *, uint32_t);
template __global__ void big_multiply<8>(const uint32_t *, const uint32_t *, uint32_t *, const uint32_t *, uint32_t);
template __global__ void big_multiply<12>(const uint32_t *, const uint32_t *, uint32_t *, const uint32_t *, uint32_t);
