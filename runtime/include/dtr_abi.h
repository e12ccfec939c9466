/* The contract between the host program that dtgc writes and the runtime.
 *
 * Purpose: the only header both sides include. The host program holds one constant `struct
 * dtr_program` made of static tables, a few functions that call kernels in plan order, and a main
 * that hands it to `dtr_main`. Ownership: tables are constant data of the program. Threads: a frame
 * is used by one thread (and the team that it lends tiles to); the tables are read by all.
 *
 * All offsets and sizes are bytes unless a name says otherwise. Every buffer is 64-byte aligned.
 */
#ifndef DTR_ABI_H
#define DTR_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DTR_ABI_VERSION = 1, DTR_ALIGN = 64, DTR_MAX_RANK = 8 };

enum dtr_dtype { DTR_F32, DTR_F64, DTR_BF16, DTR_I32, DTR_I64, DTR_U8, DTR_BOOL };

/* ---- what compiled kernels see ---- */

/* First failed check of a frame; code 0 = none. `position`: flat element position in the checked
 * tensor of the shard; `value`: what was there. The n-th range check of a kernel has the code RANGE
 * + n * STEP. LIBRARY is the runtime's own: a call of the library failed; position = the number of
 * the product or window, value = the library's status. */
enum dtr_fault_code {
  DTR_FAULT_NONE = 0,
  DTR_FAULT_RANGE = 1,
  DTR_FAULT_LIBRARY = 2,
  DTR_FAULT_STEP = 16
};
struct dtr_fault {
  int64_t code, position, value;
};

/* Loop kernels run iterations [begin, end) of their outermost loop. */
typedef void dtr_kernel_fn(char *const *buffers, struct dtr_fault *fault, int64_t begin,
                           int64_t end);

/* Matrix product through the library: C = op(A) op(B) + beta C, row-major f32, batched; `row_tiles`
 * tiles of `tile_rows` rows of C per matrix (the last may be short). Strides in elements. */
struct dtr_gemm {
  int64_t batch, m, n, k;
  int64_t stride_a, stride_b, stride_c;
  bool transpose_a, transpose_b;
  float beta;
  int64_t tile_rows, row_tiles;
  int64_t scratch_bytes; /* per thread, queried when it was compiled; a larger one is refused at
                            start */
};

/* A convolution or pooling through the library: `x` are images [batch, rows, columns, channels],
 * `y` has a pixel for each window, weights are [kernel rows, kernel columns, x channels / groups, y
 * channels]. Buffers and meaning of a kind: compiler/ir/kernel.h. Index 0: rows, 1: columns. Tiles
 * of `tile_images` images, the last may be short. */
enum dtr_window_kind {
  DTR_WINDOW_CONV = 1,
  DTR_WINDOW_CONV_DATA,
  DTR_WINDOW_CONV_WEIGHTS,
  DTR_WINDOW_MAX_POOL,
  DTR_WINDOW_MAX_POOL_GRAD,
  DTR_WINDOW_AVG_POOL,
  DTR_WINDOW_AVG_POOL_GRAD
};
struct dtr_window {
  enum dtr_window_kind kind;
  int64_t batch, groups;
  int64_t x_size[2], x_channels;
  int64_t y_size[2], y_channels;
  int64_t kernel[2], stride[2], dilation[2], before[2], after[2];
  int64_t tile_images;
  int64_t scratch_bytes; /* as for products */
};

/* Run-time scalars of a frame; kernels load them as i64 buffers. */
struct dtr_scalars {
  int64_t step;        /* from 0 */
  int64_t updates;     /* from 1: number of the update being made */
  int64_t total_steps; /* 0 while unknown */
  int64_t shard;       /* 0 .. shards-1 */
  int64_t seed;
};

struct dtr_team;    /* runtime: threads that share the tiles of a kernel */
struct dtr_library; /* runtime: the library's handles of one thread */
struct dtr_watch;   /* runtime: looks at the outputs of every kernel, to find the first NaN */
struct dtr_program;

