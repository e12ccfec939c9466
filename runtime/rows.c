#include "runtime/rows.h"

#include "runtime/memory.h"

#include <string.h>

/* Gradients are f32: dtr_tree_new_part refuses others. */
static int64_t row_bytes(const struct dtr_row_list *list) {
  return list->width * (int64_t)sizeof(float);
}

int64_t dtr_rows_most(const struct dtr_row_list *list, int64_t shards, int64_t rows) {
  int64_t picks;
  return __builtin_mul_overflow(shards, list->picks, &picks) || picks > rows ? rows : picks;
}

int64_t dtr_rows_capacity(const struct dtr_row_list *list, int64_t shards, int64_t rows,
                          int64_t block_rows) {
  int64_t most = dtr_rows_most(list, shards, rows);
  int64_t room = (most + block_rows - 1) / block_rows * block_rows;
  room = room < list->rows ? room : list->rows;
  return room > list->picks ? room : list->picks;
}

int64_t dtr_rows_block_bytes(const struct dtr_row_list *list, int64_t capacity) {
  return dtr_memory_round(DTR_ROW_COUNT_BYTES) + dtr_memory_round(capacity * DTR_ROW_ID_BYTES) +
         dtr_memory_round(capacity * row_bytes(list));
}

int64_t dtr_rows_message_bytes(const struct dtr_row_list *list, int64_t rows) {
  return DTR_ROW_COUNT_BYTES + rows * (DTR_ROW_ID_BYTES + row_bytes(list));
}

/* ---- sorting ---- */

static int64_t keys_bytes(const struct dtr_row_list *list) {
  return dtr_memory_round(list->picks * (int64_t)sizeof(uint64_t));
}

int64_t dtr_rows_scratch(const struct dtr_contribution *table, uint32_t count) {
  int64_t most = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct dtr_row_list *list = &table[i].list;
    if (!dtr_rows_is(&table[i]))
      continue;
    int64_t bytes = 2 * keys_bytes(list) + dtr_memory_round(list->picks * row_bytes(list));
    most = bytes > most ? bytes : most;
  }
  return most;
}

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, ID_SHIFT = 32 };

