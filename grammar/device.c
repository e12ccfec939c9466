// Devices after `on`: the grammar takes everything that looks like one; here the three right
// spellings are told from near misses, which get the spelling that was meant.
#include "grammar/node.h"
#include "grammar/print.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *type_of(struct dtg_parser *parser, const char *text) {
  static const char *const types[] = {"cpu", "gpu"};
  for (size_t i = 0; text && i < 2; i++)
    if (strcasecmp(text, types[i]) == 0)
      return dtg_intern_z(&parser->ctx->names, types[i]);
  return NULL;
}

static struct dtg_ast_device empty_device(struct dtg_span span) {
  return (struct dtg_ast_device){.span = span, .task = -1, .index = -1};
}

static bool is_word(const char *text, const char *word) {
  return strcasecmp(text, word) == 0;
}

static int32_t index_of(int64_t number) {
  return number > INT32_MAX ? -1 : (int32_t)number;
}

// One part of a path into the device. False if it makes no sense even as a near miss.
static bool read_part(struct dtg_parser *parser, const struct dtg_device_part *part,
                      struct dtg_ast_device *device) {
  if ((is_word(part->name, "job") || is_word(part->name, "jobs")) && part->word && !device->job) {
    device->job = part->word;
    return true;
  }
  if ((is_word(part->name, "task") || is_word(part->name, "tasks")) && part->number >= 0 &&
      !part->word && device->task < 0) {
    device->task = index_of(part->number);
    return true;
  }
  const char *type = type_of(parser, is_word(part->name, "device") ? part->word : part->name);
  if (type && !device->type) {
    device->type = type;
    device->index = part->number < 0 ? 0 : index_of(part->number);
    return is_word(part->name, "device") || !part->word;
  }
  // worker:1 is a task of a job
  if (!type && !device->job && !is_word(part->name, "device") && !part->word) {
    device->job = part->name;
    device->task = part->number < 0 ? -1 : index_of(part->number);
    return true;
  }
  return false;
}

// What the parts mean, be they spelled right or nearly so.
static bool read_device(struct dtg_parser *parser, const struct dtg_list_device_parts *parts,
                        struct dtg_ast_device *device) {
  const struct dtg_device_part *first = &parts->vec.data[0];
  if (parts->vec.len == 1 && !first->has_slash && !first->word && first->number < 0) {
    device->name = first->name;
    return true;
  }
  for (size_t i = 0; i < parts->vec.len; i++)
    if (!read_part(parser, &parts->vec.data[i], device))
      return false;
  if (device->type && device->job && device->task < 0)
    device->task = 0; // forgotten: a near miss
  return device->job || device->type;
}

static bool spelled_as(struct dtg_parser *parser, const struct dtg_ast_device *device,
                       struct dtg_span span) {
  const char *source = parser->lexer.source->text;
  struct dtg_strbuf canonical = {0};
  dtg_ast_device_print(device, &canonical);
  size_t at = 0;
  for (uint32_t i = span.begin; i < span.end; i++) {
    if (isspace((unsigned char)source[i]))
      continue;
    if (source[i] == '#') { // a comment between two parts
      while (i + 1 < span.end && source[i + 1] != '\n')
        i++;
      continue;
    }
    if (at >= canonical.len || source[i] != canonical.data[at++]) {
      at = canonical.len + 1;
      break;
    }
  }
  bool equal = at == canonical.len;
  dtg_strbuf_free(&canonical);
  return equal;
}

static void suggest_device(struct dtg_diag *diag, const struct dtg_ast_device *device) {
  struct dtg_strbuf canonical = {0};
  dtg_ast_device_print(device, &canonical);
  dtg_diag_hint(diag, "write `%s`", canonical.data);
  dtg_strbuf_free(&canonical);
}

struct dtg_ast_device dtg_node_device(struct dtg_parser *parser, struct dtg_span span,
                                      struct dtg_list_device_parts *parts) {
  struct dtg_ast_device device = empty_device(span);
  for (size_t i = 0; i < parts->vec.len; i++) {
    if (parts->vec.data[i].number > INT32_MAX) {
      dtg_error(&parser->ctx->diags, span, "the index of a device or task is too large");
      return device;
    }
  }
  if (!read_device(parser, parts, &device)) {
    struct dtg_diag *diag = dtg_error(&parser->ctx->diags, span, "this is not a device");
    dtg_diag_hint(diag, "devices are written `/job:worker/task:0/device:GPU:1`, `gpu:1` or by the "
                        "name of a job");
    return empty_device(span);
  }
  if (!spelled_as(parser, &device, span)) {
    struct dtg_diag *diag =
        dtg_error(&parser->ctx->diags, span, "this is not how a device is written");
    suggest_device(diag, &device);
  }
  return device;
}