/* What one call of a generated function works on. */
struct dtr_frame {
  char *arena;        /* scratch of this thread, `arena_bytes` of the function */
  char *variables;    /* parameters, states, slots */
  char *contribution; /* train: written by the shard. update: the reduced one, read */
  char *const *feeds; /* per model input: the rows of this shard */
  const struct dtr_scalars *scalars;
  struct dtr_fault fault;
  const struct dtr_program *program;
  struct dtr_library *library;
  struct dtr_team *team;   /* NULL: alone */
  struct dtr_watch *watch; /* NULL: off */
  bool plain;              /* team == NULL and watch == NULL: kernels are called directly */
};
typedef void dtr_function(struct dtr_frame *frame);

/* The paths that are not plain; in the runtime. `kernel` indexes program->kernels. */
void dtr_kernel_run(struct dtr_frame *frame, uint32_t kernel, dtr_kernel_fn *fn,
                    char *const *buffers, int64_t tiles);
/* Runs program->gemms[gemm] on `a`, `b`, `c`; `scratch` points to gemm.scratch_bytes in the arena.
 */
void dtr_gemm_run(struct dtr_frame *frame, uint32_t kernel, uint32_t gemm, const char *a,
                  const char *b, char *c, char *scratch);

/* Runs program->windows[window] on `buffers`: those of its kind, then scratch as above. */
void dtr_window_run(struct dtr_frame *frame, uint32_t kernel, uint32_t window,
                    char *const *buffers);

static inline void dtr_kernel(struct dtr_frame *frame, uint32_t kernel, dtr_kernel_fn *fn,
                              char *const *buffers, int64_t tiles) {
  if (__builtin_expect(frame->plain, 1))
    fn(buffers, &frame->fault, 0, tiles);
  else
    dtr_kernel_run(frame, kernel, fn, buffers, tiles);
}

/* ---- tables ---- */

/* A range check of a kernel. */
struct dtr_check {
  const char *what;  /* what it guards, such as "label" */
  const char *where; /* "std/losses.dtg:8:13" */
  const char *input; /* the input that the values come from; NULL if none does */
  int64_t limit;     /* values are below it */
  int64_t row;       /* elements of an example; 0 without an input */
};

/* Per kernel, for messages and the trace; outputs for the NaN search. */
struct dtr_kernel_desc {
  const char *name;    /* "k3_fc1" */
  const char *comment; /* "fc1: relu(x @ w + b)" */
  const char *where;   /* "fashion.dtg:14:12" */
  const struct dtr_check *checks;
  uint32_t check_count;
  uint32_t output_count;
  struct dtr_kernel_output {
    uint32_t buffer; /* position in the kernel's buffer list (gemm: 2 = C) */
    enum dtr_dtype dtype;
    int64_t elements;
    const char *name;
  } outputs[8];
};

enum dtr_variable_kind { DTR_VARIABLE_PARAM, DTR_VARIABLE_STATE, DTR_VARIABLE_SLOT };
enum dtr_init_kind {
  DTR_INIT_ZEROS,
  DTR_INIT_ONES,
  DTR_INIT_CONSTANT,
  DTR_INIT_NORMAL,
  DTR_INIT_TRUNCATED_NORMAL,
  DTR_INIT_UNIFORM,
  DTR_INIT_GLOROT_UNIFORM,
  DTR_INIT_GLOROT_NORMAL,
  DTR_INIT_HE_NORMAL,
  DTR_INIT_HE_UNIFORM,
  DTR_INIT_ORTHOGONAL
};

struct dtr_variable {
  const char *path; /* "fc1.w"; slots "fc1.w:v"; canonical order in the table */
  enum dtr_variable_kind kind;
  enum dtr_dtype dtype;
  uint32_t rank;
  int64_t dims[DTR_MAX_RANK];
  int64_t elements;
  int64_t offset; /* in `variables` */
  enum dtr_init_kind init;
  double a, b; /* constant: a; normal: mean a, stddev b; uniform: low a, high b */
  const char *where;
};

/* One tensor of a contribution: what a shard adds to the step. Combined over shards by the fixed
 * tree: add, or maximum. For loss and metrics the mean over shards is taken after that (1/shards).
 */
