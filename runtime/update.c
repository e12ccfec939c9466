#include "runtime/update.h"

#include "runtime/memory.h"
#include "runtime/rows.h"
#include "runtime/value.h"

#include <stdlib.h>
#include <string.h>

/* A slice of a sparse table: its rows of the reduced list, and memory to work on them. */
struct table {
  const struct dtr_slice *slice;
  struct dtr_contribution layout;
  int64_t begin, end; /* of the reduced list, in the step under way */
  int64_t first;      /* row */
  char *dense;        /* PASS: gradient of the slice, 0 between steps. TOUCHED: of one block */
};

enum source {
  SOURCE_ADDRESS,
  SOURCE_REDUCED, /* `address` is a displacement from the reduced block, which moves */
  SOURCE_ROWS,    /* TOUCHED: rows of `piece`, packed in `address` */
  SOURCE_GRADIENT /* BLOCKS: one block of the gradient */
};

struct buffer {
  enum source source;
  char *address;
  char *piece; /* where element 0 of the whole tensor would be */
  bool written;
};

/* A launch on one slice, with all addresses found. */
struct run {
  const struct dtr_update_launch *launch;
  int64_t begin, end; /* tiles */
  uint32_t first_buffer;
  uint32_t table; /* of launches for touched rows; UINT32_MAX */
};

struct dtr_update {
  const struct dtr_program *program;
  struct dtr_scalars *scalars;
  char *arena;
  char *reduced;
  char *memory; /* for rows */
  char **arguments;
  struct run *runs;
  struct buffer *buffers;
  struct table *tables;
  uint32_t run_count, buffer_count, table_count;
  uint32_t next; /* run of the step under way */
};

/* ---- sizes ---- */

static const struct dtr_contribution *gradient_of(const struct dtr_program *program,
                                                  uint32_t variable) {
  for (uint32_t i = 0; i < program->contribution_count; i++)
    if (dtr_rows_is(&program->contributions[i]) &&
        strcmp(program->contributions[i].name, program->variables[variable].path) == 0)
      return &program->contributions[i];
  return NULL;
}

static int64_t rows_bytes(const struct dtr_program *program, const struct dtr_slice *slice,
                          const struct dtr_row_list *list) {
  int64_t capacity = dtr_rows_capacity(list, program->train.shards, slice->elements / list->width,
                                       slice->block / list->width);
  return dtr_memory_round(capacity * list->width * (int64_t)sizeof(float));
}

static int64_t gradient_bytes(const struct dtr_slice *slice, const struct dtr_contribution *c) {
  int64_t elements = slice->elements;
  if (c->list.kind == DTR_ROWS_TOUCHED)
    elements = slice->block < c->elements ? slice->block : c->elements;
  return dtr_memory_round(elements * (int64_t)sizeof(float));
}

/* "fc1.w:v" is a slot of "fc1.w". */
static bool is_slot_of(const struct dtr_variable *slot, const struct dtr_variable *variable) {
  size_t length = strlen(variable->path);
  return slot->kind == DTR_VARIABLE_SLOT && strncmp(slot->path, variable->path, length) == 0 &&
         slot->path[length] == ':';
}

static bool is_here(const struct dtr_slice *slice, uint32_t device) {
  return device == DTR_UPDATE_EVERY || slice->owner == device;
}

static int64_t table_bytes(const struct dtr_program *program, const struct dtr_slice *slice) {
  const struct dtr_contribution *c = gradient_of(program, slice->variable);
  int64_t tensors = 1;
  if (!c)
    return 0;
  for (uint32_t v = 0; v < program->variable_count; v++)
    tensors += is_slot_of(&program->variables[v], &program->variables[slice->variable]);
  if (c->list.kind != DTR_ROWS_TOUCHED)
    tensors = 0;
  return gradient_bytes(slice, c) + tensors * rows_bytes(program, slice, &c->list);
}

int64_t dtr_update_bytes(const struct dtr_program *program, uint32_t device) {
  const struct dtr_replication *tables = program->replication;
  int64_t bytes = 0;
  for (uint32_t s = 0; s < tables->slice_count; s++)
    if (is_here(&tables->slices[s], device))
      bytes += table_bytes(program, &tables->slices[s]);
  return bytes;
}

