// dtgc compare: the strategies of a file side by side.
//
// Purpose: what really differs between in-graph and between-graph, and what it costs, in one table.
// Ownership: texts live in the arena given. Thread rule: pure.
#ifndef DTG_TOOLS_COMPARE_H
#define DTG_TOOLS_COMPARE_H

#include "compiler/partition/partition.h"

struct dtg_strbuf;

enum { DTG_COMPARE_ROWS = 17 };

// One strategy: a text per row, or why the cluster refuses it.
struct dtg_compare_column {
  const char *name;
  const char *refused; // NULL: it can be used
  const char *cells[DTG_COMPARE_ROWS];
};

// Memory that a device needs in its role; 0: the plan has no such device.
struct dtg_compare_memory {
  int64_t replica; // with what it owns, if it is an owner
  int64_t owner;   // the largest one that is no replica
};

// `nodes`, memory: what the partition alone does not know.
void dtg_compare_fill(struct dtg_arena *arena, const struct dtg_partition *partition,
                      struct dtg_compare_memory memory, struct dtg_compare_column *out);
// At most 100 columns of text: three strategies side by side, then the next three below.
void dtg_compare_print(const struct dtg_compare_column *columns, size_t count,
                       struct dtg_strbuf *out);

#endif