enum dtr_contribution_kind {
  DTR_CONTRIBUTION_LOSS,
  DTR_CONTRIBUTION_METRIC,
  DTR_CONTRIBUTION_GRAD,
  DTR_CONTRIBUTION_STATE
};
/* A sparse gradient: rows of a table, instead of the whole. In a block: at `count` their number
 * (int32_t), at `ids` the ids (int32_t, ascending, each once), at the contribution's offset the
 * values. A shard writes `picks` ids in any order, also such as are no rows of the table, with a
 * row of values for each; the runtime makes the list of it. There is room for `capacity` rows:
 * whole blocks, as kernels of the update work on those. */
enum dtr_rows_kind {
  DTR_ROWS_NONE,   /* dense */
  DTR_ROWS_PASS,   /* the update passes over the whole table: absent rows have the gradient 0 */
  DTR_ROWS_TOUCHED /* only rows of the list are updated, and published */
};
struct dtr_row_list {
  enum dtr_rows_kind kind;
  int64_t rows, width; /* of the table; elements of a row */
  int64_t picks, capacity;
  int64_t count, ids; /* offsets in the block */
};
struct dtr_contribution {
  const char *name; /* "" for the loss, metric name, parameter path, state path */
  enum dtr_contribution_kind kind;
  enum dtr_dtype dtype; /* f32, or i64/i32 for integer states */
  int64_t elements;     /* of the whole tensor */
  int64_t offset;       /* in the contribution block */
  bool maximum;         /* combine by maximum instead of addition */
  bool mean; /* the update divides by the shards: where shards are absent, by those present */
  struct dtr_row_list list;
};

/* A data source: one column's values. Files first, then generators. */
enum dtr_source_kind {
  DTR_SOURCE_IDX,
  DTR_SOURCE_NPY,
  DTR_SOURCE_NPZ,
  DTR_SOURCE_CSV,
  DTR_SOURCE_SAFETENSORS,
  DTR_SOURCE_CIFAR10,
  DTR_SOURCE_BYTES,
  DTR_SOURCE_TOKENS,
  DTR_SOURCE_RANDOM_NORMAL,
  DTR_SOURCE_RANDOM_UNIFORM,
  DTR_SOURCE_RANDOM_INT,
  DTR_SOURCE_RANGE
};
struct dtr_column {
  const char *name; /* the model input that it feeds (or unused) */
  enum dtr_source_kind kind;
  const char *path;   /* files; as written */
  const char *member; /* csv: column; npz, safetensors: name; cifar10: "image" or "label"; tokens:
                         element type of the file */
  int64_t rows;       /* generators: number of examples */
  uint32_t rank;      /* generators: shape of one example */
  int64_t dims[DTR_MAX_RANK];
  enum dtr_dtype dtype; /* generators: of the values */
  double a, b;          /* normal: mean, stddev; uniform: low, high; int: low, high (exclusive) */
  int64_t seed;
  const char *where;

  uint32_t category_count; /* csv: 0 = the cells are numbers */
  const char *const *categories;
  int64_t limit;          /* tokens: all are below; 0 = not checked */
  bool is_test;           /* cifar10: of a folder, the test file */
  int64_t window, stride; /* an example is `window` rows, `stride` rows behind the one before; 0 =
                             one row */
};

enum dtr_transform_kind { DTR_TRANSFORM_SHUFFLE, DTR_TRANSFORM_TAKE, DTR_TRANSFORM_SKIP };
struct dtr_transform {
  enum dtr_transform_kind kind;
  int64_t value; /* take, skip: examples; shuffle: seed */
  bool has_seed; /* shuffle: false = the training seed */
};

struct dtr_dataset {
  const char *name;
  uint32_t column_count;
  const struct dtr_column *columns;
  uint32_t transform_count;
  const struct dtr_transform *transforms; /* in order */
  const char *where;
};

/* Where a value lies during or after a call. */
enum dtr_space {
  DTR_SPACE_ARENA,
  DTR_SPACE_VARIABLE,
  DTR_SPACE_CONTRIBUTION,
  DTR_SPACE_SCALAR,
  DTR_SPACE_FEED
};
struct dtr_place {
  enum dtr_space space;
  uint32_t index; /* feed: which input */
  int64_t offset;
};

