#include "generate.h"

#include <stdio.h>

uint64_t cg_random_next(struct cg_random *random) {
  uint64_t z = (random->state += 0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

uint32_t cg_random_below(struct cg_random *random, uint32_t bound) {
  return (uint32_t)(cg_random_next(random) % bound);
}

enum { POOL = 24 };

struct maker {
  struct cg_random random;
  struct cg_builder b;
  struct cg_kernel *kernel;
  struct cg_tolerance tolerance;
  int64_t index_limit;
  uint32_t pool[POOL]; // values to draw operands from
  uint32_t pooled;
};

static uint32_t below(struct maker *m, uint32_t bound) {
  return cg_random_below(&m->random, bound);
}

static int64_t draw_size(struct maker *m) {
  static const int64_t edges[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128};
  if (below(m, 2))
    return edges[below(m, sizeof edges / sizeof *edges)];
  return 1 + below(m, 300);
}

static enum dtg_dtype draw_dtype(struct maker *m) {
  static const enum dtg_dtype likely[] = {DTG_F32, DTG_F32, DTG_F32, DTG_F32,  DTG_F64,
                                          DTG_I32, DTG_I64, DTG_U8,  DTG_BF16, DTG_BOOL};
  return likely[below(m, sizeof likely / sizeof *likely)];
}

static enum dtg_dtype dtype_of(const struct maker *m, uint32_t id) {
  return m->kernel->insts.data[id].dtype;
}

static void put(struct maker *m, uint32_t id) {
  if (m->pooled < POOL)
    m->pool[m->pooled++] = id;
  else
    m->pool[below(m, POOL)] = id;
}

static struct cg_address at(uint32_t buffer, uint32_t loop_a, int64_t coef_a, uint32_t loop_b,
                            int64_t coef_b) {
  struct cg_address address = {.buffer = buffer, .dynamic = CG_NO_VALUE};
  if (coef_a)
    address.terms[address.term_count++] = (struct cg_term){loop_a, coef_a};
  if (coef_b)
    address.terms[address.term_count++] = (struct cg_term){loop_b, coef_b};
  return address;
}

// A value of `dtype` out of the pool, converted if need be.
static uint32_t pick(struct maker *m, enum dtg_dtype dtype) {
  for (int tries = 0; tries < 8; tries++) {
    uint32_t id = m->pool[below(m, m->pooled)];
    if (dtype_of(m, id) == dtype)
      return id;
  }
  return cg_cast(&m->b, m->pool[below(m, m->pooled)], dtype);
}

static bool is_real(enum dtg_dtype dtype) {
  return dtype == DTG_F32 || dtype == DTG_F64;
}

static uint32_t draw_constant(struct maker *m, enum dtg_dtype dtype) {
  static const double reals[] = {0, 1, -1, 0.5, 2, -3.25, 1e-3, 100};
  if (dtg_dtype_is_float(dtype))
    return cg_const_f(&m->b, dtype, reals[below(m, 8)]);
  return cg_const_i(&m->b, dtype, (int64_t)below(m, 9) - (dtype == DTG_U8 ? 0 : 4));
}

static uint32_t draw_real_op(struct maker *m, enum dtg_dtype dtype) {
  static const enum cg_op binary[] = {CG_ADD, CG_SUB, CG_MUL, CG_DIV, CG_MIN, CG_MAX, CG_REM};
  static const enum cg_op unary[] = {CG_NEG, CG_ABS, CG_FLOOR, CG_SQRT};
  uint32_t kind = below(m, 10);
  if (kind < 6)
    return cg_binary(&m->b, binary[below(m, 7)], pick(m, dtype), pick(m, dtype));
  if (kind < 9)
    return cg_unary(&m->b, unary[below(m, 4)], pick(m, dtype));
  // fma of doubles is libm's on the older processors: exact, slow, and the same.
  return cg_fma(&m->b, pick(m, dtype), pick(m, dtype), pick(m, dtype));
}

static uint32_t draw_integer_op(struct maker *m, enum dtg_dtype dtype) {
  static const enum cg_op binary[] = {CG_ADD, CG_SUB, CG_MUL, CG_DIV, CG_REM, CG_MIN,
                                      CG_MAX, CG_AND, CG_OR,  CG_XOR, CG_SHL, CG_SHR};
  static const enum cg_op unary[] = {CG_NEG, CG_ABS, CG_NOT};
  uint32_t binaries = dtype == DTG_U8 ? 10 : 12;
  if (below(m, 4))
    return cg_binary(&m->b, binary[below(m, binaries)], pick(m, dtype), pick(m, dtype));
  return cg_unary(&m->b, unary[below(m, 3)], pick(m, dtype));
}

static uint32_t draw_bool(struct maker *m) {
  static const enum cg_op logic[] = {CG_AND, CG_OR, CG_XOR};
  enum dtg_dtype dtype = draw_dtype(m);
  if (below(m, 3) == 0)
    return cg_binary(&m->b, logic[below(m, 3)], pick(m, DTG_BOOL), pick(m, DTG_BOOL));
  if (dtype == DTG_BF16)
    dtype = DTG_F32;
  enum cg_op op = (enum cg_op)(CG_EQ + (int)below(m, 6));
  return cg_binary(&m->b, op, pick(m, dtype), pick(m, dtype));
}

static uint32_t draw_bits(struct maker *m) {
  switch (below(m, 4)) {
  case 0:
    return cg_bitcast(&m->b, pick(m, DTG_F32), DTG_I32);
  case 1:
    return cg_bitcast(&m->b, pick(m, DTG_F64), DTG_I64);
  case 2:
    return cg_unary(&m->b, CG_NOT, pick(m, DTG_BOOL));
  default:
    return cg_philox(&m->b, pick(m, DTG_I64), pick(m, DTG_I64), pick(m, DTG_I64), (int)below(m, 4));
  }
}

// One exact operation on values of the pool.
static uint32_t draw_op(struct maker *m) {
  enum dtg_dtype dtype = draw_dtype(m);
  switch (below(m, 8)) {
  case 0:
    return cg_select(&m->b, pick(m, DTG_BOOL), pick(m, dtype), pick(m, dtype));
  case 1:
    return draw_bool(m);
  case 2:
    return draw_bits(m);
  case 3:
    return draw_constant(m, dtype);
  default:
    break;
  }
  if (is_real(dtype))
    return draw_real_op(m, dtype);
  if (dtype == DTG_BOOL || dtype == DTG_BF16)
    return cg_cast(&m->b, m->pool[below(m, m->pooled)], dtype);
  return draw_integer_op(m, dtype);
}

static uint32_t draw_math(struct maker *m, enum dtg_dtype dtype) {
  uint32_t x = pick(m, dtype);
  enum cg_op op = (enum cg_op)(CG_EXP + (int)below(m, CG_EXPM1 - CG_EXP + 1));
  m->tolerance.exact = false;
  return op == CG_POW ? cg_binary(&m->b, op, x, pick(m, dtype)) : cg_unary(&m->b, op, x);
}

// A parallel loop over rows (or one row), then a vector loop over `columns`, perhaps in blocks.
struct nest {
  int64_t rows, columns;
  uint32_t row, column;
  uint32_t loops;
};

static struct nest open_nest(struct maker *m) {
  struct nest nest = {1 + below(m, 6), draw_size(m), 0, 0, 2};
  if (below(m, 3)) {
    nest.row = cg_loop_begin(&m->b, CG_LOOP_PARALLEL, nest.rows);
    nest.column = cg_loop_begin(&m->b, CG_LOOP_VECTOR, nest.columns);
    return nest;
  }
  // Blocks of a range whose size need not divide it.
  int64_t extent = 1 + below(m, 150);
  int64_t blocks = (nest.columns + extent - 1) / extent + below(m, 2);
  uint32_t block = cg_loop_begin(&m->b, CG_LOOP_PARALLEL, blocks);
  nest.row = cg_loop_begin(&m->b, CG_LOOP_SEQUENTIAL, nest.rows);
  nest.column = cg_loop_begin_block(&m->b, CG_LOOP_VECTOR, extent, block, nest.columns);
  nest.loops = 3;
  return nest;
}

static void close_nest(struct maker *m, struct nest nest) {
  for (uint32_t i = 0; i < nest.loops; i++)
    cg_loop_end(&m->b);
}

static uint32_t add_input(struct maker *m, enum dtg_dtype dtype, int64_t elements) {
  char name[16];
  snprintf(name, sizeof name, "in%zu", m->kernel->buffers.len);
  return cg_buffer_add(m->kernel, name, dtype, elements, true, false);
}

static uint32_t add_output(struct maker *m, enum dtg_dtype dtype, int64_t elements) {
  char name[16];
  snprintf(name, sizeof name, "out%zu", m->kernel->buffers.len);
  return cg_buffer_add(m->kernel, name, dtype, elements, false, true);
}

// Loads with every kind of stride: element, row, column, scalar, transposed, reversed.
static void load_inputs(struct maker *m, struct nest nest) {
  uint32_t count = 2 + below(m, 4);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t buffer = add_input(m, draw_dtype(m), nest.rows * nest.columns);
    struct cg_address address = at(buffer, nest.row, nest.columns, nest.column, 1);
    switch (below(m, 7)) {
    case 0:
      address = at(buffer, nest.row, 0, nest.column, 1);
      break;
    case 1:
      address = at(buffer, nest.row, 1, nest.column, 0);
      break;
    case 2:
      address = at(buffer, nest.row, 0, nest.column, 0);
      break;
    case 3:
      address = at(buffer, nest.row, 1, nest.column, nest.rows);
      break;
    case 4:
      address = at(buffer, nest.row, nest.columns, nest.column, -1);
      address.base = nest.columns - 1;
      break;
    default:
      break;
    }
    put(m, cg_load(&m->b, &address));
  }
  put(m, cg_index(&m->b, nest.row));
  put(m, cg_index(&m->b, nest.column));
}

static void store_outputs(struct maker *m, struct nest nest) {
  uint32_t count = 1 + below(m, 3);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t value = m->pool[m->pooled - 1 - below(m, m->pooled < 4 ? m->pooled : 4)];
    uint32_t buffer = add_output(m, dtype_of(m, value), nest.rows * nest.columns);
    struct cg_address address = at(buffer, nest.row, nest.columns, nest.column, 1);
    if (below(m, 4) == 0)
      address = at(buffer, nest.row, 1, nest.column, nest.rows);
    cg_store(&m->b, &address, value);
  }
}

