#include "runtime/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 16 };

bool dtr_json_open(const struct dtr_env *env, const char *path, struct dtr_json *json,
                   struct dtr_error *error) {
  int file = env->file_open(env->context, path, DTR_FILE_CREATE);
  if (file < 0)
    return dtr_error_system(error, DTR_STATUS_IO, file, "%s cannot be written", path);
  char *buffer = malloc(BUFFER);
  if (!buffer) {
    env->file_close(env->context, file);
    return dtr_error_memory(error, BUFFER, path);
  }
  *json = (struct dtr_json){.env = env, .file = file, .size = BUFFER, .buffer = buffer};
  return true;
}

bool dtr_json_flush(struct dtr_json *json) {
  if (json->failure == 0 && json->used > 0)
    json->failure = dtr_env_write_all(json->env, json->file, json->buffer, json->used);
  json->used = 0;
  return json->failure == 0;
}

static void put(struct dtr_json *json, const char *text, size_t length) {
  while (length > 0) {
    if (json->used == json->size)
      dtr_json_flush(json);
    size_t part = json->size - json->used < length ? json->size - json->used : length;
    memcpy(json->buffer + json->used, text, part);
    json->used += part;
    text += part;
    length -= part;
  }
}

void dtr_json_raw(struct dtr_json *json, const char *text) {
  put(json, text, strlen(text));
}

void dtr_json_string(struct dtr_json *json, const char *text) {
  put(json, "\"", 1);
  for (; *text; text++) {
    char escaped[8];
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      put(json, (char[]){'\\', *text}, 2);
    else if (c < 0x20)
      put(json, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", c));
    else
      put(json, text, 1);
  }
  put(json, "\"", 1);
}

void dtr_json_integer(struct dtr_json *json, int64_t value) {
  char text[24];
  put(json, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

void dtr_json_number(struct dtr_json *json, double value, int digits) {
  char text[40];
  if (!isfinite(value)) {
    dtr_json_raw(json, "null");
    return;
  }
  put(json, text, (size_t)snprintf(text, sizeof text, "%.*g", digits, value));
}

bool dtr_json_close(struct dtr_json *json, const char *path, struct dtr_error *error) {
  if (!json->buffer)
    return true;
  dtr_json_flush(json);
  int closed = json->env->file_close(json->env->context, json->file);
  if (json->failure == 0)
    json->failure = closed;
  free(json->buffer);
  json->buffer = NULL;
  if (json->failure != 0)
    return dtr_error_system(error, DTR_STATUS_IO, json->failure, "%s cannot be written", path);
  return true;
}
