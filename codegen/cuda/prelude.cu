// What the kernels share. NaN wins in minima and maxima; of equal zeros the first stays.
template <class T> __device__ T dtg_min(T a, T b) { return b != b || b < a ? b : a; }
template <class T> __device__ T dtg_max(T a, T b) { return b != b || b > a ? b : a; }
__device__ inline float dtg_sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}
__device__ inline double dtg_sigmoid(double x) {
  const double e = exp(-fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// Integers: division truncates, by 0 it gives 0; shifts take the count modulo the width.
template <class T> __device__ T dtg_div(T a, T b) {
  return b == 0 ? 0 : b == (T)-1 ? (T)(0 - (unsigned long long)a) : (T)(a / b);
}
__device__ inline unsigned char dtg_div(unsigned char a, unsigned char b) {
  return b == 0 ? 0 : a / b;
}
template <class T> __device__ T dtg_rem(T a, T b) { return b == 0 || b == (T)-1 ? 0 : (T)(a % b); }
__device__ inline unsigned char dtg_rem(unsigned char a, unsigned char b) {
  return b == 0 ? 0 : a % b;
}
template <class T> __device__ T dtg_imin(T a, T b) { return b < a ? b : a; }
template <class T> __device__ T dtg_imax(T a, T b) { return b > a ? b : a; }
template <class T> __device__ T dtg_iabs(T a) {
  return a < 0 ? (T)(0 - (unsigned long long)a) : a;
}
__device__ inline unsigned char dtg_iabs(unsigned char a) { return a; }
__device__ inline int dtg_shl(int a, int b) { return (int)((unsigned)a << (b & 31)); }
__device__ inline int dtg_shr(int a, int b) { return (int)((unsigned)a >> (b & 31)); }
__device__ inline long long dtg_shl(long long a, long long b) {
  return (long long)((unsigned long long)a << (b & 63));
}
__device__ inline long long dtg_shr(long long a, long long b) {
  return (long long)((unsigned long long)a >> (b & 63));
}

// Floats to integers: truncated and saturated, NaN gives 0.
template <class T> __device__ int dtg_to_i32(T x) {
  return x != x ? 0 : x >= (T)2147483648.0 ? 2147483647 : x <= (T)-2147483648.0 ? -2147483647 - 1
                                                                                : (int)x;
}
template <class T> __device__ long long dtg_to_i64(T x) {
  return x != x                           ? 0
         : x >= (T)9223372036854775808.0  ? 9223372036854775807ll
         : x <= (T)-9223372036854775808.0 ? -9223372036854775807ll - 1
                                          : (long long)x;
}
template <class T> __device__ unsigned char dtg_to_u8(T x) {
  return x != x || x <= 0 ? 0 : x >= 256 ? 255 : (unsigned char)x;
}
__device__ inline float dtg_from_bf16(unsigned short h) {
  return __uint_as_float((unsigned)h << 16);
}
__device__ inline unsigned short dtg_to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  return x != x ? (unsigned short)(bits >> 16 | 0x40)
                : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; 2011).
template <int word> __device__ int dtg_philox(long long key, long long low, long long high) {
  unsigned k0 = (unsigned)key, k1 = (unsigned)((unsigned long long)key >> 32);
  unsigned c0 = (unsigned)low, c1 = (unsigned)((unsigned long long)low >> 32);
  unsigned c2 = (unsigned)high, c3 = (unsigned)((unsigned long long)high >> 32);
  for (int round = 0; round < 10; round++) {
    const unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
    const unsigned h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0;
    c1 = l1;
    c2 = h0 ^ c3 ^ k1;
    c3 = l0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return (int)(word == 0 ? c0 : word == 1 ? c1 : word == 2 ? c2 : c3);
}

// The first failed check is kept: code, position, value.
__device__ inline void dtg_record(long long *fault, long long code, long long position,
                                  long long value) {
  if (atomicCAS((unsigned long long *)fault, 0ull, (unsigned long long)code) == 0) {
    fault[1] = position;
    fault[2] = value;
  }
}

// Accumulators. A pick is the position of the largest or smallest value; the lowest one of equals.
struct dtg_Sum {
  template <class T> static __device__ T of(T a, T b) { return a + b; }
};
struct dtg_Prod {
  template <class T> static __device__ T of(T a, T b) { return a * b; }
};
struct dtg_Max {
  template <class T> static __device__ T of(T a, T b) { return dtg_max(a, b); }
};
struct dtg_Min {
  template <class T> static __device__ T of(T a, T b) { return dtg_min(a, b); }
};
struct dtg_ArgMax {
  template <class T> static __device__ bool better(T a, T b) { return a > b; }
};
struct dtg_ArgMin {
  template <class T> static __device__ bool better(T a, T b) { return a < b; }
};
template <class Op, class T>
__device__ void dtg_pick(T &best, long long &best_at, T value, long long at) {
  const bool new_nan = value != value, old_nan = best != best;
  const bool equal = new_nan || value == best;
  if (new_nan != old_nan ? new_nan : equal ? at < best_at : Op::better(value, best)) {
    best = value;
    best_at = at;
  }
}

// Combines the accumulators of the lanes of a row, in a fixed order; every lane gets the result.
template <class Op, int lanes, class T> __device__ T dtg_lanes(T value) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, step);
    value = threadIdx.x & step ? Op::of(other, value) : Op::of(value, other);
  }
  if (lanes > 32) {
    __shared__ T warps[lanes / 32];
    if (threadIdx.x % 32 == 0)
      warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = warps[0];
#pragma unroll
    for (int i = 1; i < lanes / 32; i++)
      value = Op::of(value, warps[i]);
    __syncthreads();
  }
  return value;
}
template <class Op, int lanes, class T> __device__ void dtg_pick_lanes(T &value, long long &at) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, step);
    const long long other_at = __shfl_xor_sync(0xffffffffu, at, step);
    dtg_pick<Op>(value, at, other, other_at);
  }
  if (lanes > 32) {
    __shared__ T warps[lanes / 32];
    __shared__ long long warps_at[lanes / 32];
    if (threadIdx.x % 32 == 0) {
      warps[threadIdx.x / 32] = value;
      warps_at[threadIdx.x / 32] = at;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < lanes / 32; i++)
      dtg_pick<Op>(value, at, warps[i], warps_at[i]);
    __syncthreads();
  }
}