/* ---- what launches work on ---- */

struct making {
  const struct dtr_update_options *options;
  struct dtr_update *made;
  const struct dtr_update_launch *launch;
  const struct dtr_slice *slice; /* NULL: of no variable */
  uint32_t table;
  char *free; /* memory for rows that is not taken yet */
};

static const struct dtr_update_piece *find_piece(const struct dtr_update_options *options,
                                                 uint32_t variable, int64_t first) {
  for (uint32_t i = 0; i < options->piece_count; i++)
    if (options->pieces[i].variable == variable && options->pieces[i].first == first)
      return &options->pieces[i];
  return NULL;
}

static const struct dtr_update_share *find_share(const struct dtr_update_options *options,
                                                 uint32_t contribution, int64_t first) {
  for (uint32_t i = 0; i < options->share_count; i++)
    if (options->shares[i].contribution == contribution && options->shares[i].first == first)
      return &options->shares[i];
  return NULL;
}

/* Computed as a number, as it may lie outside of the block. */
static char *whole_base(const char *at, int64_t first, enum dtr_dtype dtype) {
  return (char *)((uintptr_t)at - (uintptr_t)(first * dtr_dtype_bytes(dtype)));
}

/* Rows of one piece are in one place, whatever launches work on them. */
static char *rows_of(const struct making *making, char *piece) {
  const struct dtr_update *made = making->made;
  for (uint32_t b = 0; b < made->buffer_count; b++)
    if (made->buffers[b].source == SOURCE_ROWS && made->buffers[b].piece == piece)
      return made->buffers[b].address;
  return NULL;
}

static bool find_variable(struct making *making, const struct dtr_update_buffer *buffer,
                          struct buffer *found) {
  const struct dtr_program *program = making->options->program;
  int64_t first = making->slice ? making->slice->first : 0;
  const struct dtr_update_piece *piece = find_piece(making->options, buffer->index, first);
  if (!piece)
    return false;
  char *base = whole_base(piece->memory, first, program->variables[buffer->index].dtype);
  *found = (struct buffer){.address = base, .piece = base, .written = buffer->written};
  if (making->launch->rows != DTR_LAUNCH_TOUCHED)
    return true;
  found->source = SOURCE_ROWS;
  found->address = rows_of(making, base);
  if (!found->address) {
    found->address = making->free;
    making->free +=
        rows_bytes(program, making->slice, &making->made->tables[making->table].layout.list);
  }
  return true;
}

static bool find_contribution(struct making *making, const struct dtr_update_buffer *buffer,
                              struct buffer *found) {
  int64_t first = making->slice ? making->slice->first : 0;
  const struct dtr_update_share *share = find_share(making->options, buffer->index, first);
  if (!share)
    return false;
  *found = (struct buffer){.source = SOURCE_REDUCED, .address = (char *)share->layout.offset};
  if (!dtr_rows_is(&share->layout))
    found->address = whole_base(found->address, first, share->layout.dtype);
  else if (share->layout.list.kind == DTR_ROWS_PASS)
    *found = (struct buffer){
        .address = whole_base(making->made->tables[making->table].dense, first, DTR_F32)};
  else if (making->launch->rows == DTR_LAUNCH_BLOCKS)
    found->source = SOURCE_GRADIENT;
  else
    return making->launch->rows == DTR_LAUNCH_TOUCHED;
  return true;
}

/* False: what the launch names is not here. */
static bool find_buffer(struct making *making, const struct dtr_update_buffer *buffer,
                        struct buffer *found) {
  switch (buffer->space) {
  case DTR_SPACE_ARENA:
    *found = (struct buffer){.address = making->options->arena + buffer->offset};
    return true;
  case DTR_SPACE_SCALAR:
    *found = (struct buffer){.address = (char *)making->options->scalars +
                                        (size_t)buffer->index * sizeof(int64_t)};
    return true;
  case DTR_SPACE_VARIABLE:
    return find_variable(making, buffer, found);
  case DTR_SPACE_CONTRIBUTION:
    return find_contribution(making, buffer, found);
  case DTR_SPACE_FEED: /* an update has no rows of the data */
    break;
  }
  return false;
}

