// What the two halves of the host writer share. Thread rule: one writer, one thread.
#ifndef CG_HOST_INTERNAL_H
#define CG_HOST_INTERNAL_H

#include "codegen/host/host.h"

struct cg_host {
  const struct cg_host_input *in;
  struct dtg_strbuf *out;
  struct dtg_arena *arena;
  uint32_t *call_index; // per kernel of the plan: its row in the table of products or of windows
  uint32_t gemm_count, window_count;
  uint32_t depth; // loops around what is written
};

const struct dtg_node *cg_host_subject(const struct dtg_plan_function *function,
                                       const struct dtg_plan_step *step);
// The source's name for what lies at a location; NULL if it has none.
const char *cg_host_location_name(const struct cg_host *h, int function,
                                  const struct dtg_location *at);
// "fc1: x @ w", safe inside a comment.
void cg_host_put_title(const struct cg_host *h, const struct dtg_node *subject,
                       const struct cg_kernel *kernel);
// A string literal, or NULL.
void cg_host_put_string(const struct cg_host *h, const char *text);
// The range checks of a group and their number, in the order of the graph.
void cg_host_put_checks(const struct cg_host *h, const struct dtg_graph *graph, uint32_t group);
// Tables and `replication`, where the program has more than one replica or owner.
void cg_host_put_replication(const struct cg_host *h);
void cg_host_put_tables(const struct cg_host *h, const char *const *function_names);

#endif
