/* Kernel IR: what a device computes in one launch, as a loop nest over scalars, or a library call.
 *
 * Purpose: the form between the op table and the backends. Lowering builds it, backends print it; a
 * backend never sees an op. Ownership: everything lives in the builder's arena. Threads: none.
 *
 * A kernel is a list of instructions in one array; loops hold the ids of the instructions of their
 * body in order. The meaning is scalar: one instruction, one value. A VECTOR loop promises that its
 * iterations are independent (but for accumulators), so a backend runs W at a time; values from
 * outside the loop are splat. The tail of a vector loop is the same code under a mask, so an
 * element gets the same bits wherever it lies. Nothing is contracted: FMA is an instruction of its
 * own.
 *
 * Accumulators: CG_ACC_NEW declares one in the scope where it stands, CG_ACC_ADD combines a value
 * into it from an inner loop, CG_ACC_READ (after those loops, in the scope of the declaration)
 * gives the result. If a VECTOR loop lies between declaration and update, the backend keeps
 * CG_UNROLL vectors of lanes (fixed by the plan's cpu_arch, never by the extent) and combines them
 * by a fixed binary tree at the read; that is the "kernel's fixed order" of semantics.md.
 *
 * The outermost loop is PARALLEL: the compiled function runs iterations [begin, end) of it, so that
 * threads can share a kernel; its extent is `tiles`. Iterations are independent and the bits do not
 * depend on how they are dealt out.
 */
#ifndef DTG_IR_KERNEL_H
#define DTG_IR_KERNEL_H

#include "compiler/base/arena.h"
#include "compiler/base/source.h"
#include "compiler/base/vec.h"
#include "compiler/ir/type.h"

struct dtg_strbuf;

enum { CG_MAX_LOOPS = 12, CG_NO_VALUE = UINT32_MAX };

enum cg_loop_kind { CG_LOOP_PARALLEL, CG_LOOP_SEQUENTIAL, CG_LOOP_VECTOR };

enum cg_accumulate {
  CG_ACCUMULATE_NONE,
  CG_ACCUMULATE_SUM,
  CG_ACCUMULATE_PROD,
  CG_ACCUMULATE_MAX,    /* NaN wins */
  CG_ACCUMULATE_MIN,    /* NaN wins */
  CG_ACCUMULATE_ARGMAX, /* operands value, index (i64); the lowest index wins a tie, NaN beats all;
                         * reads the index */
  CG_ACCUMULATE_ARGMIN
};

/* The scalar type of a value. Memory types are dtg_dtype; bf16 and u8 and bool are widened by
 * CG_CAST after a load: a load yields the memory type. Compare results are CG bool = DTG_BOOL. */
enum cg_op {
  /* structure */
  CG_LOOP,  /* loop field */
  CG_INDEX, /* the loop's iteration number as i64: 0 .. extent-1, plus its start (see cg_loop) */
  /* memory: buffer, affine address, optional dynamic index */
  CG_LOAD,
  CG_STORE, /* operand 0 = value */
  /* accumulators */
  CG_ACC_NEW,  /* accumulate, dtype */
  CG_ACC_ADD,  /* operand 0 = accumulator, 1 = value, 2 = index (arg kinds) */
  CG_ACC_READ, /* operand 0 = accumulator; arg kinds give i64 */
  /* values */
  CG_CONST, /* f (floats) or i (integers, bool) */
  CG_ADD,
  CG_SUB,
  CG_MUL,
  CG_DIV,
  CG_REM, /* integers wrap; division truncates, x / 0 = x rem 0 = 0;
           * floats: IEEE, REM = fmod */
  CG_FMA, /* a * b + c, rounded once; floats */
  CG_MIN,
  CG_MAX, /* NaN wins; of equal zeros the first; integers as signed (u8 unsigned) */
  CG_NEG,
  CG_ABS,
  CG_FLOOR,
  CG_SQRT,
  CG_EQ,
  CG_NE,
  CG_LT,
  CG_LE,
  CG_GT,
  CG_GE, /* bool; ordered, but NE is unordered */
  CG_AND,
  CG_OR,
  CG_XOR,
  CG_NOT, /* bool, and bitwise for integers */
  CG_SHL,
  CG_SHR,     /* i32/i64, SHR is logical; count modulo the width */
  CG_SELECT,  /* operand 0 bool ? 1 : 2 */
  CG_CAST,    /* to dtype; float to integer truncates and saturates, NaN gives 0; integer to integer
               * wraps; to bool: != 0; to bf16: to f32, then nearest even */
  CG_BITCAST, /* same size, not bool */
  /* math, f32 and f64, error bounds in codegen/llvm/math.h */
  CG_EXP,
  CG_LOG,
  CG_TANH,
  CG_SIGMOID,
  CG_ERF,
  CG_SIN,
  CG_COS,
  CG_POW,
  CG_LOG1P,
  CG_EXPM1,
  /* Philox 4x32-10: operands key (i64), counter low (i64), counter high (i64); `i` = word 0..3 of
   * the result, as i32. key = low 32 bits then high 32 bits; counter words likewise. */
  CG_PHILOX,
  /* Run-time check: operand 0 bool must hold, else the first failure is recorded in the task's
   * fault record with operand 1 (i64: element position) and operand 2 (i64: the value); `i` = fault
   * code. The kernel goes on, so a checked index must be clamped (CG_MIN, CG_MAX) before it
   * addresses. */
  CG_CHECK,
  CG_OP_COUNT
};