static void make_elementwise(struct maker *m) {
  struct nest nest = open_nest(m);
  load_inputs(m, nest);
  uint32_t count = 3 + below(m, 16);
  for (uint32_t i = 0; i < count; i++)
    put(m, draw_op(m));
  store_outputs(m, nest);
  close_nest(m, nest);
}

// Math functions of loaded values, without operations after them that would enlarge their error.
static void make_math(struct maker *m) {
  struct nest nest = open_nest(m);
  load_inputs(m, nest);
  uint32_t value = draw_math(m, below(m, 4) ? DTG_F32 : DTG_F64);
  uint32_t buffer = add_output(m, dtype_of(m, value), nest.rows * nest.columns);
  struct cg_address address = at(buffer, nest.row, nest.columns, nest.column, 1);
  cg_store(&m->b, &address, value);
  close_nest(m, nest);
}

static void make_in_place(struct maker *m) {
  int64_t count = draw_size(m) * 3;
  uint32_t buffer = cg_buffer_add(m->kernel, "x", DTG_F32, count, true, true);
  uint32_t other = add_input(m, DTG_F32, count);
  int64_t extent = 1 + below(m, 200);
  uint32_t block = cg_loop_begin(&m->b, CG_LOOP_PARALLEL, (count + extent - 1) / extent);
  uint32_t loop = cg_loop_begin_block(&m->b, CG_LOOP_VECTOR, extent, block, count);
  struct cg_address address = at(buffer, loop, 1, 0, 0), second = at(other, loop, 1, 0, 0);
  uint32_t sum = cg_binary(&m->b, CG_SUB, cg_load(&m->b, &address), cg_load(&m->b, &second));
  cg_store(&m->b, &address, sum);
  cg_store(&m->b, &address, cg_binary(&m->b, CG_MUL, cg_load(&m->b, &address), sum));
  cg_loop_end(&m->b);
  cg_loop_end(&m->b);
}