/* `output name = ...` of the model, computed by evaluation. */
struct dtr_output {
  const char *name;
  enum dtr_dtype dtype;
  uint32_t rank; /* of one example; of the whole value if it is none by example */
  int64_t dims[DTR_MAX_RANK];
  int64_t row_bytes;
  bool by_example;             /* its first axis is the examples */
  struct dtr_place eval, tail; /* after a call of the part */
  const char *where;
};

/* A model input: a column of the data set in use, one row an example. */
struct dtr_input {
  const char *name;
  enum dtr_dtype dtype;
  uint32_t rank; /* of one example */
  int64_t dims[DTR_MAX_RANK];
  int64_t row_bytes;
  const char *where;
  bool needed; /* some output depends on it */
};

/* ---- replication (semantics.md 1-4): the maps of a strategy as families ----
 *
 * Tasks are numbered over jobs in order; devices over tasks in order, a task's CPUs before its
 * GPUs. A program with `replication` NULL has one replica on one device, which also owns
 * everything. */

struct dtr_job {
  const char *name;
  uint32_t tasks, cpu, gpu; /* tasks; devices per task */
  uint32_t threads;         /* per task; 0: as many as the machine has */
};

/* Replica r of [first, first + outer * inner): device base + (q / inner) * outer_stride
 * + (q % inner) * inner_stride with q = r - first. Replica r computes shards
 * [r * shards / replicas, (r + 1) * shards / replicas). */
struct dtr_replica_family {
  uint32_t first, outer, inner;
  uint32_t base, outer_stride, inner_stride;
};

/* Client c of [first, first + count) lives in task `task` + (c - first) * task_stride and drives
 * `replicas_each` replicas from first_replica + (c - first) * replicas_each on. In-graph over
 * tasks: one client, which drives replicas of other tasks: it sends them their rows of the batch.
 * Between-graph: a client reads its own rows. Client 0 is the chief. */
struct dtr_client_family {
  uint32_t first, count;
  uint32_t task, task_stride;
  uint32_t first_replica, replicas_each;
};

enum dtr_owner_kind {
  DTR_OWNER_ON,       /* a device of its own choice: parameter servers, cpu:0 */
  DTR_OWNER_MIRRORED, /* owners are the replicas' devices, everybody keeps a copy */
  DTR_OWNER_SHARDED   /* the same, but nobody keeps a whole copy between steps */
};

/* Rows of a parameter or state that one device owns, with the slots' same rows. Slices are sorted
 * by (variable, first) and cut at block edges: blocks of `block` elements are those of whole-tensor
 * reductions, and the tiles of the update's kernels. */
struct dtr_slice {
  uint32_t variable; /* index of a parameter or state */
  int64_t first, elements;
  int64_t block;  /* elements of a block; the last one of a tensor may be short */
  uint32_t owner; /* device */
  enum dtr_owner_kind kind;
};

/* One launch of the update, for owners that hold slices: runs the tiles of `variable` that the
 * owner holds (tile t = block t), or, with variable UINT32_MAX, all tiles on every owner (scalars).
 * `whole`: the kernel does not work by blocks: the one owner of `variable` (which has one slice)
 * runs all tiles. Launches stand in the order in which they run; phases never decrease. `rows`:
 * where the variable is a table of which only touched rows are updated. */
struct dtr_update_buffer {
  enum dtr_space space;
  uint32_t index; /* variable: which one; contribution: which one; scalar: which of dtr_scalars */
  int64_t offset; /* arena */
  bool by_block;  /* arena: one element per block of `variable` (block sums) */
  bool written;
};
enum dtr_launch_rows {
  DTR_LAUNCH_ALL,
  DTR_LAUNCH_TOUCHED, /* element by element: touched rows, packed one behind the other */
  DTR_LAUNCH_BLOCKS   /* block sums, which are 0 where no row is touched */
};
struct dtr_update_launch {
  uint32_t launch; /* index into kernels */
  dtr_kernel_fn *fn;
  int64_t tiles;
  uint32_t variable; /* parameter or state; UINT32_MAX: none */
  uint32_t phase;    /* launches of a phase run before the exchange that ends it */
  bool whole;
  enum dtr_launch_rows rows;
  uint32_t buffer_count;
  const struct dtr_update_buffer *buffers;
};
/* After phase `phase` owners send each other the block sums of their slices of `variable`, which
 * lie in the update's arena at `offset`, one f32 a block. */
