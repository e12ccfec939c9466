/* Sparse gradients: lists of rows of a table (struct dtr_row_list in dtr_abi.h).
 *
 * Purpose: make the list of what a shard has gathered, add lists up along the fixed tree, and move
 * them between contribution blocks and messages. A list has the same bits as the dense gradient:
 * rows that several elements of a shard gather add up in their order, beginning with 0, as
 * `scatter_add` does; so no sum is -0, and an absent row is +0, which changes nothing when it is
 * added. Ownership: works in the caller's memory. Threads: none of its own.
 *
 * A list in a message: int32_t number, int32_t ids, values; packed. Ids count from the table's
 * first row.
 */
#ifndef DTR_ROWS_H
#define DTR_ROWS_H

#include "dtr_abi.h"

enum { DTR_ROW_ID_BYTES = 4, DTR_ROW_COUNT_BYTES = 4, DTR_ALL_ROWS = -1 };

static inline bool dtr_rows_is(const struct dtr_contribution *c) {
  return c->list.kind != DTR_ROWS_NONE;
}
static inline int32_t *dtr_rows_count(const struct dtr_contribution *c, char *block) {
  return (int32_t *)(void *)(block + c->list.count);
}
static inline int32_t *dtr_rows_ids(const struct dtr_contribution *c, char *block) {
  return (int32_t *)(void *)(block + c->list.ids);
}

/* Rows that `shards` shards can touch among `rows` of the table; rows that memory for that many
 * has room for; its bytes; bytes of so many rows in a message. */
int64_t dtr_rows_most(const struct dtr_row_list *list, int64_t shards, int64_t rows);
int64_t dtr_rows_capacity(const struct dtr_row_list *list, int64_t shards, int64_t rows,
                          int64_t block_rows);
int64_t dtr_rows_block_bytes(const struct dtr_row_list *list, int64_t capacity);
int64_t dtr_rows_message_bytes(const struct dtr_row_list *list, int64_t rows);

/* Scratch for dtr_rows_sort of any of the contributions. */
int64_t dtr_rows_scratch(const struct dtr_contribution *table, uint32_t count);
/* The list of what a shard has written to `block`. */
void dtr_rows_sort(const struct dtr_contribution *c, char *block, char *scratch);
/* left = left + right. `left` has room for both. */
void dtr_rows_combine(const struct dtr_contribution *c, char *left, const char *right);
/* Every value times `factor`. */
void dtr_rows_scale(const struct dtr_contribution *c, char *block, float factor);

/* Positions of the list whose rows lie in [first, first + rows): [*begin, *end). */
void dtr_rows_range(const struct dtr_contribution *c, const char *block, int64_t first,
                    int64_t rows, int64_t *begin, int64_t *end);
/* Packs the rows of [first, first + rows) into a message; its bytes. */
int64_t dtr_rows_pack(const struct dtr_contribution *c, const char *block, int64_t first,
                      int64_t rows, char *message);
/* Looks at a list at the beginning of a message of `size` bytes: its bytes, and the number of rows;
 * -1 if it is longer than the message, or than `most` rows, or has ids that are not ascending or no
 * rows of [first, first + rows). */
int64_t dtr_rows_check(const struct dtr_row_list *list, const char *message, int64_t size,
                       int64_t most, int64_t first, int64_t rows, int32_t *count);
/* Copies a list that was checked into a block; its bytes. */
int64_t dtr_rows_unpack(const struct dtr_contribution *c, const char *message, char *block);

#endif