static bool add_run(struct making *making, struct dtr_error *error) {
  struct dtr_update *made = making->made;
  const struct dtr_update_launch *launch = making->launch;
  const struct dtr_slice *slice = making->slice;
  struct run *run = &made->runs[made->run_count++];
  *run = (struct run){.launch = launch,
                      .end = launch->tiles,
                      .first_buffer = made->buffer_count,
                      .table = making->table};
  for (uint32_t b = 0; b < launch->buffer_count; b++) {
    struct buffer found;
    if (!find_buffer(making, &launch->buffers[b], &found))
      return dtr_error_set(error, DTR_STATUS_BUG,
                           "the update's kernel %s uses what its owner does not hold",
                           made->program->kernels[launch->launch].name);
    made->buffers[made->buffer_count++] = found;
  }
  if (slice && !launch->whole) {
    run->begin = slice->first / slice->block;
    run->end = run->begin + (slice->elements + slice->block - 1) / slice->block;
    run->end = run->end < launch->tiles ? run->end : launch->tiles;
  }
  return true;
}

static uint32_t table_of(const struct dtr_update *update, const struct dtr_slice *slice) {
  for (uint32_t t = 0; t < update->table_count; t++)
    if (update->tables[t].slice == slice)
      return t;
  return UINT32_MAX;
}

static bool add_launch(struct making *making, struct dtr_error *error) {
  const struct dtr_replication *tables = making->options->program->replication;
  making->slice = NULL;
  making->table = UINT32_MAX;
  if (making->launch->variable == UINT32_MAX)
    return add_run(making, error);
  for (uint32_t s = 0; s < tables->slice_count; s++) {
    making->slice = &tables->slices[s];
    making->table = table_of(making->made, making->slice);
    if (making->slice->variable == making->launch->variable &&
        is_here(making->slice, making->options->device) && !add_run(making, error))
      return false;
  }
  return true;
}

/* ---- start and end ---- */

/* Runs and buffers at most: every launch on every slice of its variable. */
static void count_runs(const struct dtr_update_options *options, size_t *runs, size_t *buffers,
                       size_t *arguments) {
  const struct dtr_replication *tables = options->program->replication;
  *runs = *buffers = *arguments = 1;
  for (uint32_t l = 0; l < tables->update_launch_count; l++) {
    const struct dtr_update_launch *launch = &tables->update_launches[l];
    size_t times = launch->variable == UINT32_MAX;
    for (uint32_t s = 0; s < tables->slice_count; s++)
      times += tables->slices[s].variable == launch->variable &&
               is_here(&tables->slices[s], options->device);
    *runs += times;
    *buffers += times * launch->buffer_count;
    if (launch->buffer_count > *arguments)
      *arguments = launch->buffer_count;
  }
}

static bool allocate(struct making *making, struct dtr_error *error) {
  const struct dtr_update_options *options = making->options;
  struct dtr_update *made = making->made;
  size_t runs, buffers, arguments;
  int64_t bytes = dtr_update_bytes(options->program, options->device);
  count_runs(options, &runs, &buffers, &arguments);
  made->runs = calloc(runs, sizeof *made->runs);
  made->buffers = calloc(buffers, sizeof *made->buffers);
  made->arguments = calloc(arguments, sizeof *made->arguments);
  made->tables =
      calloc((size_t)options->program->replication->slice_count + 1, sizeof *made->tables);
  made->memory = dtr_ledger_new(options->ledger, DTR_LEDGER_UPDATE, bytes);
  making->free = made->memory;
  if (made->runs && made->buffers && made->arguments && made->tables && made->memory)
    return true;
  return dtr_error_memory(error, bytes + (int64_t)(buffers * sizeof *made->buffers), "the update");
}

/* The sparse tables among the slices. */
static void add_tables(struct making *making) {
  const struct dtr_update_options *options = making->options;
  struct dtr_update *made = making->made;
  for (uint32_t i = 0; i < options->share_count; i++) {
    const struct dtr_update_share *share = &options->shares[i];
    const struct dtr_contribution *c = &options->program->contributions[share->contribution];
    const struct dtr_replication *tables = options->program->replication;
    for (uint32_t s = 0; dtr_rows_is(c) && s < tables->slice_count; s++) {
      const struct dtr_slice *slice = &tables->slices[s];
      if (!is_here(slice, options->device) || slice->first != share->first ||
          gradient_of(options->program, slice->variable) != c)
        continue;
      made->tables[made->table_count++] = (struct table){.slice = slice,
                                                         .layout = share->layout,
                                                         .first = share->first / c->list.width,
                                                         .dense = making->free};
      making->free += gradient_bytes(slice, c);
    }
  }
}

