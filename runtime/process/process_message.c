/* What processes tell each other beside the messages of recovery. */
#include "runtime/process/process_parts.h"

#include "runtime/control/bytes.h"

#include <string.h>

enum { ERROR = 'E', RECOVERY = 'R', TRAFFIC = 'T', TRAFFIC_BYTES = 1 + 3 * 4 + 2 * 8 };

/* ---- errors ---- */

struct packed_error {
  unsigned char bytes[DTR_CONTROL_MESSAGE];
  size_t size;
};

static void put_text(struct packed_error *packed, const char *text, size_t room) {
  size_t length = strnlen(text, room - 1);
  dtr_bytes_put(packed->bytes + packed->size, length, 2);
  memcpy(packed->bytes + packed->size + 2, text, length);
  packed->size += 2 + length;
}

void dtr_process_tell_error(struct dtr_process *process, const struct dtr_error *error) {
  struct packed_error packed;
  packed.bytes[0] = ERROR;
  dtr_bytes_put(packed.bytes + 1, (uint64_t)error->status, 4);
  dtr_bytes_put(packed.bytes + 5, (uint64_t)error->step, 8);
  packed.size = 13;
  put_text(&packed, error->task, sizeof error->task);
  put_text(&packed, error->where, sizeof error->where);
  put_text(&packed, error->message, sizeof error->message);
  put_text(&packed, error->hint, sizeof error->hint);
  for (uint32_t t = 0; t < process->map->task_count; t++)
    if (process->states[t].is_wanted)
      dtr_control_send(process->control, t, packed.bytes, packed.size);
}

/* Advances `bytes` behind the text. */
static bool take_text(const unsigned char **bytes, const unsigned char *end, char *text,
                      size_t room) {
  if (end - *bytes < 2)
    return false;
  size_t length = (size_t)dtr_bytes_get(*bytes, 2);
  if (length >= room || (size_t)(end - *bytes - 2) < length || memchr(*bytes + 2, 0, length))
    return false;
  memcpy(text, *bytes + 2, length);
  text[length] = '\0';
  *bytes += 2 + length;
  return true;
}

static bool take_error(const unsigned char *bytes, size_t size, struct dtr_error *error) {
  const unsigned char *end = bytes + size;
  if (size < 12)
    return false;
  dtr_error_clear(error);
  uint64_t status = dtr_bytes_get(bytes, 4);
  error->step = (int64_t)dtr_bytes_get(bytes + 4, 8);
  bytes += 12;
  if (status == DTR_STATUS_OK || status >= DTR_STATUS_COUNT)
    return false;
  error->status = (enum dtr_status)status;
  return take_text(&bytes, end, error->task, sizeof error->task) &&
         take_text(&bytes, end, error->where, sizeof error->where) &&
         take_text(&bytes, end, error->message, sizeof error->message) &&
         take_text(&bytes, end, error->hint, sizeof error->hint) && bytes == end;
}

/* ---- recovery ---- */

void dtr_process_send_recovery(void *context, uint32_t task,
                               const struct dtr_recovery_message *message) {
  struct dtr_process *process = context;
  char bytes[1 + DTR_RECOVERY_BYTES];
  bytes[0] = RECOVERY;
  size_t size = dtr_recovery_pack(message, bytes + 1);
  if (task == process->options.task) {
    dtr_process_hear(process, task, (const unsigned char *)bytes, 1 + size);
    return;
  }
  dtr_control_send(process->control, task, bytes, 1 + size);
}

/* ---- traffic ---- */

struct dtr_traffic *dtr_process_traffic(struct dtr_process *process, uint32_t kind, uint32_t from,
                                        uint32_t to) {
  uint32_t tasks = process->map->task_count;
  return &process->traffic[((size_t)kind * tasks + from) * tasks + to];
}

static void tell_link(struct dtr_process *process, const struct dtr_job_run *job, uint32_t kind,
                      uint32_t to) {
  unsigned char bytes[TRAFFIC_BYTES];
  struct dtr_traffic traffic =
      dtr_job_traffic(job, (enum dtr_channel_kind)kind, process->options.task, to);
  if (traffic.messages == 0)
    return;
  bytes[0] = TRAFFIC;
  dtr_bytes_put(bytes + 1, kind, 4);
  dtr_bytes_put(bytes + 5, process->options.task, 4);
  dtr_bytes_put(bytes + 9, to, 4);
  dtr_bytes_put(bytes + 13, (uint64_t)traffic.messages, 8);
  dtr_bytes_put(bytes + 21, (uint64_t)traffic.bytes, 8);
  dtr_control_send(process->control, process->map->clients[0].task, bytes, sizeof bytes);
}

void dtr_process_tell_traffic(struct dtr_process *process, const struct dtr_job_run *job) {
  for (uint32_t kind = 0; kind < DTR_CHANNEL_PAYLOADS; kind++)
    for (uint32_t to = 0; to < process->map->task_count; to++)
      tell_link(process, job, kind, to);
}

static void take_traffic(struct dtr_process *process, uint32_t from, const unsigned char *bytes) {
  uint64_t kind = dtr_bytes_get(bytes, 4), sender = dtr_bytes_get(bytes + 4, 4),
           to = dtr_bytes_get(bytes + 8, 4);
  if (kind >= DTR_CHANNEL_PAYLOADS || sender != from || to >= process->map->task_count)
    return;
  pthread_mutex_lock(&process->lock);
  *dtr_process_traffic(process, (uint32_t)kind, from, (uint32_t)to) = (struct dtr_traffic){
      (int64_t)dtr_bytes_get(bytes + 12, 8), (int64_t)dtr_bytes_get(bytes + 20, 8)};
  pthread_mutex_unlock(&process->lock);
}

/* ---- all ---- */

void dtr_process_hear(struct dtr_process *process, uint32_t from, const unsigned char *bytes,
                      size_t size) {
  struct dtr_error error;
  struct dtr_mail mail = {.kind = DTR_MAIL_MESSAGE, .task = from};
  if (size == TRAFFIC_BYTES && bytes[0] == TRAFFIC)
    take_traffic(process, from, bytes + 1);
  else if (size > 0 && bytes[0] == RECOVERY &&
           dtr_recovery_unpack((const char *)bytes + 1, size - 1, &mail.message))
    dtr_process_post(process, &mail);
  else if (size > 0 && bytes[0] == ERROR && take_error(bytes + 1, size - 1, &error))
    dtr_process_fail(process, &error, true);
}