static enum cg_accumulate draw_accumulate(struct maker *m, enum dtg_dtype dtype) {
  enum cg_accumulate kind = (enum cg_accumulate)(CG_ACCUMULATE_SUM + (int)below(m, 6));
  if (kind == CG_ACCUMULATE_PROD && is_real(dtype))
    kind = CG_ACCUMULATE_SUM; // products of floats run out of range
  if (kind == CG_ACCUMULATE_SUM && is_real(dtype))
    m->tolerance = (struct cg_tolerance){false, dtype == DTG_F32 ? 0x1p-24 : 0x1p-53};
  return kind;
}

static enum dtg_dtype draw_accumulated(struct maker *m) {
  static const enum dtg_dtype types[] = {DTG_F32, DTG_F32, DTG_F32, DTG_F64,
                                         DTG_I32, DTG_I64, DTG_U8};
  return types[below(m, 7)];
}

// The value that goes into a reduction: a load, sometimes with something exact done to it.
static uint32_t reduced_value(struct maker *m, struct cg_address address) {
  uint32_t value = cg_load(&m->b, &address);
  if (below(m, 2) == 0 && is_real(dtype_of(m, value)))
    value = cg_unary(&m->b, CG_ABS, value);
  return value;
}

static void accumulate(struct maker *m, uint32_t acc, enum cg_accumulate kind, uint32_t value,
                       uint32_t loop) {
  uint32_t index = cg_accumulate_is_arg(kind) ? cg_index(&m->b, loop) : CG_NO_VALUE;
  cg_acc_add(&m->b, acc, value, index);
}

