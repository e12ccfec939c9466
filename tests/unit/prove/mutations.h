// Plans made wrong on purpose: each kind is invalid by construction.
#ifndef TESTS_UNIT_PROVE_MUTATIONS_H
#define TESTS_UNIT_PROVE_MUTATIONS_H

#include "tests/unit/prove/plan_case.h"

// A copy of a case's tables that may be spoiled; graphs are shared, and restored by mutation_undo.
struct mutation {
  struct plan_case *of;
  struct dtg_arena arena;
  struct dtg_partition partition;
  struct dtg_replication replication;
  struct dtg_plan plan;
  uint64_t random; // state
  // What was changed in the shared graphs.
  struct dtg_graph update;
  struct dtg_sparse *sparse;
  struct dtg_node *node;
  uint32_t device;
};

void mutation_open(struct mutation *m, struct plan_case *of, uint64_t seed);
void mutation_undo(struct mutation *m);

// Changes one thing. False: this kind has nothing to change in this case. Otherwise the reason that
// the proof must give contains one of `reasons` (NULL-terminated).
struct mutation_kind {
  const char *name;
  bool (*apply)(struct mutation *m);
  const char *reasons[4];
};
size_t mutation_kind_count(void);
const struct mutation_kind *mutation_kind_at(size_t index);

// For the files that make them.
extern const struct mutation_kind mutation_message_kinds[];
extern const size_t mutation_message_kind_count;
uint32_t mutation_draw(struct mutation *m, size_t bound);

#endif