/* Address in elements: base + sum coef[l] * index(loop l) + dynamic_coef * dynamic. `loops` are the
 * ids of CG_LOOP instructions. */
struct cg_address {
  uint32_t buffer; /* index into the kernel's buffers */
  int64_t base;
  uint32_t term_count;
  struct cg_term {
    uint32_t loop;
    int64_t coef;
  } terms[CG_MAX_LOOPS];
  uint32_t dynamic; /* i64 value or CG_NO_VALUE */
  int64_t dynamic_coef;
};

struct cg_loop {
  enum cg_loop_kind kind;
  int64_t extent;
  /* Blocked loops: iterations run from outer*extent to min(total, (outer+1)*extent) where outer is
   * the index of loop `block_of`; CG_INDEX and addresses then see the absolute number. CG_NO_VALUE:
   * 0 to extent. */
  uint32_t block_of;
  int64_t total;
  DTG_VEC(uint32_t) body; /* instruction ids in order */
};

struct cg_inst {
  enum cg_op op;
  enum dtg_dtype dtype; /* of the value */
  uint32_t operands[3]; /* CG_NO_VALUE where unused */
  union {
    double f;
    int64_t i;
    enum cg_accumulate accumulate;
    uint32_t loop; /* CG_INDEX: the CG_LOOP instruction */
    struct cg_address *address;
    struct cg_loop *nest; /* CG_LOOP */
  } u;
};

struct cg_buffer {
  const char *name; /* for comments: variable or path */
  enum dtg_dtype dtype;
  int64_t elements;
  bool written;
  bool read;
  bool unaligned; /* an entry of a stack: begins at any multiple of the element's size */
  /* Writes may lie on this input buffer's memory (same element, read before it is written at the
   * same iteration); CG_NO_VALUE: none. A hint for the schedule's in-place decision. */
  uint32_t may_alias;
};

enum cg_kernel_kind { CG_KERNEL_LOOPS, CG_KERNEL_GEMM, CG_KERNEL_WINDOW };

/* C[b] = op(A[b]) op(B[b]) + beta * C[b], row-major f32. Buffers 0, 1, 2 = A, B, C. Strides between
 * matrices of a batch in elements (0: the same matrix). Computed by a library, one thread a call;
 * the tiles are the batch entries times `row_tiles`, each `tile_rows` rows of C (the last may be
 * short), which the compiler fixed. */
struct cg_gemm {
  int64_t batch, m, n, k;
  int64_t stride_a, stride_b, stride_c;
  bool transpose_a, transpose_b;
  float beta;
  int64_t tile_rows, row_tiles;
};

/* Convolutions and poolings: a window that moves over the rows and columns of images. x is the
 * image that the windows lie on, [batch, rows, columns, channels]; y has one pixel a window; w is
 * [kernel rows, kernel columns, x channels / groups, y channels], and group g makes the g-th slice
 * of the channels of y. Window position p lies at p * stride - before, its elements `dilation`
 * apart. Before the first and behind the last row lie `before` and `after` rows that are zero for a
 * convolution and do not exist for a pooling. */
enum cg_window_kind {
  CG_WINDOW_NONE,
  CG_WINDOW_CONV,          /* buffers x, w, y */
  CG_WINDOW_CONV_DATA,     /* y, w, x: the transpose of CONV as a function of x */
  CG_WINDOW_CONV_WEIGHTS,  /* x, y, w: the transpose of CONV as a function of w */
  CG_WINDOW_MAX_POOL,      /* x, y */
  CG_WINDOW_MAX_POOL_GRAD, /* x, y, x: each y goes to the first largest x of its window */
  CG_WINDOW_AVG_POOL,      /* x, y: the mean of the pixels of the window that exist */
  CG_WINDOW_AVG_POOL_GRAD  /* y, x */
};

/* Computed by a library, one thread a call; tiles are runs of `tile_images` images (the last may be
 * short), which the compiler fixed; CONV_WEIGHTS, which sums over images, has one. Index 0: rows,
 * 1: columns. The buffer behind those of the kind is scratch. */
struct cg_window {
  enum cg_window_kind kind;
  int64_t batch, groups;
  int64_t x_size[2], x_channels;
  int64_t y_size[2], y_channels;
  int64_t kernel[2], stride[2], dilation[2], before[2], after[2];
  int64_t tile_images;
};

