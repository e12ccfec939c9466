#include "driver.h"

#include "runtime/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ref_format(struct ref_driver *driver, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = dtg_arena_vprintf(&driver->arena, format, args);
  va_end(args);
  return text;
}

const char *ref_work_path(struct ref_driver *driver, const char *folder, const char *name) {
  const char *path = ref_format(driver, "%s/%s", driver->work, folder);
  int result = dtr_env_mkdir_all(dtr_env_real(), path);
  if (result < 0) {
    fprintf(stderr, "cannot make %s: %s\n", path, strerror(-result));
    exit(2);
  }
  return ref_format(driver, "%s/%s", path, name);
}

bool ref_selected(const struct ref_driver *driver, const char *name) {
  return !driver->only || strstr(name, driver->only);
}

const char *ref_stem(struct ref_driver *driver, const json_t *file) {
  const char *path = ref_text(file, "path"), *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  return dtg_arena_strndup(&driver->arena, name, strcspn(name, "."));
}

const json_t *ref_index_find(const struct ref_driver *driver, const char *path) {
  size_t i;
  const json_t *file;
  json_array_foreach(driver->files, i, file) {
    if (strcmp(ref_text(file, "path"), path) == 0)
      return file;
  }
  return NULL;
}

const char *ref_text(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

void ref_write_file(const char *path, const struct dtg_strbuf *text) {
  FILE *file = fopen(path, "w");
  bool good = file && fwrite(dtg_strbuf_text(text), 1, text->len, file) == text->len;
  if (file && fclose(file) != 0)
    good = false;
  if (!good) {
    perror(path);
    exit(2);
  }
}

static void put_list(struct dtg_strbuf *out, const json_t *list) {
  size_t i;
  const json_t *element;
  dtg_strbuf_putc(out, '[');
  json_array_foreach(list, i, element) {
    dtg_strbuf_puts(out, i > 0 ? ", " : "");
    ref_put_value(out, element);
  }
  dtg_strbuf_putc(out, ']');
}

void ref_put_value(struct dtg_strbuf *out, const json_t *value) {
  switch (json_typeof(value)) {
  case JSON_ARRAY:
    put_list(out, value);
    break;
  case JSON_INTEGER:
    dtg_strbuf_printf(out, "%lld", (long long)json_integer_value(value));
    break;
  case JSON_REAL:
    dtg_strbuf_f64(out, json_real_value(value));
    break;
  case JSON_STRING:
    dtg_strbuf_quote(out, json_string_value(value), json_string_length(value));
    break;
  default:
    dtg_strbuf_puts(out, json_is_true(value) ? "true" : "false");
    break;
  }
}
