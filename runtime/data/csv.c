#include "runtime/data/sources.h"
#include "runtime/nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the reader is. Cells are cut out of the text in place. */
struct csv_cursor {
  const char *path;
  char *at, *end;
  int64_t line; /* of the text, from 1 */
  struct dtr_error *error;
};

struct csv_cell {
  char *text; /* ended by a zero */
  int64_t line;
  bool last; /* of its record */
};

struct category;

/* What the cells of a column become. */
struct csv_target {
  const struct dtr_column *column;
  int64_t index, width;        /* of the column; of a record */
  struct category *categories; /* sorted by name; NULL: the cells are numbers */
  enum dtr_dtype dtype;
  struct dtr_values *values;
};

static bool csv_fail(struct csv_cursor *cursor, int64_t line, const char *what) {
  return dtr_error_set(cursor->error, DTR_STATUS_DATA, "%s:%" PRId64 ": %s", cursor->path, line,
                       what);
}

/* Takes the separator behind a cell. */
static bool separator_take(struct csv_cursor *cursor, struct csv_cell *cell, char *cell_end) {
  char *at = cursor->at;
  cell->last = true;
  if (at < cursor->end && *at == ',') {
    cell->last = false;
    at++;
  } else if (at < cursor->end) {
    if (*at == '\r')
      at++;
    if (at < cursor->end && *at != '\n')
      return csv_fail(cursor, cursor->line, "a carriage return without a line feed");
    if (at < cursor->end)
      at++;
    cursor->line++;
  }
  *cell_end = 0;
  cursor->at = at;
  return true;
}

/* The opening quote is taken. Doubled quotes become one. */
static bool quoted_take(struct csv_cursor *cursor, struct csv_cell *cell) {
  char *to = cell->text = cursor->at, *from = to;
  for (;; from++) {
    if (from == cursor->end)
      return csv_fail(cursor, cell->line, "a quoted cell does not end");
    if (*from == '"' && (from + 1 == cursor->end || from[1] != '"'))
      break;
    if (*from == '"')
      from++;
    cursor->line += *from == '\n';
    *to++ = *from;
  }
  cursor->at = from + 1;
  if (cursor->at < cursor->end && !strchr(",\r\n", *cursor->at))
    return csv_fail(cursor, cursor->line, "something follows a closing quote");
  return separator_take(cursor, cell, to);
}

static bool plain_take(struct csv_cursor *cursor, struct csv_cell *cell) {
  char *at = cell->text = cursor->at;
  for (; at < cursor->end && *at != ',' && *at != '\n' && *at != '\r'; at++)
    if (*at == '"')
      return csv_fail(cursor, cursor->line, "a quote inside an unquoted cell");
  cursor->at = at;
  return separator_take(cursor, cell, at);
}

static bool cell_take(struct csv_cursor *cursor, struct csv_cell *cell) {
  cell->line = cursor->line;
  if (cursor->at < cursor->end && *cursor->at == '"') {
    cursor->at++;
    return quoted_take(cursor, cell);
  }
  return plain_take(cursor, cell);
}

/* ---- the first record ---- */

/* Names that there are, for the message. */
static void names_append(char *names, size_t size, const char *name) {
  size_t length = strlen(names);
  if (length + 8 < size)
    snprintf(names + length, size - length, "%s\"%.60s\"", length ? ", " : "", name);
}

static bool header_read(struct csv_cursor *cursor, const char *column, int64_t *index,
                        int64_t *width) {
  char names[600] = "";
  struct csv_cell cell;
  struct dtr_nearest nearest;
  dtr_nearest_begin(&nearest, column, strlen(column));
  *index = -1;
  *width = 0;
  if (cursor->end - cursor->at >= 3 && memcmp(cursor->at, "\xef\xbb\xbf", 3) == 0)
    cursor->at += 3;
  if (cursor->at == cursor->end)
    return dtr_error_set(cursor->error, DTR_STATUS_DATA, "%s: the file is empty", cursor->path);
  do {
    if (!cell_take(cursor, &cell))
      return false;
    if (strcmp(cell.text, column) == 0) {
      if (*index >= 0)
        return dtr_error_set(cursor->error, DTR_STATUS_DATA,
                             "%s:1: two columns have the name \"%s\"", cursor->path, column);
      *index = *width;
    }
    names_append(names, sizeof names, cell.text);
    dtr_nearest_try(&nearest, cell.text);
    ++*width;
  } while (!cell.last);
  if (*index >= 0)
    return true;
  dtr_error_set(cursor->error, DTR_STATUS_DATA, "%s:1: there is no column \"%s\"", cursor->path,
                column);
  if (nearest.best[0])
    return dtr_error_hint(cursor->error, "did you mean \"%s\"? The columns are %s", nearest.best,
                          names);
  return dtr_error_hint(cursor->error, "the columns are %s", names);
}

