/* The update by slices: launches of the update on compact memory, and block sums. */
#include "runtime/replicate/owner_parts.h"

#include "runtime/value.h"

#include <stdlib.h>
#include <string.h>

static const struct dtr_piece *find_piece(const struct dtr_owner *owner, uint32_t variable,
                                          int64_t first) {
  for (uint32_t i = 0; i < owner->map->piece_count; i++)
    if (owner->map->pieces[i].variable == variable && owner->map->pieces[i].first == first)
      return &owner->map->pieces[i];
  return NULL;
}

static const struct dtr_share *find_share(const struct dtr_owner *owner, uint32_t contribution,
                                          int64_t first) {
  for (uint32_t i = 0; i < owner->map->share_count; i++)
    if (owner->map->shares[i].contribution == contribution && owner->map->shares[i].first == first)
      return &owner->map->shares[i];
  return NULL;
}

/* Where element 0 of the whole tensor would be: kernels count from there and touch only the rows
 * that the owner holds. Computed as a number, as it may lie outside of the block. */
static char *whole_base(char *at, int64_t first, enum dtr_dtype dtype) {
  return (char *)((uintptr_t)at - (uintptr_t)(first * dtr_dtype_bytes(dtype)));
}

/* False: the owner lacks what the launch names. */
static bool find_buffer(struct dtr_owner *owner, const struct dtr_update_buffer *buffer,
                        const struct dtr_slice *slice, struct dtr_owner_buffer *found) {
  const struct dtr_program *program = owner->party.program;
  int64_t first = slice ? slice->first : 0;
  *found = (struct dtr_owner_buffer){0};
  switch (buffer->space) {
  case DTR_SPACE_ARENA:
    found->address = owner->arena + buffer->offset;
    return true;
  case DTR_SPACE_SCALAR:
    found->address = (char *)&owner->scalars + (size_t)buffer->index * sizeof(int64_t);
    return true;
  case DTR_SPACE_VARIABLE: {
    const struct dtr_piece *piece = find_piece(owner, buffer->index, first);
    if (piece)
      found->address =
          whole_base(owner->memory + piece->offset, first, program->variables[buffer->index].dtype);
    return piece != NULL;
  }
  case DTR_SPACE_CONTRIBUTION: {
    const struct dtr_share *share = find_share(owner, buffer->index, first);
    found->is_reduced = true;
    if (share)
      found->displacement =
          share->offset - first * dtr_dtype_bytes(program->contributions[buffer->index].dtype);
    return share != NULL;
  }
  case DTR_SPACE_FEED: /* an update has no rows */
    break;
  }
  return false;
}

static bool add_run(struct dtr_owner *owner, const struct dtr_update_launch *launch,
                    const struct dtr_slice *slice, struct dtr_error *error) {
  struct dtr_owner_run *run = &owner->runs[owner->run_count++];
  *run = (struct dtr_owner_run){
      .launch = launch, .end = launch->tiles, .first_buffer = owner->buffer_count};
  for (uint32_t b = 0; b < launch->buffer_count; b++)
    if (!find_buffer(owner, &launch->buffers[b], slice, &owner->run_buffers[owner->buffer_count++]))
      return dtr_error_set(error, DTR_STATUS_BUG,
                           "the update's kernel %s uses what its owner does not hold",
                           owner->party.program->kernels[launch->launch].name);
  if (slice && !launch->whole) {
    run->begin = slice->first / slice->block;
    run->end = run->begin + (slice->elements + slice->block - 1) / slice->block;
    run->end = run->end < launch->tiles ? run->end : launch->tiles;
  }
  return true;
}

static bool add_launch(struct dtr_owner *owner, const struct dtr_update_launch *launch,
                       struct dtr_error *error) {
  const struct dtr_replication *tables = owner->party.program->replication;
  if (launch->variable == UINT32_MAX)
    return add_run(owner, launch, NULL, error);
  for (uint32_t s = 0; s < tables->slice_count; s++) {
    const struct dtr_slice *slice = &tables->slices[s];
    if (slice->variable == launch->variable && slice->owner == owner->map->device &&
        !add_run(owner, launch, slice, error))
      return false;
  }
  return true;
}

