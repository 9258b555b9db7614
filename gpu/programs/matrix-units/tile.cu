#include <mma.h>
using namespace nvcuda;
// One 16 by 16 tile on the matrix units.
__device__ void tile(const half *a, const half *b, float *c, int n, int row, int column) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(fa, a + row * 16 * n + k, n);
        wmma::load_matrix_sync(fb, b + k * n + column * 16, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + row * 16 * n + column * 16, fc, n, wmma::mem_row_major);
}
