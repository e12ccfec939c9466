#include "compiler/tools/diff.h"

#include "compiler/base/bug.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PLAN_BYTES = 256 << 20, MAX_VALUE = 120 };

struct diff {
  struct dtg_strbuf *out;
  struct dtg_strbuf path; // of the value being compared
  size_t count;
};

// ---- reading ----

static bool too_large(const char *file, struct dtg_strbuf *why) {
  struct stat info;
  if (stat(file, &info) != 0) {
    dtg_strbuf_printf(why, "dtgc: cannot read %s: %s\n", file, strerror(errno));
    return true;
  }
  if (S_ISDIR(info.st_mode)) {
    dtg_strbuf_printf(why, "dtgc: %s is a folder, not a plan\n", file);
    return true;
  }
  if (info.st_size <= MAX_PLAN_BYTES)
    return false;
  dtg_strbuf_printf(why, "dtgc: %s has %lld bytes: a plan has at most %d\n", file,
                    (long long)info.st_size, MAX_PLAN_BYTES);
  return true;
}

static json_t *read_plan(const char *file, struct dtg_strbuf *why) {
  json_error_t error;
  if (too_large(file, why))
    return NULL;
  json_t *root = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
  if (!root) {
    dtg_strbuf_printf(why, "dtgc: %s:%d:%d: not valid JSON: %s\n", file, error.line, error.column,
                      error.text);
    return NULL;
  }
  if (json_is_integer(json_object_get(root, "schema")))
    return root;
  dtg_strbuf_printf(why,
                    "dtgc: %s is no plan: it has no `schema`\n"
                    "  hint: dtgc plan MODEL.dtg --format=json writes one\n",
                    file);
  json_decref(root);
  return NULL;
}

// ---- writing ----

static void put_value(struct diff *d, const json_t *value) {
  if (json_is_string(value)) {
    dtg_strbuf_puts(d->out, json_string_value(value));
    return;
  }
  if (json_is_null(value)) {
    dtg_strbuf_puts(d->out, "none");
    return;
  }
  char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
  if (!text)
    dtg_bug("a JSON value has no text");
  size_t length = strlen(text);
  dtg_strbuf_write(d->out, text, length < MAX_VALUE ? length : MAX_VALUE);
  if (length > MAX_VALUE)
    dtg_strbuf_puts(d->out, "...");
  free(text);
}

static void put_change(struct diff *d, const json_t *a, const json_t *b) {
  d->count++;
  dtg_strbuf_printf(d->out, "%s: ", dtg_strbuf_text(&d->path));
  put_value(d, a);
  dtg_strbuf_puts(d->out, " -> ");
  put_value(d, b);
  if (json_is_integer(a) && json_is_integer(b)) {
    long long change = 0;
    if (!__builtin_sub_overflow(json_integer_value(b), json_integer_value(a), &change))
      dtg_strbuf_printf(d->out, " (%+lld)", change);
  }
  dtg_strbuf_putc(d->out, '\n');
}

static void put_only(struct diff *d, const char *where, const json_t *value) {
  d->count++;
  dtg_strbuf_printf(d->out, "%s: only in %s", dtg_strbuf_text(&d->path), where);
  if (!json_is_object(value) && !json_is_array(value)) {
    dtg_strbuf_puts(d->out, ": ");
    put_value(d, value);
  }
  dtg_strbuf_putc(d->out, '\n');
}

// ---- comparing ----

static void cut(struct diff *d, size_t length) {
  d->path.len = length;
  if (d->path.data)
    d->path.data[length] = '\0';
}

static void compare(struct diff *d, const json_t *a, const json_t *b);

static void compare_under(struct diff *d, const json_t *a, const json_t *b) {
  if (!b)
    put_only(d, "A", a);
  else if (!a)
    put_only(d, "B", b);
  else
    compare(d, a, b);
}

static void compare_objects(struct diff *d, json_t *a, json_t *b) {
  size_t length = d->path.len;
  const char *key;
  json_t *value;
  json_object_foreach(a, key, value) {
    dtg_strbuf_printf(&d->path, "%s%s", length ? "." : "", key);
    compare_under(d, value, json_object_get(b, key));
    cut(d, length);
  }
  json_object_foreach(b, key, value) {
    if (json_object_get(a, key))
      continue;
    dtg_strbuf_printf(&d->path, "%s%s", length ? "." : "", key);
    compare_under(d, NULL, value);
    cut(d, length);
  }
}

// What may name the rows of a list, the first that tells them apart.
enum { NAME_KEYS = 3 };
static const char *const name_keys[][NAME_KEYS] = {
    {"path"},         {"role", "device"}, {"device"}, {"kind", "from", "to"},
    {"kind", "name"}, {"first"},          {"name"},   {"kernel"}};