/* Runs and buffers at most: every launch on every slice of its variable. */
static void count_runs(const struct dtr_owner *owner, size_t *runs, size_t *buffers) {
  const struct dtr_replication *tables = owner->party.program->replication;
  *runs = *buffers = 1;
  for (uint32_t l = 0; l < tables->update_launch_count; l++) {
    const struct dtr_update_launch *launch = &tables->update_launches[l];
    size_t times = launch->variable == UINT32_MAX;
    for (uint32_t s = 0; s < tables->slice_count; s++)
      times += tables->slices[s].variable == launch->variable &&
               tables->slices[s].owner == owner->map->device;
    *runs += times;
    *buffers += times * launch->buffer_count;
  }
}

bool dtr_owner_new_update(struct dtr_owner *owner, struct dtr_error *error) {
  const struct dtr_replication *tables = owner->party.program->replication;
  size_t runs, buffers;
  count_runs(owner, &runs, &buffers);
  owner->runs = calloc(runs, sizeof *owner->runs);
  owner->run_buffers = calloc(buffers, sizeof *owner->run_buffers);
  if (!owner->runs || !owner->run_buffers)
    return dtr_error_memory(error, (int64_t)(buffers * sizeof *owner->run_buffers), "the update");
  for (uint32_t l = 0; l < tables->update_launch_count; l++)
    if (!add_launch(owner, &tables->update_launches[l], error))
      return false;
  return true;
}

void dtr_owner_free_update(struct dtr_owner *owner) {
  free(owner->runs);
  free(owner->run_buffers);
}

static void run(struct dtr_owner *owner, struct dtr_frame *frame,
                const struct dtr_owner_run *run_now) {
  const struct dtr_update_launch *launch = run_now->launch;
  for (uint32_t b = 0; b < launch->buffer_count; b++) {
    const struct dtr_owner_buffer *buffer = &owner->run_buffers[run_now->first_buffer + b];
    owner->buffers[b] = buffer->is_reduced
                            ? (char *)((uintptr_t)owner->reduced + (uintptr_t)buffer->displacement)
                            : buffer->address;
  }
  if (run_now->begin < run_now->end)
    dtr_executor_tiles(frame, launch->launch, launch->fn, owner->buffers, run_now->begin,
                       run_now->end);
}

bool dtr_owner_run_phase(struct dtr_owner *owner) {
  struct dtr_fault fault;
  struct dtr_frame *frame =
      dtr_executor_update_begin(owner->executor, owner->arena, &owner->scalars);
  for (; owner->run < owner->run_count && owner->runs[owner->run].launch->phase == owner->phase;
       owner->run++)
    run(owner, frame, &owner->runs[owner->run]);
  if (dtr_executor_update_end(owner->executor, &fault))
    return true;
  return dtr_error_set(&owner->party.error, DTR_STATUS_MEMORY,
                       "a kernel of the optimizer failed (%lld, %lld)", (long long)fault.code,
                       (long long)fault.value);
}

/* ---- block sums ---- */

/* Copies between the arena and a message, in the order of exchanges, then slices. */
static int64_t copy_norms(struct dtr_owner *owner, uint32_t device, char *message, bool pack) {
  const struct dtr_replication *tables = owner->party.program->replication;
  int64_t used = 0;
  for (uint32_t e = 0; e < tables->exchange_count; e++) {
    const struct dtr_exchange *exchange = &tables->exchanges[e];
    for (uint32_t s = 0; exchange->phase == owner->phase && s < tables->slice_count; s++) {
      const struct dtr_slice *slice = &tables->slices[s];
      if (slice->owner != device || slice->variable != exchange->variable)
        continue;
      int64_t begin = slice->first / slice->block * (int64_t)sizeof(float);
      int64_t bytes = (slice->elements + slice->block - 1) / slice->block * (int64_t)sizeof(float);
      char *sums = owner->arena + exchange->offset + begin;
      memcpy(pack ? message + used : sums, pack ? sums : message + used, (size_t)bytes);
      used += bytes;
    }
  }
  return used;
}

int64_t dtr_owner_pack_norms(struct dtr_owner *owner) {
  return copy_norms(owner, owner->map->device, owner->norms, true);
}

void dtr_owner_unpack_norms(struct dtr_owner *owner, uint32_t from, const char *bytes) {
  copy_norms(owner, owner->party.map->owners[from].device, (char *)bytes, false);
}
