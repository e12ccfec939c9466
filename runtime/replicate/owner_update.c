/* What an owner holds, for the launches of the update, and block sums. */
#include "runtime/replicate/owner_parts.h"

#include <stdlib.h>
#include <string.h>

bool dtr_owner_new_update(struct dtr_owner *owner, struct dtr_error *error) {
  const struct dtr_owner_map *map = owner->map;
  struct dtr_update_piece *pieces = calloc((size_t)map->piece_count + 1, sizeof *pieces);
  struct dtr_update_share *shares = calloc((size_t)map->share_count + 1, sizeof *shares);
  bool good = pieces && shares;
  for (uint32_t i = 0; good && i < map->piece_count; i++)
    pieces[i] =
        (struct dtr_update_piece){map->pieces[i].variable, map->pieces[i].first,
                                  map->pieces[i].elements, owner->memory + map->pieces[i].offset};
  for (uint32_t i = 0; good && i < map->share_count; i++)
    shares[i] = (struct dtr_update_share){map->shares[i].contribution, map->shares[i].first,
                                          map->shares[i].elements, map->shares[i].layout};
  struct dtr_update_options options = {.program = owner->party.program,
                                       .device = map->device,
                                       .piece_count = map->piece_count,
                                       .share_count = map->share_count,
                                       .pieces = pieces,
                                       .shares = shares,
                                       .scalars = &owner->scalars,
                                       .ledger = owner->party.ledger,
                                       .arena = owner->arena};
  if (!good)
    dtr_error_memory(error, map->piece_count * (int64_t)sizeof *pieces, "the update");
  good = good && dtr_update_new(&options, &owner->update, error);
  free(pieces);
  free(shares);
  return good;
}

void dtr_owner_enter_update(struct dtr_owner *owner) {
  dtr_update_begin(owner->update, owner->reduced);
  owner->phase = 0;
  owner->state = DTR_OWNER_UPDATE;
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