// Ends of a transfer have a name of their own: a role and a first number.
static bool put_key(const json_t *value, struct dtg_strbuf *name) {
  const char *gap = name->len ? " " : "";
  if (json_is_string(value) && *json_string_value(value))
    dtg_strbuf_printf(name, "%s%s", gap, json_string_value(value));
  else if (json_is_integer(value))
    dtg_strbuf_printf(name, "%s%lld", gap, (long long)json_integer_value(value));
  else if (json_is_object(value))
    return put_key(json_object_get(value, "role"), name) &&
           put_key(json_object_get(value, "first"), name);
  return json_is_string(value) || json_is_integer(value);
}

// The rows of a list by name, or NULL if not every row has a name of its own.
static json_t *rows_by(const json_t *list, const char *const keys[NAME_KEYS]) {
  json_t *rows = json_object();
  struct dtg_strbuf name = {0};
  bool good = true;
  size_t index;
  json_t *row;
  json_array_foreach(list, index, row) {
    dtg_strbuf_clear(&name);
    for (int k = 0; k < NAME_KEYS && keys[k]; k++)
      good = good && put_key(json_object_get(row, keys[k]), &name);
    good = good && name.len > 0 && !json_object_get(rows, dtg_strbuf_text(&name)) &&
           json_object_set(rows, dtg_strbuf_text(&name), row) == 0;
  }
  dtg_strbuf_free(&name);
  if (good)
    return rows;
  json_decref(rows);
  return NULL;
}

static void compare_rows(struct diff *d, json_t *a, json_t *b) {
  size_t length = d->path.len;
  const char *key;
  json_t *value;
  json_object_foreach(a, key, value) {
    dtg_strbuf_printf(&d->path, "[%s]", key);
    compare_under(d, value, json_object_get(b, key));
    cut(d, length);
  }
  json_object_foreach(b, key, value) {
    if (json_object_get(a, key))
      continue;
    dtg_strbuf_printf(&d->path, "[%s]", key);
    compare_under(d, NULL, value);
    cut(d, length);
  }
}

static bool is_scalar_list(const json_t *list) {
  size_t index;
  json_t *value;
  json_array_foreach(list, index, value) {
    if (json_is_object(value) || json_is_array(value))
      return false;
  }
  return true;
}

static void compare_by_position(struct diff *d, const json_t *a, const json_t *b) {
  size_t length = d->path.len;
  for (size_t i = 0; i < json_array_size(a) || i < json_array_size(b); i++) {
    dtg_strbuf_printf(&d->path, "[%zu]", i);
    compare_under(d, json_array_get(a, i), json_array_get(b, i));
    cut(d, length);
  }
}

static void compare_arrays(struct diff *d, json_t *a, json_t *b) {
  if (is_scalar_list(a) && is_scalar_list(b)) {
    if (!json_equal(a, b))
      put_change(d, a, b);
    return;
  }
  for (size_t i = 0; i < sizeof name_keys / sizeof *name_keys; i++) {
    json_t *rows_a = rows_by(a, name_keys[i]), *rows_b = rows_by(b, name_keys[i]);
    bool named = rows_a && rows_b;
    if (named)
      compare_rows(d, rows_a, rows_b);
    json_decref(rows_a);
    json_decref(rows_b);
    if (named)
      return;
  }
  compare_by_position(d, a, b);
}

static void compare(struct diff *d, const json_t *a, const json_t *b) {
  // Iteration over an object needs a pointer that is not const; nothing is changed.
  json_t *left = (json_t *)(uintptr_t)a, *right = (json_t *)(uintptr_t)b;
  if (json_is_object(a) && json_is_object(b))
    compare_objects(d, left, right);
  else if (json_is_array(a) && json_is_array(b))
    compare_arrays(d, left, right);
  else if (!json_equal(left, right))
    put_change(d, a, b);
}

enum dtg_diff_result dtg_diff_files(const char *a, const char *b, struct dtg_strbuf *out,
                                    struct dtg_strbuf *why) {
  json_t *left = read_plan(a, why), *right = read_plan(b, why);
  enum dtg_diff_result result = DTG_DIFF_UNREADABLE;
  if (left && right) {
    struct diff d = {.out = out};
    dtg_strbuf_printf(out, "A: %s\nB: %s\n", a, b);
    compare(&d, left, right);
    dtg_strbuf_printf(out, "%zu difference%s\n", d.count, d.count == 1 ? "" : "s");
    dtg_strbuf_free(&d.path);
    result = d.count ? DTG_DIFF_DIFFERENT : DTG_DIFF_EQUAL;
  }
  json_decref(left);
  json_decref(right);
  return result;
}