// out[r] = reduce over c of in[r, c], and a second pass that uses it.
static void make_row_reduction(struct maker *m) {
  enum dtg_dtype dtype = draw_accumulated(m);
  enum cg_accumulate kind = draw_accumulate(m, dtype);
  int64_t rows = 1 + below(m, 9), columns = draw_size(m);
  uint32_t in = add_input(m, dtype, rows * columns);
  uint32_t row = cg_loop_begin(&m->b, CG_LOOP_PARALLEL, rows);
  uint32_t acc = cg_acc_new(&m->b, kind, dtype);
  uint32_t column = cg_loop_begin(&m->b, CG_LOOP_VECTOR, columns);
  bool transposed = below(m, 4) == 0;
  struct cg_address address =
      transposed ? at(in, row, 1, column, rows) : at(in, row, columns, column, 1);
  accumulate(m, acc, kind, reduced_value(m, address), column);
  cg_loop_end(&m->b);
  uint32_t result = cg_acc_read(&m->b, acc);
  uint32_t out = add_output(m, dtype_of(m, result), rows);
  address = at(out, row, 1, 0, 0);
  cg_store(&m->b, &address, result);
  cg_loop_end(&m->b);
}

// out[c] = reduce over r of in[r, c]: lanes stay apart.
static void make_column_reduction(struct maker *m) {
  enum dtg_dtype dtype = draw_accumulated(m);
  enum cg_accumulate kind = draw_accumulate(m, dtype);
  int64_t rows = 1 + below(m, 40), columns = draw_size(m);
  if (is_real(dtype))
    m->tolerance = (struct cg_tolerance){.exact = true}; // the same order of additions
  uint32_t in = add_input(m, dtype, rows * columns);
  int64_t extent = 1 + below(m, 200);
  uint32_t block = cg_loop_begin(&m->b, CG_LOOP_PARALLEL, (columns + extent - 1) / extent);
  uint32_t column = cg_loop_begin_block(&m->b, CG_LOOP_VECTOR, extent, block, columns);
  uint32_t acc = cg_acc_new(&m->b, kind, dtype);
  uint32_t row = cg_loop_begin(&m->b, CG_LOOP_SEQUENTIAL, rows);
  accumulate(m, acc, kind, reduced_value(m, at(in, row, columns, column, 1)), row);
  cg_loop_end(&m->b);
  uint32_t result = cg_acc_read(&m->b, acc);
  uint32_t out = add_output(m, dtype_of(m, result), columns);
  struct cg_address address = at(out, column, 1, 0, 0);
  cg_store(&m->b, &address, result);
  cg_loop_end(&m->b);
  cg_loop_end(&m->b);
}