bool dtr_update_new(const struct dtr_update_options *options, struct dtr_update **update,
                    struct dtr_error *error) {
  const struct dtr_replication *tables = options->program->replication;
  struct dtr_update *made = calloc(1, sizeof *made);
  struct making making = {.options = options, .made = made};
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the update");
  made->program = options->program;
  made->scalars = options->scalars;
  made->arena = options->arena;
  bool good = allocate(&making, error);
  if (good)
    add_tables(&making);
  for (uint32_t l = 0; l < tables->update_launch_count && good; l++) {
    making.launch = &tables->update_launches[l];
    good = add_launch(&making, error);
  }
  if (!good) {
    dtr_update_free(made);
    return false;
  }
  *update = made;
  return true;
}

void dtr_update_free(struct dtr_update *update) {
  if (!update)
    return;
  free(update->runs);
  free(update->buffers);
  free(update->arguments);
  free(update->tables);
  dtr_memory_free(update->memory);
  free(update);
}

/* ---- rows ---- */

static int64_t row_bytes(const struct table *table) {
  return table->layout.list.width * (int64_t)sizeof(float);
}

static const int32_t *ids_of(const struct dtr_update *update, const struct table *table) {
  return dtr_rows_ids(&table->layout, update->reduced);
}

static const char *values_of(const struct dtr_update *update, const struct table *table) {
  return update->reduced + table->layout.offset;
}

/* Rows [begin, end) of the reduced list, in the dense gradient whose row 0 is row `first`. */
static void spread(const struct dtr_update *update, const struct table *table, int64_t begin,
                   int64_t end, int64_t first) {
  size_t bytes = (size_t)row_bytes(table);
  for (int64_t i = begin; i < end; i++)
    memcpy(table->dense + (ids_of(update, table)[i] - first) * (int64_t)bytes,
           values_of(update, table) + i * (int64_t)bytes, bytes);
}

static void clear(const struct dtr_update *update, const struct table *table, int64_t begin,
                  int64_t end, int64_t first) {
  size_t bytes = (size_t)row_bytes(table);
  for (int64_t i = begin; i < end; i++)
    memset(table->dense + (ids_of(update, table)[i] - first) * (int64_t)bytes, 0, bytes);
}

void dtr_update_begin(struct dtr_update *update, char *reduced) {
  update->reduced = reduced;
  update->next = 0;
  for (uint32_t t = 0; t < update->table_count; t++) {
    struct table *table = &update->tables[t];
    dtr_rows_range(&table->layout, reduced, table->first,
                   table->slice->elements / table->layout.list.width, &table->begin, &table->end);
    if (table->layout.list.kind == DTR_ROWS_PASS)
      spread(update, table, table->begin, table->end, table->first);
  }
}

void dtr_update_end(struct dtr_update *update) {
  for (uint32_t t = 0; t < update->table_count; t++) {
    const struct table *table = &update->tables[t];
    if (table->layout.list.kind == DTR_ROWS_PASS)
      clear(update, table, table->begin, table->end, table->first);
  }
  update->reduced = NULL;
}

/* ---- launches ---- */

static void set_arguments(struct dtr_update *update, const struct run *run) {
  for (uint32_t b = 0; b < run->launch->buffer_count; b++) {
    const struct buffer *buffer = &update->buffers[run->first_buffer + b];
    update->arguments[b] = buffer->address;
    if (buffer->source == SOURCE_REDUCED)
      update->arguments[b] = (char *)((uintptr_t)update->reduced + (uintptr_t)buffer->address);
  }
}

static void run_tiles(struct dtr_update *update, struct dtr_frame *frame, const struct run *run,
                      int64_t begin, int64_t end) {
  if (begin < end)
    dtr_executor_tiles(frame, run->launch->launch, run->launch->fn, update->arguments, begin, end);
}

