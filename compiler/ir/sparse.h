/* Sparse parameters (semantics.md 3): tables that are used only through `gather`.
 *
 * Purpose: the gradient of such a table is a list of rows: the training graph has the gathered
 * indices as root DTG_ROOT_ROWS and the gradient of each gathered row as root DTG_ROOT_GRAD. This
 * header says which tables these are, how large their lists can be, and which kernels of the update
 * can be run for touched rows alone. Ownership: the module's arena, or the one given. Threads:
 * none.
 *
 * The runtime has the same formulas in runtime/rows.h: a list is a number of rows, their ids
 * (ascending, four bytes each) and their values.
 */
#ifndef DTG_IR_SPARSE_H
#define DTG_IR_SPARSE_H

#include "compiler/ir/update_split.h"

enum { DTG_ROW_ID_BYTES = 4, DTG_ROW_COUNT_BYTES = 4 };

/* Some table is updated in another way than with zeros for the absent rows. */
bool dtg_module_is_lazy(const struct dtg_module *module);
/* NULL: the gradient of this variable is dense. */
const struct dtg_sparse *dtg_sparse_of(const struct dtg_module *module, uint32_t variable);
/* Rows that `shards` shards can touch among `rows` of the table. */
int64_t dtg_sparse_most(const struct dtg_sparse *table, int64_t shards, int64_t rows);
/* Rows that memory for such a list has room for: whole blocks, as kernels work on those, and at
 * least what one shard gathers. */
int64_t dtg_sparse_capacity(const struct dtg_sparse *table, int64_t shards, int64_t rows);
/* Bytes of a list of that many rows: in a message, and in a contribution block. */
int64_t dtg_sparse_message_bytes(const struct dtg_sparse *table, int64_t rows);
int64_t dtg_sparse_block_bytes(const struct dtg_sparse *table, int64_t capacity);
/* Bytes that a thread needs to sort what a shard has gathered. */
int64_t dtg_sparse_sort_bytes(const struct dtg_module *module);
/* Bytes that the update of `elements` elements of the table needs besides its arena. */
int64_t dtg_sparse_update_bytes(const struct dtg_module *module, const struct dtg_sparse *table,
                                int64_t elements, int64_t shards);

/* How a launch of the update serves a sparse table whose absent rows stay as they are. */
enum dtg_rows {
  DTG_ROWS_ALL,     /* every element: it depends on no gradient of such a table */
  DTG_ROWS_TOUCHED, /* touched rows alone, packed one behind the other */
  DTG_ROWS_BLOCKS   /* sums of blocks: those that hold a touched row, the others are 0 */
};
/* By group of the update graph. `split` is of the same groups. */
enum dtg_rows *dtg_sparse_groups(struct dtg_arena *arena, const struct dtg_module *module,
                                 const struct dtg_groups *groups,
                                 const struct dtg_update_split *split);
/* Decides for every sparse table whether only touched rows are updated: where a gradient of 0 means
 * no change, or the optimizer is lazy, and the kernels allow it. Requires: after stage 6. False:
 * the optimizer is lazy and its update needs all rows; `*trouble` is a node of the update graph
 * that does. */
bool dtg_sparse_decide(struct dtg_module *module, uint32_t *trouble);

#endif