// out[b] = reduce over block b and rows, with one value added outside the vector loop.
static void make_block_reduction(struct maker *m) {
  enum dtg_dtype dtype = draw_accumulated(m);
  enum cg_accumulate kind = draw_accumulate(m, dtype);
  int64_t rows = 1 + below(m, 5), columns = draw_size(m), extent = 1 + below(m, 180);
  int64_t blocks = (columns + extent - 1) / extent;
  uint32_t in = add_input(m, dtype, rows * columns);
  uint32_t block = cg_loop_begin(&m->b, CG_LOOP_PARALLEL, blocks);
  uint32_t acc = cg_acc_new(&m->b, kind, dtype);
  struct cg_address first = at(in, 0, 0, 0, 0);
  uint32_t extra = cg_load(&m->b, &first);
  if (below(m, 2) && !cg_accumulate_is_arg(kind))
    cg_acc_add(&m->b, acc, extra, CG_NO_VALUE);
  uint32_t row = cg_loop_begin(&m->b, CG_LOOP_SEQUENTIAL, rows);
  uint32_t column = cg_loop_begin_block(&m->b, CG_LOOP_VECTOR, extent, block, columns);
  accumulate(m, acc, kind, reduced_value(m, at(in, row, columns, column, 1)), column);
  cg_loop_end(&m->b);
  cg_loop_end(&m->b);
  uint32_t result = cg_acc_read(&m->b, acc);
  uint32_t out = add_output(m, dtype_of(m, result), blocks);
  struct cg_address address = at(out, block, 1, 0, 0);
  cg_store(&m->b, &address, result);
  cg_loop_end(&m->b);
}

// out[i, c] = table[index[i], c] and out2[c] = table[index[c]], with checks of the index.
static void make_gather(struct maker *m) {
  enum dtg_dtype dtype = draw_dtype(m);
  int64_t entries = 1 + below(m, 20), count = 1 + below(m, 40), columns = draw_size(m);
  m->index_limit = entries + 2;
  uint32_t table = add_input(m, dtype, entries * columns);
  uint32_t indices =
      add_input(m, below(m, 2) ? DTG_I64 : DTG_I32, count > columns ? count : columns);
  uint32_t out = add_output(m, dtype, count * columns);
  uint32_t direct = add_output(m, dtype, count * columns);
  uint32_t i = cg_loop_begin(&m->b, CG_LOOP_PARALLEL, count);
  uint32_t limit = cg_const_i(&m->b, DTG_I64, entries - 1);
  struct cg_address address = at(indices, i, 1, 0, 0);
  uint32_t which = cg_cast(&m->b, cg_load(&m->b, &address), DTG_I64);
  uint32_t position = cg_index(&m->b, i);
  cg_check(&m->b, cg_binary(&m->b, CG_LE, which, limit), position, which, 1);
  uint32_t safe = cg_binary(&m->b, CG_MIN, which, limit);
  uint32_t c = cg_loop_begin(&m->b, CG_LOOP_VECTOR, columns);
  address = at(table, c, 1, 0, 0);
  address.dynamic = safe;
  address.dynamic_coef = columns;
  uint32_t value = cg_load(&m->b, &address);
  address = at(out, i, columns, c, 1);
  cg_store(&m->b, &address, value);
  address = at(indices, c, 1, 0, 0);
  uint32_t other = cg_cast(&m->b, cg_load(&m->b, &address), DTG_I64);
  cg_check(&m->b, cg_binary(&m->b, CG_LT, other, cg_const_i(&m->b, DTG_I64, entries)),
           cg_index(&m->b, c), other, 2);
  address = at(table, c, 1, 0, 0);
  address.dynamic = cg_binary(&m->b, CG_MIN, other, limit);
  address.dynamic_coef = columns;
  value = cg_load(&m->b, &address);
  address = at(direct, i, columns, c, 1);
  cg_store(&m->b, &address, value);
  cg_loop_end(&m->b);
  cg_loop_end(&m->b);
}

// table[index[i], c] += in[i, c], rows one after another.
static void make_scatter(struct maker *m) {
  int64_t entries = 1 + below(m, 10), count = 1 + below(m, 30), columns = draw_size(m);
  m->index_limit = entries;
  uint32_t table = cg_buffer_add(m->kernel, "table", DTG_F32, entries * columns, true, true);
  uint32_t indices = add_input(m, DTG_I32, count);
  uint32_t in = add_input(m, DTG_F32, count * columns);
  cg_loop_begin(&m->b, CG_LOOP_PARALLEL, 1);
  uint32_t i = cg_loop_begin(&m->b, CG_LOOP_SEQUENTIAL, count);
  struct cg_address address = at(indices, i, 1, 0, 0);
  uint32_t which = cg_cast(&m->b, cg_load(&m->b, &address), DTG_I64);
  uint32_t c = cg_loop_begin(&m->b, CG_LOOP_VECTOR, columns);
  address = at(in, i, columns, c, 1);
  uint32_t value = cg_load(&m->b, &address);
  address = at(table, c, 1, 0, 0);
  address.dynamic = which;
  address.dynamic_coef = columns;
  cg_store(&m->b, &address, cg_binary(&m->b, CG_ADD, cg_load(&m->b, &address), value));
  cg_loop_end(&m->b);
  cg_loop_end(&m->b);
  cg_loop_end(&m->b);
}

