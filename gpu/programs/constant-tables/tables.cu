#define ROW(x) (x) * (x), (x) * 3 + 1, ~(x), (x) ^ 0x5a5a
#define ROWS4(x) ROW(x), ROW((x) + 1), ROW((x) + 2), ROW((x) + 3)
#define ROWS16(x) ROWS4(x), ROWS4((x) + 4), ROWS4((x) + 8), ROWS4((x) + 12)
#define ROWS64(x) ROWS16(x), ROWS16((x) + 16), ROWS16((x) + 32), ROWS16((x) + 48)
#define ROWS256(x) ROWS64(x), ROWS64((x) + 64), ROWS64((x) + 128), ROWS64((x) + 192)
extern __constant__ int table[4 * 1024] = {ROWS256(0), ROWS256(256), ROWS256(512), ROWS256(768)};
extern __constant__ char text[] = "a text of some length that lies in constant memory";
