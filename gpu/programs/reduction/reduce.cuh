#pragma once
__device__ unsigned block_sum(unsigned value);