// Row-wise softmax: two reductions, a broadcast between them, three vector loops.
static void make_softmax(struct maker *m) {
  int64_t rows = 1 + below(m, 9), columns = draw_size(m);
  m->tolerance = (struct cg_tolerance){false, 0x1p-24};
  uint32_t in = add_input(m, DTG_F32, rows * columns);
  uint32_t out = add_output(m, DTG_F32, rows * columns);
  uint32_t row = cg_loop_begin(&m->b, CG_LOOP_PARALLEL, rows);
  uint32_t most = cg_acc_new(&m->b, CG_ACCUMULATE_MAX, DTG_F32);
  uint32_t sum = cg_acc_new(&m->b, CG_ACCUMULATE_SUM, DTG_F32);
  uint32_t c = cg_loop_begin(&m->b, CG_LOOP_VECTOR, columns);
  struct cg_address address = at(in, row, columns, c, 1);
  cg_acc_add(&m->b, most, cg_load(&m->b, &address), CG_NO_VALUE);
  cg_loop_end(&m->b);
  uint32_t top = cg_acc_read(&m->b, most);
  c = cg_loop_begin(&m->b, CG_LOOP_VECTOR, columns);
  address = at(in, row, columns, c, 1);
  uint32_t e = cg_unary(&m->b, CG_EXP, cg_binary(&m->b, CG_SUB, cg_load(&m->b, &address), top));
  cg_acc_add(&m->b, sum, e, CG_NO_VALUE);
  cg_loop_end(&m->b);
  uint32_t whole = cg_acc_read(&m->b, sum);
  c = cg_loop_begin(&m->b, CG_LOOP_VECTOR, columns);
  address = at(in, row, columns, c, 1);
  e = cg_unary(&m->b, CG_EXP, cg_binary(&m->b, CG_SUB, cg_load(&m->b, &address), top));
  address = at(out, row, columns, c, 1);
  cg_store(&m->b, &address, cg_binary(&m->b, CG_DIV, e, whole));
  cg_loop_end(&m->b);
  cg_loop_end(&m->b);
}

// The same operations on scalars, without any vector loop.
static void make_scalar(struct maker *m) {
  struct nest nest = {1 + below(m, 4), 1 + below(m, 20), 0, 0, 2};
  nest.row = cg_loop_begin(&m->b, CG_LOOP_PARALLEL, nest.rows);
  nest.column = cg_loop_begin(&m->b, CG_LOOP_SEQUENTIAL, nest.columns);
  load_inputs(m, nest);
  uint32_t count = 3 + below(m, 12);
  for (uint32_t i = 0; i < count; i++)
    put(m, draw_op(m));
  store_outputs(m, nest);
  close_nest(m, nest);
}

struct family {
  const char *name;
  void (*make)(struct maker *m);
};

static const struct family families[] = {
    {"elementwise", make_elementwise},
    {"math", make_math},
    {"in_place", make_in_place},
    {"row_reduction", make_row_reduction},
    {"column_reduction", make_column_reduction},
    {"block_reduction", make_block_reduction},
    {"gather", make_gather},
    {"scatter", make_scatter},
    {"softmax", make_softmax},
    {"scalar", make_scalar},
};

uint32_t cg_family_count(void) {
  return sizeof families / sizeof *families;
}

const char *cg_family_name(uint32_t family) {
  return families[family].name;
}

struct cg_sample cg_generate(struct dtg_arena *arena, uint32_t family, uint64_t seed,
                             const char *name) {
  struct maker m = {
      .random = {seed}, .tolerance = {.exact = true, .relative = 0}, .index_limit = 100};
  m.kernel = cg_kernel_new(arena, name, families[family].name, DTG_SPAN_NONE);
  cg_builder_init(&m.b, m.kernel);
  families[family].make(&m);
  int64_t largest = 0;
  for (size_t i = 0; i < m.kernel->buffers.len; i++)
    if (m.kernel->buffers.data[i].elements > largest)
      largest = m.kernel->buffers.data[i].elements;
  m.tolerance.relative *= 8 + (double)largest;
  return (struct cg_sample){m.kernel, m.tolerance, m.index_limit};
}