struct dtr_exchange {
  uint32_t phase, variable;
  int64_t offset, blocks;
};

struct dtr_replication {
  const char *strategy;
  bool is_single; /* one replica that owns everything: nothing is sent; slices and launches count */
  uint32_t job_count;
  const struct dtr_job *jobs;
  uint32_t replicas;
  uint32_t replica_family_count;
  const struct dtr_replica_family *replica_families;
  uint32_t client_family_count;
  const struct dtr_client_family *client_families;
  uint32_t slice_count;
  const struct dtr_slice *slices;
  uint32_t update_launch_count;
  const struct dtr_update_launch *update_launches;
  int64_t update_arena_bytes; /* of the arena that update_launches and exchanges point into */
  uint32_t phase_count;       /* of the update; at least 1 */
  uint32_t exchange_count;
  const struct dtr_exchange *exchanges;
  bool is_async;
  int64_t backup;    /* sync: contributions a step may go without */
  int64_t staleness; /* async: largest lead; -1 unbounded */
};

/* Metrics of an evaluation graph, in contribution layout of their own: f32 scalars one after
 * another, 64-byte aligned each: loss, then the metrics in the order of `metrics`. */
struct dtr_part {
  dtr_function *run;
  int64_t arena_bytes;
  int64_t batch; /* examples in one call */
};

struct dtr_train {
  int64_t batch, shards;
  int64_t epochs, steps; /* whichever is set; 0 = not set */
  int64_t seed;
  int64_t evaluate_epochs, evaluate_steps; /* 0 = no */
  int64_t checkpoint_epochs, checkpoint_steps, checkpoint_keep;
  uint32_t data, evaluate_data; /* dataset indices; UINT32_MAX = none */
};

struct dtr_program {
  uint32_t abi_version;
  const char *name;       /* "fashion_mlp" */
  const char *model_file; /* as given to dtgc, file name only */
  const char *plan_id;    /* hex */
  const char *model_id;   /* hex */
  const char *compiler;   /* "dtgc 0.1.0" */
  const char *cpu_arch;   /* "x86-64-v3" */
  const char *plan_text;  /* what --plan prints */
  const char *results;    /* the line of what results depend on */
  const char
      *source_dir; /* folder of the model file relative to the program's folder; data look-up */

  struct dtr_train train;
  uint32_t input_count;
  const struct dtr_input *inputs;
  uint32_t output_count;
  const struct dtr_output *outputs;
  uint32_t dataset_count;
  const struct dtr_dataset *datasets;
  uint32_t variable_count;
  const struct dtr_variable *variables;
  int64_t variables_bytes;
  uint32_t contribution_count;
  const struct dtr_contribution *contributions; /* loss first, then metrics, then the rest */
  int64_t contribution_bytes;
  uint32_t metric_count;
  const char *const *metrics;
  uint32_t kernel_count;
  const struct dtr_kernel_desc *kernels;
  uint32_t gemm_count;
  const struct dtr_gemm *gemms;
  uint32_t window_count;
  const struct dtr_window *windows;

  const struct dtr_replication *replication; /* NULL: one device, and no sparse parameter */

  struct dtr_part shard;  /* training, one shard: forward and backward */
  struct dtr_part update; /* optimizer; batch = 0 */
  struct dtr_part eval;   /* evaluation of batch/shards examples; contribution = metrics block */
  struct dtr_part tail;   /* evaluation of one example */
};

/* The whole program. Exit status: semantics.md 6 (0 done, 1 own failure, 2 usage, 70 a bug). */
int dtr_main(const struct dtr_program *program, int argc, char **argv);

#endif