/* One pass of a radix sort: stable, so that equal ids stay in the order of their positions. */
static void sort_digit(const uint64_t *from, uint64_t *to, int64_t count, int shift) {
  int64_t first[DIGITS] = {0}, at = 0;
  for (int64_t i = 0; i < count; i++)
    first[from[i] >> shift & (DIGITS - 1)]++;
  for (int d = 0; d < DIGITS; d++) {
    int64_t here = first[d];
    first[d] = at;
    at += here;
  }
  for (int64_t i = 0; i < count; i++)
    to[first[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/* Keys are id << 32 | position. Gives the sorted ones. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *other, int64_t count, int64_t rows) {
  for (int shift = ID_SHIFT; count > 1 && (rows - 1) >> (shift - ID_SHIFT) != 0;
       shift += DIGIT_BITS) {
    sort_digit(keys, other, count, shift);
    uint64_t *swap = keys;
    keys = other;
    other = swap;
  }
  return keys;
}

static void add_row(float *restrict sum, const float *restrict row, int64_t width) {
  for (int64_t i = 0; i < width; i++)
    sum[i] += row[i];
}

void dtr_rows_sort(const struct dtr_contribution *c, char *block, char *scratch) {
  const struct dtr_row_list *list = &c->list;
  int32_t *ids = dtr_rows_ids(c, block);
  float *values = (float *)(void *)(block + c->offset);
  uint64_t *keys = (uint64_t *)(void *)scratch;
  uint64_t *other = (uint64_t *)(void *)(scratch + keys_bytes(list));
  float *rows = (float *)(void *)(scratch + 2 * keys_bytes(list));
  int64_t count = 0, made = 0;
  for (int64_t i = 0; i < list->picks; i++)
    if (ids[i] >= 0 && ids[i] < list->rows)
      keys[count++] = (uint64_t)ids[i] << ID_SHIFT | (uint64_t)i;
  keys = sort_keys(keys, other, count, list->rows);
  memcpy(rows, values, (size_t)(list->picks * row_bytes(list)));
  for (int64_t i = 0; i < count; i++) {
    int32_t id = (int32_t)(keys[i] >> ID_SHIFT);
    if (made == 0 || ids[made - 1] != id) {
      ids[made++] = id;
      memset(values + (made - 1) * list->width, 0, (size_t)row_bytes(list));
    }
    add_row(values + (made - 1) * list->width, rows + (int64_t)(keys[i] & UINT32_MAX) * list->width,
            list->width);
  }
  *dtr_rows_count(c, block) = (int32_t)made;
}

/* ---- sums ---- */

static int64_t count_union(const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count) {
  int64_t i = 0, k = 0, both = 0;
  while (i < a_count && k < b_count) {
    both += a[i] == b[k];
    int32_t x = a[i], y = b[k];
    i += x <= y;
    k += y <= x;
  }
  return a_count + b_count - both;
}

/* From the end, so that the left list is not overwritten before it is read. */
void dtr_rows_combine(const struct dtr_contribution *c, char *left, const char *right) {
  int64_t width = c->list.width, bytes = row_bytes(&c->list);
  char *from = (char *)right; /* read only */
  int32_t *ids = dtr_rows_ids(c, left), *more = dtr_rows_ids(c, from);
  float *values = (float *)(void *)(left + c->offset);
  const float *added = (const float *)(const void *)(right + c->offset);
  int64_t i = *dtr_rows_count(c, left), k = *dtr_rows_count(c, from);
  int64_t at = count_union(ids, i, more, k);
  *dtr_rows_count(c, left) = (int32_t)at;
  while (k > 0) {
    bool keep = i > 0 && ids[i - 1] >= more[k - 1], add = i == 0 || ids[i - 1] <= more[k - 1];
    at--;
    if (keep && i - 1 != at)
      memcpy(values + at * width, values + (i - 1) * width, (size_t)bytes);
    if (keep && add)
      add_row(values + at * width, added + (k - 1) * width, width);
    else if (add)
      memcpy(values + at * width, added + (k - 1) * width, (size_t)bytes);
    ids[at] = add ? more[k - 1] : ids[i - 1];
    i -= keep;
    k -= add;
  }
}

void dtr_rows_scale(const struct dtr_contribution *c, char *block, float factor) {
  float *values = (float *)(void *)(block + c->offset);
  int64_t count = *dtr_rows_count(c, block) * c->list.width;
  for (int64_t i = 0; i < count; i++)
    values[i] *= factor;
}

/* ---- messages ---- */

static int64_t lower_bound(const int32_t *ids, int64_t count, int64_t id) {
  int64_t begin = 0;
  while (begin < count) {
    int64_t middle = begin + (count - begin) / 2;
    if (ids[middle] < id)
      begin = middle + 1;
    else
      count = middle;
  }
  return begin;
}

void dtr_rows_range(const struct dtr_contribution *c, const char *block, int64_t first,
                    int64_t rows, int64_t *begin, int64_t *end) {
  char *at = (char *)block; /* read only */
  int64_t count = *dtr_rows_count(c, at);
  *begin = lower_bound(dtr_rows_ids(c, at), count, first);
  *end = lower_bound(dtr_rows_ids(c, at), count, first + rows);
}

int64_t dtr_rows_pack(const struct dtr_contribution *c, const char *block, int64_t first,
                      int64_t rows, char *message) {
  int64_t begin, end, bytes = row_bytes(&c->list);
  dtr_rows_range(c, block, first, rows, &begin, &end);
  int32_t count = (int32_t)(end - begin);
  memcpy(message, &count, sizeof count);
  memcpy(message + DTR_ROW_COUNT_BYTES, block + c->list.ids + begin * DTR_ROW_ID_BYTES,
         (size_t)count * DTR_ROW_ID_BYTES);
  memcpy(message + DTR_ROW_COUNT_BYTES + (int64_t)count * DTR_ROW_ID_BYTES,
         block + c->offset + begin * bytes, (size_t)(count * bytes));
  return dtr_rows_message_bytes(&c->list, count);
}

int64_t dtr_rows_check(const struct dtr_row_list *list, const char *message, int64_t size,
                       int64_t most, int64_t first, int64_t rows, int32_t *count) {
  int32_t found;
  int64_t last = first - 1;
  if (size < DTR_ROW_COUNT_BYTES)
    return -1;
  memcpy(&found, message, sizeof found);
  if (found < 0 || found > most || dtr_rows_message_bytes(list, found) > size)
    return -1;
  for (int32_t i = 0; i < found; i++) {
    int32_t id;
    memcpy(&id, message + DTR_ROW_COUNT_BYTES + (int64_t)i * DTR_ROW_ID_BYTES, sizeof id);
    if (id <= last || id >= first + rows)
      return -1;
    last = id;
  }
  *count = found;
  return dtr_rows_message_bytes(list, found);
}

int64_t dtr_rows_unpack(const struct dtr_contribution *c, const char *message, char *block) {
  int32_t count;
  memcpy(&count, message, sizeof count);
  *dtr_rows_count(c, block) = count;
  memcpy(dtr_rows_ids(c, block), message + DTR_ROW_COUNT_BYTES, (size_t)count * DTR_ROW_ID_BYTES);
  memcpy(block + c->offset, message + DTR_ROW_COUNT_BYTES + (int64_t)count * DTR_ROW_ID_BYTES,
         (size_t)(count * row_bytes(&c->list)));
  return dtr_rows_message_bytes(&c->list, count);
}
