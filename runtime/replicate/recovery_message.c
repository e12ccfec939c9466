/* Messages of recovery as bytes, little-endian; and its deadlines as text. */
#include "runtime/replicate/recovery.h"

#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

enum { FORMAT = 0x64745201 }; /* "dtR", version 1 */

/* Writes, reads, or has met something wrong. */
struct cursor {
  char *out;
  const char *in;
  size_t at, size;
  bool is_bad;
};

static void number(struct cursor *cursor, int64_t *value) {
  uint64_t bits = (uint64_t)*value;
  if (cursor->size - cursor->at < sizeof bits) {
    cursor->is_bad = true;
    return;
  }
  if (cursor->out) {
    for (size_t i = 0; i < sizeof bits; i++)
      cursor->out[cursor->at + i] = (char)(bits >> (8 * i) & 0xFF);
  } else {
    bits = 0;
    for (size_t i = 0; i < sizeof bits; i++)
      bits |= (uint64_t)(unsigned char)cursor->in[cursor->at + i] << (8 * i);
    *value = (int64_t)bits;
  }
  cursor->at += sizeof bits;
}

/* A number with a range: 0 .. limit - 1. */
static uint32_t small(struct cursor *cursor, uint32_t value, uint64_t limit) {
  int64_t wide = value;
  number(cursor, &wide);
  cursor->is_bad = cursor->is_bad || wide < 0 || (uint64_t)wide >= limit;
  return cursor->is_bad ? 0 : (uint32_t)wide;
}

static void text(struct cursor *cursor, char *value, size_t room) {
  size_t length = small(cursor, (uint32_t)(cursor->out ? strnlen(value, room - 1) : 0), room);
  if (cursor->is_bad || cursor->size - cursor->at < length) {
    cursor->is_bad = true;
    return;
  }
  if (cursor->out) {
    memcpy(cursor->out + cursor->at, value, length);
  } else {
    memcpy(value, cursor->in + cursor->at, length);
    value[length] = 0;
    cursor->is_bad = strlen(value) != length;
  }
  cursor->at += length;
}

static void pass_state(struct cursor *cursor, struct dtr_recovery_state *state) {
  state->has_owners = small(cursor, state->has_owners, 2) != 0;
  state->is_live = small(cursor, state->is_live, 2) != 0;
  number(cursor, &state->low);
  number(cursor, &state->high);
  number(cursor, &state->client_step);
  number(cursor, &state->refused);
}

static void pass_costs(struct cursor *cursor, struct dtr_recovery_costs *costs) {
  number(cursor, &costs->stops);
  number(cursor, &costs->steps_again);
  number(cursor, &costs->refused);
  for (int t = 0; t < DTR_RECOVERY_TASKS; t++) {
    number(cursor, &costs->losses[t]);
    number(cursor, &costs->returns[t]);
  }
}

enum {
  STATUS_COUNT = 0
#define X(name, exit, help) +1
#include "runtime/status.def"
#undef X
};

static void pass_error(struct cursor *cursor, struct dtr_error *error) {
  error->status = (enum dtr_status)small(cursor, (uint32_t)error->status, STATUS_COUNT);
  number(cursor, &error->step);
  text(cursor, error->task, sizeof error->task);
  text(cursor, error->where, sizeof error->where);
  text(cursor, error->message, sizeof error->message);
  text(cursor, error->hint, sizeof error->hint);
}

static void pass(struct cursor *cursor, struct dtr_recovery_message *message) {
  int64_t incarnation = (int64_t)message->incarnation;
  if (small(cursor, FORMAT, UINT64_C(1) << 32) != FORMAT)
    cursor->is_bad = true;
  message->kind =
      (enum dtr_recovery_kind)small(cursor, (uint32_t)message->kind, DTR_RECOVERY_KINDS);
  number(cursor, &incarnation);
  message->incarnation = (uint64_t)incarnation;
  message->generation = small(cursor, message->generation, UINT32_MAX);
  message->task = small(cursor, message->task, UINT64_C(1) << 32);
  message->source =
      (enum dtr_recovery_source)small(cursor, (uint32_t)message->source, DTR_RECOVERY_SOURCES);
  number(cursor, &message->step);
  number(cursor, &message->round);
  pass_state(cursor, &message->state);
  pass_costs(cursor, &message->costs);
  pass_error(cursor, &message->error);
  text(cursor, message->text, sizeof message->text);
}