struct cg_kernel {
  const char *name;     /* C identifier, unique in the program: "k12_fc1_relu" */
  const char *comment;  /* what it computes, from the model's names */
  struct dtg_span span; /* first source expression */
  enum cg_kernel_kind kind;
  struct dtg_arena *arena;
  DTG_VEC(struct cg_buffer) buffers;
  DTG_VEC(struct cg_inst) insts;
  uint32_t root; /* the PARALLEL loop (CG_KERNEL_LOOPS) */
  int64_t tiles; /* iterations that threads may share */
  struct cg_gemm gemm;
  struct cg_window window;
};

/* Builder: appends to the innermost open loop. */
struct cg_builder {
  struct cg_kernel *kernel;
  uint32_t stack[CG_MAX_LOOPS + 1]; /* open CG_LOOP instructions */
  uint32_t depth;
};

struct cg_kernel *cg_kernel_new(struct dtg_arena *arena, const char *name, const char *comment,
                                struct dtg_span span);
uint32_t cg_buffer_add(struct cg_kernel *kernel, const char *name, enum dtg_dtype dtype,
                       int64_t elements, bool read, bool written);
void cg_builder_init(struct cg_builder *builder, struct cg_kernel *kernel);
/* Opens a loop of `extent`; close with cg_loop_end. Returns the CG_LOOP id. */
uint32_t cg_loop_begin(struct cg_builder *builder, enum cg_loop_kind kind, int64_t extent);
/* A loop over block number index(block_of) of a range of `total` cut into blocks of `extent`. */
uint32_t cg_loop_begin_block(struct cg_builder *builder, enum cg_loop_kind kind, int64_t extent,
                             uint32_t block_of, int64_t total);
void cg_loop_end(struct cg_builder *builder);
uint32_t cg_index(struct cg_builder *builder, uint32_t loop);
uint32_t cg_const_f(struct cg_builder *builder, enum dtg_dtype dtype, double value);
uint32_t cg_const_i(struct cg_builder *builder, enum dtg_dtype dtype, int64_t value);
uint32_t cg_load(struct cg_builder *builder, const struct cg_address *address);
void cg_store(struct cg_builder *builder, const struct cg_address *address, uint32_t value);
uint32_t cg_unary(struct cg_builder *builder, enum cg_op op, uint32_t a);
uint32_t cg_binary(struct cg_builder *builder, enum cg_op op, uint32_t a, uint32_t b);
uint32_t cg_fma(struct cg_builder *builder, uint32_t a, uint32_t b, uint32_t c);
uint32_t cg_select(struct cg_builder *builder, uint32_t condition, uint32_t a, uint32_t b);
uint32_t cg_cast(struct cg_builder *builder, uint32_t a, enum dtg_dtype dtype);
uint32_t cg_bitcast(struct cg_builder *builder, uint32_t a, enum dtg_dtype dtype);
uint32_t cg_philox(struct cg_builder *builder, uint32_t key, uint32_t low, uint32_t high, int word);
void cg_check(struct cg_builder *builder, uint32_t condition, uint32_t position, uint32_t value,
              int64_t code);
uint32_t cg_acc_new(struct cg_builder *builder, enum cg_accumulate kind, enum dtg_dtype dtype);
void cg_acc_add(struct cg_builder *builder, uint32_t acc, uint32_t value, uint32_t index);
uint32_t cg_acc_read(struct cg_builder *builder, uint32_t acc);

/* "add", "argmax", ...; operands of an op (CG_ACC_ADD: 2, or 3 for the arg kinds). */
const char *cg_op_name(enum cg_op op);
uint32_t cg_op_arity(enum cg_op op);
const char *cg_accumulate_name(enum cg_accumulate kind);
bool cg_accumulate_is_arg(enum cg_accumulate kind);

/* Buffers of a window kernel, without scratch; the last one is the result. */
uint32_t cg_window_buffers(enum cg_window_kind kind);
const char *cg_window_name(enum cg_window_kind kind);
/* What the functions below do for kernels of the kind WINDOW. */
void cg_window_print(const struct cg_window *window, struct dtg_strbuf *out);
const char *cg_window_refuse(const struct cg_kernel *kernel); /* the reason, or NULL */
void cg_window_interpret(const struct cg_window *window, void *const *buffers);

/* Text form, deterministic, for --emit=kernels and goldens. */
void cg_kernel_print(const struct cg_kernel *kernel, struct dtg_strbuf *out);
/* Checks scopes, types, addresses within buffers; false with a reason in `why`. */
bool cg_kernel_verify(const struct cg_kernel *kernel, struct dtg_strbuf *why);
/* Scalar interpreter: the meaning of the IR in plain C (f32 arithmetic, libm math), for tests.
 * `buffers` in the order of kernel->buffers. Every kind of kernel. */
void cg_kernel_interpret(const struct cg_kernel *kernel, void *const *buffers);
/* The same, keeping the first failed check: code, position, value (code 0 on entry). */
void cg_kernel_interpret_fault(const struct cg_kernel *kernel, void *const *buffers,
                               int64_t fault[3]);

#endif