/* Copies the touched rows of a piece together, or back. */
static void move_rows(const struct dtr_update *update, const struct table *table,
                      const struct buffer *buffer, bool back) {
  int64_t bytes = row_bytes(table);
  for (int64_t i = table->begin; i < table->end; i++) {
    char *row =
        (char *)((uintptr_t)buffer->piece + (uintptr_t)((int64_t)ids_of(update, table)[i] * bytes));
    char *packed = buffer->address + (i - table->begin) * bytes;
    memcpy(back ? row : packed, back ? packed : row, (size_t)bytes);
  }
}

static void move_pieces(const struct dtr_update *update, const struct run *run, bool back) {
  for (uint32_t b = 0; b < run->launch->buffer_count; b++) {
    const struct buffer *buffer = &update->buffers[run->first_buffer + b];
    if (buffer->source == SOURCE_ROWS && (!back || buffer->written))
      move_rows(update, &update->tables[run->table], buffer, back);
  }
}

/* The kernel works on the first tiles of a tensor that holds the touched rows alone; what follows
 * them in the last tile is computed and not used. */
static void run_touched(struct dtr_update *update, struct dtr_frame *frame, const struct run *run) {
  const struct table *table = &update->tables[run->table];
  int64_t elements = (table->end - table->begin) * table->layout.list.width;
  int64_t tiles = (elements + table->slice->block - 1) / table->slice->block;
  move_pieces(update, run, false);
  set_arguments(update, run);
  run_tiles(update, frame, run, 0, tiles < run->launch->tiles ? tiles : run->launch->tiles);
  move_pieces(update, run, true);
}

static void clear_sums(const struct dtr_update *update, const struct run *run) {
  for (uint32_t b = 0; b < run->launch->buffer_count; b++)
    if (run->launch->buffers[b].by_block && run->launch->buffers[b].written)
      memset(update->buffers[run->first_buffer + b].address + run->begin * (int64_t)sizeof(float),
             0, (size_t)(run->end - run->begin) * sizeof(float));
}

/* Block by block: a dense gradient of the rows of the list that lie in it. */
static void run_blocks(struct dtr_update *update, struct dtr_frame *frame, const struct run *run) {
  const struct table *table = &update->tables[run->table];
  int64_t rows = table->slice->block / table->layout.list.width;
  clear_sums(update, run);
  set_arguments(update, run);
  for (int64_t begin = table->begin, end; begin < table->end; begin = end) {
    int64_t tile = ids_of(update, table)[begin] / rows;
    for (end = begin; end < table->end && ids_of(update, table)[end] / rows == tile;)
      end++;
    spread(update, table, begin, end, tile * rows);
    for (uint32_t b = 0; b < run->launch->buffer_count; b++)
      if (update->buffers[run->first_buffer + b].source == SOURCE_GRADIENT)
        update->arguments[b] = whole_base(table->dense, tile * table->slice->block, DTR_F32);
    run_tiles(update, frame, run, tile, tile + 1);
    clear(update, table, begin, end, tile * rows);
  }
}

static void run_launch(struct dtr_update *update, struct dtr_frame *frame, const struct run *run) {
  if (run->launch->rows == DTR_LAUNCH_TOUCHED) {
    run_touched(update, frame, run);
  } else if (run->launch->rows == DTR_LAUNCH_BLOCKS) {
    run_blocks(update, frame, run);
  } else {
    set_arguments(update, run);
    run_tiles(update, frame, run, run->begin, run->end);
  }
}

bool dtr_update_phase(struct dtr_update *update, struct dtr_executor *executor, uint32_t phase,
                      struct dtr_fault *fault) {
  struct dtr_frame *frame = dtr_executor_update_begin(executor, update->arena, update->scalars);
  for (; update->next < update->run_count && update->runs[update->next].launch->phase == phase;
       update->next++)
    run_launch(update, frame, &update->runs[update->next]);
  return dtr_executor_update_end(executor, fault);
}

bool dtr_update_failed(const struct dtr_fault *fault, struct dtr_error *error) {
  return dtr_error_set(error, DTR_STATUS_MEMORY, "a kernel of the optimizer failed (%lld, %lld)",
                       (long long)fault->code, (long long)fault->value);
}
