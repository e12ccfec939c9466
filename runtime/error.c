#include "runtime/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void dtr_error_clear(struct dtr_error *error) {
  memset(error, 0, sizeof *error);
  error->step = -1;
}

/* Marks a text that did not fit. */
static void text_end(char *text, size_t size, int length) {
  if (length >= (int)size)
    memcpy(text + size - 4, "...", 4);
}

static void text_copy(char *text, size_t size, const char *from) {
  text_end(text, size, snprintf(text, size, "%s", from));
}

static void message_format(struct dtr_error *error, enum dtr_status status, const char *format,
                           va_list args) {
  error->status = status;
  text_end(error->message, sizeof error->message,
           vsnprintf(error->message, sizeof error->message, format, args));
}

bool dtr_error_set(struct dtr_error *error, enum dtr_status status, const char *format, ...) {
  if (dtr_error_is_set(error))
    return false;
  va_list args;
  va_start(args, format);
  message_format(error, status, format, args);
  va_end(args);
  return false;
}

bool dtr_error_system(struct dtr_error *error, enum dtr_status status, int error_number,
                      const char *format, ...) {
  if (dtr_error_is_set(error))
    return false;
  va_list args;
  va_start(args, format);
  message_format(error, status, format, args);
  va_end(args);
  char reason[128];
  size_t length = strlen(error->message), room = sizeof error->message;
  text_end(error->message, room,
           (int)length + snprintf(error->message + length, room - length, ": %s",
                                  strerror_r(abs(error_number), reason, sizeof reason)));
  return false;
}

bool dtr_error_memory(struct dtr_error *error, int64_t bytes, const char *what) {
  dtr_error_set(error, DTR_STATUS_MEMORY, "out of memory: %" PRId64 " bytes for %s", bytes, what);
  return dtr_error_hint(error, "end other programs, or use a smaller batch or a larger machine");
}

bool dtr_error_hint(struct dtr_error *error, const char *format, ...) {
  if (error->hint[0])
    return false;
  va_list args;
  va_start(args, format);
  text_end(error->hint, sizeof error->hint,
           vsnprintf(error->hint, sizeof error->hint, format, args));
  va_end(args);
  return false;
}

bool dtr_error_where(struct dtr_error *error, const char *where) {
  if (!error->where[0] && where)
    text_copy(error->where, sizeof error->where, where);
  return false;
}

bool dtr_error_step(struct dtr_error *error, int64_t step) {
  if (error->step < 0)
    error->step = step;
  return false;
}

bool dtr_error_task(struct dtr_error *error, const char *task) {
  if (!error->task[0] && task)
    text_copy(error->task, sizeof error->task, task);
  return false;
}

/* " (step 7, task worker/0)", or nothing. */
static void circumstance_format(const struct dtr_error *error, char *text, size_t size) {
  text[0] = 0;
  if (error->step >= 0 && error->task[0])
    snprintf(text, size, " (step %" PRId64 ", task %s)", error->step, error->task);
  else if (error->step >= 0)
    snprintf(text, size, " (step %" PRId64 ")", error->step);
  else if (error->task[0])
    snprintf(text, size, " (task %s)", error->task);
}

int dtr_error_format(const struct dtr_error *error, char *text, size_t size) {
  char circumstance[128];
  circumstance_format(error, circumstance, sizeof circumstance);
  return snprintf(text, size, "%s%serror: %s%s\n%s%s%s", error->where, error->where[0] ? ": " : "",
                  error->message, circumstance, error->hint[0] ? "  hint: " : "", error->hint,
                  error->hint[0] ? "\n" : "");
}

/* Bytes of a valid UTF-8 character that a terminal shows, or 0. */
static size_t shown_bytes(const unsigned char *text) {
  if (text[0] == '\n' || (text[0] >= ' ' && text[0] < 0x7f))
    return 1;
  size_t more = text[0] < 0xc2   ? 0
                : text[0] < 0xe0 ? 1
                : text[0] < 0xf0 ? 2
                : text[0] < 0xf5 ? 3
                                 : 0;
  for (size_t i = 1; i <= more; i++)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  return more ? more + 1 : 0;
}

/* Names and cells of files may hold anything: what no terminal should see is shown as \xff. */
static void put_shown(const char *text, FILE *stream) {
  while (*text) {
    size_t bytes = shown_bytes((const unsigned char *)text);
    if (bytes > 0)
      fwrite(text, 1, bytes, stream);
    else
      fprintf(stream, "\\x%02x", (unsigned char)*text);
    text += bytes ? bytes : 1;
  }
}

void dtr_error_report(struct dtr_error *error, FILE *stream) {
  if (error->reported || !dtr_error_is_set(error))
    return;
  char text[sizeof *error + 256];
  dtr_error_format(error, text, sizeof text);
  put_shown(text, stream);
  fflush(stream);
  error->reported = true;
}