// C = op(A) op(B) + beta C, row-major: a block makes 64 x 64 elements of C, a thread 4 x 4 of them,
// by sums over k in order.
template <long long M, long long N, long long K, bool transpose_a, bool transpose_b>
__device__ void dtg_gemm(const float *a, const float *b, float *c, long long stride_a,
                         long long stride_b, long long stride_c, float beta) {
  constexpr int tile = 64, depth = 16, each = 4;
  constexpr long long columns = (N + tile - 1) / tile, rows = (M + tile - 1) / tile;
  __shared__ float as[depth][tile + 1], bs[depth][tile + 1];
  const long long entry = blockIdx.x / (rows * columns), at = blockIdx.x % (rows * columns);
  const long long row = at / columns * tile, column = at % columns * tile;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  float sum[each][each] = {};
  a += entry * stride_a;
  b += entry * stride_b;
  c += entry * stride_c;
  for (long long first = 0; first < K; first += depth) {
#pragma unroll
    for (int part = 0; part < tile * depth / 256; part++) {
      const int i = part * 256 + threadIdx.x;
      const int ka = transpose_a ? i / tile : i % depth, ma = transpose_a ? i % tile : i / depth;
      const int kb = transpose_b ? i % depth : i / tile, nb = transpose_b ? i / depth : i % tile;
      as[ka][ma] = row + ma < M && first + ka < K
                       ? a[transpose_a ? (first + ka) * M + row + ma : (row + ma) * K + first + ka]
                       : 0;
      bs[kb][nb] =
          column + nb < N && first + kb < K
              ? b[transpose_b ? (column + nb) * K + first + kb : (first + kb) * N + column + nb]
              : 0;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < depth; k++) {
      float left[each], right[each];
#pragma unroll
      for (int i = 0; i < each; i++) {
        left[i] = as[k][y + 16 * i];
        right[i] = bs[k][x + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < each; i++)
#pragma unroll
        for (int j = 0; j < each; j++)
          sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < each; i++)
#pragma unroll
    for (int j = 0; j < each; j++) {
      const long long m = row + y + 16 * i, n = column + x + 16 * j;
      if (m < M && n < N)
        c[m * N + n] = beta == 0 ? sum[i][j] : fmaf(beta, c[m * N + n], sum[i][j]);
    }
}
