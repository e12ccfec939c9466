/* The update by slices: launches of the update on compact memory, and block sums. */
#include "runtime/replicate/owner_parts.h"

#include "runtime/value.h"

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

/* NULL: the owner lacks what the launch names. */
static char *address(struct dtr_owner *owner, const struct dtr_update_buffer *buffer,
                     const struct dtr_slice *slice) {
  const struct dtr_program *program = owner->party.program;
  int64_t first = slice ? slice->first : 0;
  switch (buffer->space) {
  case DTR_SPACE_ARENA:
    return owner->arena + buffer->offset;
  case DTR_SPACE_SCALAR:
    return (char *)&owner->scalars + (size_t)buffer->index * sizeof(int64_t);
  case DTR_SPACE_VARIABLE: {
    const struct dtr_piece *piece = find_piece(owner, buffer->index, first);
    return piece ? whole_base(owner->memory + piece->offset, first,
                              program->variables[buffer->index].dtype)
                 : NULL;
  }
  case DTR_SPACE_CONTRIBUTION: {
    const struct dtr_share *share = find_share(owner, buffer->index, first);
    return share ? whole_base(owner->reduced + share->offset, first,
                              program->contributions[buffer->index].dtype)
                 : NULL;
  }
  }
  return NULL;
}

static bool run(struct dtr_owner *owner, struct dtr_frame *frame,
                const struct dtr_update_launch *launch, const struct dtr_slice *slice) {
  int64_t begin = 0, end = launch->tiles;
  for (uint32_t b = 0; b < launch->buffer_count; b++) {
    owner->buffers[b] = address(owner, &launch->buffers[b], slice);
    if (!owner->buffers[b])
      return dtr_error_set(&owner->party.error, DTR_STATUS_BUG,
                           "the update's kernel %s uses what its owner does not hold",
                           owner->party.program->kernels[launch->launch].name);
  }
  if (slice && !launch->whole) {
    begin = slice->first / slice->block;
    end = begin + (slice->elements + slice->block - 1) / slice->block;
    end = end < launch->tiles ? end : launch->tiles;
  }
  if (begin < end)
    dtr_executor_tiles(frame, launch->launch, launch->fn, owner->buffers, begin, end);
  return true;
}

static bool run_slices(struct dtr_owner *owner, struct dtr_frame *frame,
                       const struct dtr_update_launch *launch) {
  const struct dtr_replication *tables = owner->party.program->replication;
  if (launch->variable == UINT32_MAX)
    return run(owner, frame, launch, NULL);
  for (uint32_t s = 0; s < tables->slice_count; s++) {
    const struct dtr_slice *slice = &tables->slices[s];
    if (slice->variable == launch->variable && slice->owner == owner->map->device &&
        !run(owner, frame, launch, slice))
      return false;
  }
  return true;
}

bool dtr_owner_run_phase(struct dtr_owner *owner) {
  const struct dtr_replication *tables = owner->party.program->replication;
  struct dtr_fault fault;
  struct dtr_frame *frame =
      dtr_executor_update_begin(owner->executor, owner->arena, &owner->scalars);
  bool good = true;
  for (; good && owner->launch < tables->update_launch_count &&
         tables->update_launches[owner->launch].phase == owner->phase;
       owner->launch++)
    good = run_slices(owner, frame, &tables->update_launches[owner->launch]);
  if (!dtr_executor_update_end(owner->executor, &fault) && good)
    good = dtr_error_set(&owner->party.error, DTR_STATUS_MEMORY,
                         "a kernel of the optimizer failed (%lld, %lld)", (long long)fault.code,
                         (long long)fault.value);
  return good;
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
      int64_t bytes =
          (slice->elements + slice->block - 1) / slice->block * (int64_t)sizeof(float);
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