/* ---- numbers ---- */

static char *trim(char *text) {
  while (*text == ' ' || *text == '\t')
    text++;
  size_t length = strlen(text);
  while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
    length--;
  text[length] = 0;
  return text;
}

static bool is_integer(enum dtr_dtype dtype) {
  return dtype == DTR_I32 || dtype == DTR_I64 || dtype == DTR_U8 || dtype == DTR_BOOL;
}

/* A decimal number; strtod takes more (hexadecimal, nan). */
static bool number_parse(const char *text, double *value) {
  char *end;
  if (!*text || text[strspn(text, "+-.0123456789eE")])
    return false;
  *value = strtod(text, &end);
  return *end == 0 && isfinite(*value);
}

static bool integer_store(enum dtr_dtype dtype, const char *text, double number, void *values,
                          int64_t row) {
  static const struct {
    int64_t low, high;
  } limits[] = {[DTR_I32] = {INT32_MIN, INT32_MAX},
                [DTR_I64] = {INT64_MIN, INT64_MAX},
                [DTR_U8] = {0, UINT8_MAX},
                [DTR_BOOL] = {0, 1}};
  char *end;
  errno = 0;
  int64_t whole = strtoll(text, &end, 10);
  if (*end != 0) { /* "3.0", "1e3" */
    if (number != floor(number) || fabs(number) > 0x1p53)
      return false;
    whole = (int64_t)number;
  } else if (errno != 0) {
    return false;
  }
  if (whole < limits[dtype].low || whole > limits[dtype].high)
    return false;
  if (dtype == DTR_I64)
    ((int64_t *)values)[row] = whole;
  else
    dtr_value_store(dtype, values, row, (double)whole);
  return true;
}

static bool real_store(enum dtr_dtype dtype, const char *text, double number, void *values,
                       int64_t row) {
  if (dtype == DTR_F32)
    ((float *)values)[row] = strtof(text, NULL); /* once: not by way of a double */
  else
    dtr_value_store(dtype, values, row, number);
  return isfinite(dtr_value_load(dtype, values, row));
}

static bool number_store(struct csv_cursor *cursor, const struct csv_cell *cell,
                         const struct csv_target *target, int64_t row) {
  const char *column = target->column->member, *text = trim(cell->text);
  enum dtr_dtype dtype = target->dtype;
  void *values = target->values->bytes;
  double number;
  if (!number_parse(text, &number))
    return dtr_error_set(cursor->error, DTR_STATUS_DATA,
                         "%s:%" PRId64 ": column \"%s\": \"%.60s\" is not a number", cursor->path,
                         cell->line, column, text);
  bool stored = is_integer(dtype) ? integer_store(dtype, text, number, values, row)
                                  : real_store(dtype, text, number, values, row);
  if (!stored)
    return dtr_error_set(cursor->error, DTR_STATUS_DATA,
                         "%s:%" PRId64 ": column \"%s\": %.60s is not a value of type %s",
                         cursor->path, cell->line, column, text, dtr_dtype_name(dtype));
  return true;
}

/* ---- categories ---- */

struct category {
  const char *name;
  uint32_t place;
};

static int category_compare(const void *a, const void *b) {
  return strcmp(((const struct category *)a)->name, ((const struct category *)b)->name);
}

/* Sorted by name; NULL without memory. The caller frees. */
static struct category *categories_sort(const struct dtr_column *column) {
  struct category *sorted = malloc((column->category_count + 1) * sizeof *sorted);
  if (!sorted)
    return NULL;
  for (uint32_t i = 0; i < column->category_count; i++)
    sorted[i] = (struct category){column->categories[i], i};
  qsort(sorted, column->category_count, sizeof *sorted, category_compare);
  return sorted;
}

static bool category_unseen(struct csv_cursor *cursor, const struct csv_cell *cell,
                            const struct dtr_column *column, const char *text) {
  struct dtr_nearest nearest;
  dtr_nearest_begin(&nearest, text, strlen(text));
  for (uint32_t i = 0; i < column->category_count; i++)
    dtr_nearest_try(&nearest, column->categories[i]);
  dtr_error_set(cursor->error, DTR_STATUS_DATA,
                "%s:%" PRId64 ": column \"%s\": \"%.60s\" is none of its %u categories",
                cursor->path, cell->line, column->member, text, column->category_count);
  if (nearest.best[0])
    return dtr_error_hint(cursor->error,
                          "did you mean \"%s\"? Correct the file, or add \"%.60s\" to `categories`",
                          nearest.best, text);
  return dtr_error_hint(cursor->error, "add \"%.60s\" to `categories`, or correct the file", text);
}

