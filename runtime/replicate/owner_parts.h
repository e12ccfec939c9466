/* Inside of an owner; for the files owner*.c only. Threads and ownership: see owner.h. */
#ifndef DTR_REPLICATE_OWNER_PARTS_H
#define DTR_REPLICATE_OWNER_PARTS_H

#include "runtime/replicate/owner.h"

enum dtr_owner_state {
  DTR_OWNER_BEGIN,
  DTR_OWNER_SCATTER,
  DTR_OWNER_PUBLISH,
  DTR_OWNER_COLLECT,
  DTR_OWNER_UPDATE,
  DTR_OWNER_EXCHANGE
};

struct dtr_owner {
  struct dtr_party party;
  const struct dtr_owner_map *map;
  uint32_t index;
  struct dtr_executor *executor;
  enum dtr_owner_state state;

  char *memory;                   /* of the pieces */
  struct dtr_contribution *table; /* the shares as a contribution block */
  struct dtr_tree *tree;          /* over all leaves */
  char *reduced;                  /* between collect and the end of the update */

  char *arena;  /* of the update */
  char *block;  /* publish: packed */
  char *gather; /* packed */
  char *norms;  /* packed, of one phase */
  char **buffers; /* of one launch */
  bool *have;     /* [replica] pushed in this step; [owner] block sums of this phase */
  uint32_t missing;
  uint32_t next; /* publish, exchange: the next one to send to */
  uint32_t phase, launch;
  bool is_gathering; /* the reply to the chief is under way */
  struct dtr_scalars scalars;
};

/* Runs the launches of the current phase. False: a kernel failed. */
bool dtr_owner_run_phase(struct dtr_owner *owner);
/* Packs the block sums of the current phase; false if there are none. */
int64_t dtr_owner_pack_norms(struct dtr_owner *owner);
void dtr_owner_unpack_norms(struct dtr_owner *owner, uint32_t from, const char *bytes);

#endif