size_t dtr_recovery_pack(const struct dtr_recovery_message *message, char *bytes) {
  struct dtr_recovery_message copy = *message;
  struct cursor cursor = {.out = bytes, .size = DTR_RECOVERY_BYTES};
  pass(&cursor, &copy);
  return cursor.at;
}

bool dtr_recovery_unpack(const char *bytes, size_t size, struct dtr_recovery_message *message) {
  struct dtr_recovery_message read;
  struct cursor cursor = {.in = bytes, .size = size};
  memset(&read, 0, sizeof read);
  pass(&cursor, &read);
  if (cursor.is_bad || cursor.at != size)
    return false;
  *message = read;
  return true;
}

/* ---- deadlines ---- */

struct dtr_deadlines dtr_deadlines_default(void) {
  return (struct dtr_deadlines){.start = INT64_C(120) * 1000000000,
                                .step = INT64_C(60) * 1000000000,
                                .shutdown = INT64_C(30) * 1000000000};
}

static const struct {
  const char *word;
  size_t offset;
} classes[] = {{"start", offsetof(struct dtr_deadlines, start)},
               {"step", offsetof(struct dtr_deadlines, step)},
               {"shutdown", offsetof(struct dtr_deadlines, shutdown)}};
enum { CLASSES = sizeof classes / sizeof *classes };
static const struct {
  const char *word;
  int64_t nanoseconds;
} units[] = {{"ms", 1000000},
             {"s", 1000000000},
             {"m", INT64_C(60) * 1000000000},
             {"h", INT64_C(3600) * 1000000000}};
enum { UNITS = sizeof units / sizeof *units };

static bool refuse(const char *part, size_t length, struct dtr_error *error) {
  dtr_error_set(error, DTR_STATUS_USAGE, "--deadline: \"%.*s\" is no class with a time",
                (int)length, part);
  return dtr_error_hint(error, "classes are start, step and shutdown, units ms, s, m and h: "
                               "--deadline start=120s,step=60s,shutdown=30s");
}

static bool read_time(const char *text, size_t length, int64_t *time) {
  int64_t value = 0;
  size_t digits = strspn(text, "0123456789");
  if (digits == 0 || digits > 9 || digits >= length)
    return false;
  for (size_t i = 0; i < digits; i++)
    value = value * 10 + (text[i] - '0');
  for (int u = 0; u < UNITS; u++)
    if (strlen(units[u].word) == length - digits &&
        memcmp(text + digits, units[u].word, length - digits) == 0)
      return value > 0 && !__builtin_mul_overflow(value, units[u].nanoseconds, time);
  return false;
}

static bool read_part(const char *part, size_t length, struct dtr_deadlines *deadlines) {
  for (int c = 0; c < CLASSES; c++) {
    size_t word = strlen(classes[c].word);
    if (length > word + 1 && memcmp(part, classes[c].word, word) == 0 && part[word] == '=')
      return read_time(part + word + 1, length - word - 1,
                       (int64_t *)((char *)deadlines + classes[c].offset));
  }
  return false;
}

bool dtr_deadlines_parse(const char *text, struct dtr_deadlines *deadlines,
                         struct dtr_error *error) {
  struct dtr_deadlines read = dtr_deadlines_default();
  do {
    size_t length = strcspn(text, ",");
    if (!read_part(text, length, &read))
      return refuse(text, length, error);
    text += length + (text[length] == ',');
  } while (*text);
  *deadlines = read;
  return true;
}