static bool category_store(struct csv_cursor *cursor, const struct csv_cell *cell,
                           const struct csv_target *target, int64_t row) {
  const struct dtr_column *column = target->column;
  struct category key = {trim(cell->text), 0};
  const struct category *found = bsearch(&key, target->categories, column->category_count,
                                         sizeof *target->categories, category_compare);
  if (!found)
    return category_unseen(cursor, cell, column, key.name);
  dtr_value_store(target->dtype, target->values->bytes, row, found->place);
  return true;
}

/* Whether the type of the values holds the place of every category. */
static bool categories_check(const char *path, const struct csv_target *target,
                             struct dtr_error *error) {
  static const int64_t most[] = {
      [DTR_F32] = 1 << 24,   [DTR_F64] = (int64_t)1 << 53, [DTR_BF16] = 1 << 8,
      [DTR_I32] = INT32_MAX, [DTR_I64] = INT64_MAX,        [DTR_U8] = UINT8_MAX,
      [DTR_BOOL] = 1};
  uint32_t count = target->column->category_count;
  if (count == 0 || count - 1 <= most[target->dtype])
    return true;
  dtr_error_set(error, DTR_STATUS_DATA, "%s: column \"%s\": %s cannot hold %u categories", path,
                target->column->member, dtr_dtype_name(target->dtype), count);
  return dtr_error_hint(error, "declare the input as i32");
}

/* ---- records ---- */

static bool record_read(struct csv_cursor *cursor, const struct csv_target *target, int64_t row) {
  struct csv_cell cell;
  int64_t line = cursor->line, count = 0;
  do {
    if (!cell_take(cursor, &cell))
      return false;
    if (count == target->index && !(target->categories ? category_store(cursor, &cell, target, row)
                                                       : number_store(cursor, &cell, target, row)))
      return false;
    count++;
  } while (!cell.last);
  if (count != target->width)
    return dtr_error_set(cursor->error, DTR_STATUS_DATA,
                         "%s:%" PRId64 ": %" PRId64 " cells, the first line has %" PRId64,
                         cursor->path, line, count, target->width);
  return true;
}

static int64_t lines_count(const char *at, const char *end) {
  int64_t lines = 1;
  while ((at = memchr(at, '\n', (size_t)(end - at)))) {
    lines++;
    at++;
  }
  return lines;
}

static bool text_read(const struct dtr_env *env, struct csv_cursor *cursor,
                      struct csv_target *target) {
  struct dtr_values *values = target->values;
  int64_t most = lines_count(cursor->at, cursor->end);
  if (!header_read(cursor, target->column->member, &target->index, &target->width) ||
      !categories_check(cursor->path, target, cursor->error) ||
      !dtr_values_make(env, cursor->path, (enum dtr_element)target->dtype, 1, &most, INT64_MAX,
                       values, cursor->error))
    return false;
  values->rows = 0;
  while (cursor->at < cursor->end) {
    if (!record_read(cursor, target, values->rows)) {
      dtr_values_free(values);
      return false;
    }
    values->rows++;
  }
  return true;
}

bool dtr_csv_read(const struct dtr_env *env, const char *path, const struct dtr_column *column,
                  enum dtr_dtype dtype, struct dtr_values *values, struct dtr_error *error) {
  struct csv_target target = {.column = column, .dtype = dtype, .values = values};
  struct dtr_stream *stream;
  char *text;
  int64_t size;
  if (!dtr_stream_open(env, path, &stream, error))
    return false;
  bool done = dtr_stream_load(stream, &text, &size, error);
  dtr_stream_close(stream);
  if (!done)
    return false;
  struct csv_cursor cursor = {path, text, text + size, 1, error};
  if (column->category_count > 0)
    target.categories = categories_sort(column);
  if (column->category_count > 0 && !target.categories)
    done = dtr_error_memory(error, column->category_count * sizeof *target.categories, path);
  else if (memchr(text, 0, (size_t)size))
    done = dtr_error_set(error, DTR_STATUS_DATA, "%s: not text: it has a zero byte", path);
  else
    done = text_read(env, &cursor, &target);
  free(target.categories);
  free(text);
  return done;
}
