// Messages that are lost, doubled, resized, or wait in a circle.
#include "tests/unit/prove/mutations.h"

#include <string.h>

// ---- transfers ----

static size_t find_receive(const struct mutation *m, const struct dtg_transfer *send) {
  size_t i = 0;
  while (memcmp(&m->partition.receives.data[i], send, sizeof *send) != 0)
    i++;
  return i;
}

static void remove_row(struct dtg_transfer *rows, size_t *count, size_t at) {
  memmove(&rows[at], &rows[at + 1], (*count - at - 1) * sizeof *rows);
  --*count;
}

static bool pick_send(struct mutation *m, size_t *at) {
  if (m->partition.sends.len == 0)
    return false;
  *at = mutation_draw(m, m->partition.sends.len);
  return true;
}

static bool drop_send(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  remove_row(m->partition.sends.data, &m->partition.sends.len, at);
  return true;
}

static bool drop_receive(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  remove_row(m->partition.receives.data, &m->partition.receives.len, at);
  return true;
}

static bool drop_both(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  size_t other = find_receive(m, &m->partition.sends.data[at]);
  remove_row(m->partition.receives.data, &m->partition.receives.len, other);
  remove_row(m->partition.sends.data, &m->partition.sends.len, at);
  return true;
}

static bool double_send(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  dtg_vec_push(&m->arena, &m->partition.sends, m->partition.sends.data[at]);
  return true;
}

static bool double_receive(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  dtg_vec_push(&m->arena, &m->partition.receives, m->partition.receives.data[at]);
  return true;
}

static bool double_both(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  struct dtg_transfer row = m->partition.sends.data[at];
  dtg_vec_push(&m->arena, &m->partition.sends, row);
  dtg_vec_push(&m->arena, &m->partition.receives, row);
  return true;
}

static bool resize_send(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  m->partition.sends.data[at].bytes += 1 + mutation_draw(m, 64);
  return true;
}

static bool resize_both(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  size_t other = find_receive(m, &m->partition.sends.data[at]);
  int64_t more = 4 * (1 + mutation_draw(m, 64));
  m->partition.sends.data[at].bytes += more;
  m->partition.receives.data[other].bytes += more;
  return true;
}

// Two rows of one kind exchange their partners.
static bool swap_sends(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  struct dtg_transfer *a = &m->partition.sends.data[at];
  for (size_t i = 0; i < m->partition.sends.len; i++) {
    struct dtg_transfer *b = &m->partition.sends.data[i];
    if (b->kind != a->kind || b->phase != a->phase || b->bytes == a->bytes ||
        b->messages != a->messages || b->from.sums != a->from.sums)
      continue;
    int64_t bytes = a->bytes;
    a->bytes = b->bytes;
    b->bytes = bytes;
    return true;
  }
  return false;
}

static bool count_wrong(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  m->partition.sends.data[at].messages += 1 + mutation_draw(m, 3);
  return true;
}

static bool send_out_of_range(struct mutation *m) {
  size_t at;
  if (!pick_send(m, &at))
    return false;
  struct dtg_transfer *t = &m->partition.sends.data[at];
  *(mutation_draw(m, 2) ? &t->from.first : &t->to.first) += 1000;
  return true;
}

// ---- circles ----

static struct dtg_transfer *find_kind(struct mutation *m, enum dtg_transfer_kind kind) {
  size_t count = m->partition.sends.len, first = count ? mutation_draw(m, count) : 0;
  for (size_t i = 0; i < count; i++) {
    struct dtg_transfer *t = &m->partition.sends.data[(first + i) % count];
    if (t->kind == kind)
      return t;
  }
  return NULL;
}

// Changes the send and its receive alike.
static bool set_both(struct mutation *m, struct dtg_transfer *send, struct dtg_transfer row) {
  m->partition.receives.data[find_receive(m, send)] = row;
  *send = row;
  return true;
}

static struct dtg_transfer *find_moment(struct mutation *m, enum dtg_transfer_kind kind,
                                        enum dtg_moment moment) {
  for (size_t i = 0; i < m->partition.sends.len; i++)
    if (m->partition.sends.data[i].kind == kind && m->partition.sends.data[i].moment == moment)
      return &m->partition.sends.data[i];
  return NULL;
}

static bool send_after(struct mutation *m, enum dtg_transfer_kind kind, enum dtg_moment moment,
                       enum dtg_event event) {
  struct dtg_transfer *t = find_moment(m, kind, moment);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.before = event;
  return set_both(m, t, row);
}

// A replica that pushes only when it has the next version.
static bool push_after_copy(struct mutation *m) {
  struct dtg_transfer *t = find_kind(m, DTG_TRANSFER_PUSH);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.before = DTG_EVENT_COPY;
  return set_both(m, t, row);
}

// A replica that computes only with what comes of this very step.
static bool publish_before_compute(struct mutation *m) {
  struct dtg_transfer *push = find_kind(m, DTG_TRANSFER_PUSH);
  for (size_t i = 0; push && i < m->partition.sends.len; i++) {
    struct dtg_transfer *t = &m->partition.sends.data[i];
    if (t->kind != DTG_TRANSFER_PUBLISH || t->from.first != push->to.first)
      continue;
    struct dtg_transfer row = *t;
    row.after = DTG_EVENT_COMPUTE;
    return set_both(m, t, row);
  }
  return false;
}

// A client that starts a step when it has its loss.
static bool start_after_collect(struct mutation *m) {
  return send_after(m, mutation_draw(m, 2) ? DTG_TRANSFER_START : DTG_TRANSFER_FEED,
                    DTG_MOMENT_STEP, DTG_EVENT_COLLECT);
}

static bool reverse_start(struct mutation *m) {
  struct dtg_transfer *t = find_kind(m, DTG_TRANSFER_START);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.from = t->to;
  row.to = t->from;
  row.before = t->after;
  row.after = t->before;
  return set_both(m, t, row);
}

// Owners that wait for each other's block sums before they make their own.
static bool norm_within_phase(struct mutation *m) {
  size_t changed = 0;
  for (size_t i = 0; i < m->partition.sends.len; i++) {
    struct dtg_transfer *t = &m->partition.sends.data[i], row = *t;
    if (t->kind != DTG_TRANSFER_NORM || t->phase != 0)
      continue;
    row.next_phase = row.phase;
    set_both(m, t, row);
    changed++;
  }
  return changed >= 2;
}

static bool norm_of_no_phase(struct mutation *m) {
  struct dtg_transfer *t = find_kind(m, DTG_TRANSFER_NORM);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.next_phase = m->partition.phases;
  return set_both(m, t, row);
}

// A client that asks for a step which it has begun; an owner that reports when it has updated.
static bool ask_after_begin(struct mutation *m) {
  return send_after(m, DTG_TRANSFER_ASK, DTG_MOMENT_STEP, DTG_EVENT_BEGIN);
}

static bool stage_after_update(struct mutation *m) {
  return send_after(m, DTG_TRANSFER_STAGED, DTG_MOMENT_STEP, DTG_EVENT_REDUCE);
}

// First values that come after the first step.
static bool scatter_after_collect(struct mutation *m) {
  return send_after(m, DTG_TRANSFER_SCATTER, DTG_MOMENT_BEGIN, DTG_EVENT_COLLECT);
}

// A wave that is ordered when its values are there; values that are asked for when they are there.
static bool wave_after_values(struct mutation *m) {
  return send_after(m, DTG_TRANSFER_START, DTG_MOMENT_EVALUATION, DTG_EVENT_VALUES);
}

static bool command_after_saved(struct mutation *m) {
  return send_after(m, DTG_TRANSFER_COMMAND, DTG_MOMENT_CHECKPOINT, DTG_EVENT_SAVED);
}

// Exact sizes that are told as bounds.
static bool bound_gather(struct mutation *m) {
  struct dtg_transfer *t = find_moment(m, DTG_TRANSFER_GATHER, DTG_MOMENT_CHECKPOINT);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.at_most = true;
  return set_both(m, t, row);
}

// A message of rows is told as if it had one size: at both ends, or at one.
static struct dtg_transfer *find_rows(struct mutation *m) {
  size_t count = m->partition.sends.len, first = count ? mutation_draw(m, count) : 0;
  for (size_t i = 0; i < count; i++) {
    struct dtg_transfer *t = &m->partition.sends.data[(first + i) % count];
    if (t->at_most && t->moment == DTG_MOMENT_STEP)
      return t;
  }
  return NULL;
}

static bool size_rows(struct mutation *m) {
  struct dtg_transfer *t = find_rows(m);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.at_most = false;
  return set_both(m, t, row);
}

static bool size_rows_sent(struct mutation *m) {
  struct dtg_transfer *t = find_rows(m);
  if (t)
    t->at_most = false;
  return t != NULL;
}

// One row less than there can be.
static bool bound_too_low(struct mutation *m) {
  struct dtg_transfer *t = find_rows(m);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.bytes -= 4 + 4 * 20;
  return set_both(m, t, row);
}

// A message of one moment at another.
static bool move_moment(struct mutation *m) {
  static const enum dtg_transfer_kind kinds[] = {DTG_TRANSFER_GATHER, DTG_TRANSFER_SCATTER,
                                                 DTG_TRANSFER_CHUNK, DTG_TRANSFER_REPORT};
  struct dtg_transfer *t = find_kind(m, kinds[mutation_draw(m, sizeof kinds / sizeof *kinds)]);
  if (!t)
    return false;
  struct dtg_transfer row = *t;
  row.moment = (row.moment + 1) % DTG_MOMENTS;
  return set_both(m, t, row);
}

// ---- the table ----

const struct mutation_kind mutation_message_kinds[] = {
    {"drop a send", drop_send, {"is waited for and never sent"}},
    {"drop a receive", drop_receive, {"is sent and never received"}},
    {"drop a transfer", drop_both, {"updates: owner ", "messages of "}},
    {"double a send", double_send, {"is sent twice"}},
    {"double a receive", double_receive, {"is received twice"}},
    {"double a transfer", double_both, {"is sent twice"}},
    {"resize a send", resize_send, {"is sent with"}},
    {"resize a transfer", resize_both, {"instead of", "partial sums"}},
    {"swap two sends", swap_sends, {"is sent with"}},
    {"count messages wrong", count_wrong, {"messages where there are"}},
    {"send out of range", send_out_of_range, {"has an end that is not there"}},
    {"push after the copy", push_after_copy, {"the wait graph has a cycle"}},
    {"publish before compute", publish_before_compute, {"the wait graph has a cycle"}},
    {"start after collect", start_after_collect, {"the wait graph has a cycle"}},
    {"reverse a start", reverse_start, {"the wait graph has a cycle"}},
    {"norm within a phase", norm_within_phase, {"the wait graph has a cycle"}},
    {"norm of no phase", norm_of_no_phase, {"a phase that the update does not have"}},
    {"ask after the begin", ask_after_begin, {"the wait graph has a cycle"}},
    {"stage after the update", stage_after_update, {"the wait graph has a cycle"}},
    {"scatter after collect", scatter_after_collect, {"the wait graph has a cycle"}},
    {"wave after its values", wave_after_values, {"the wait graph has a cycle"}},
    {"command after the checkpoint", command_after_saved, {"the wait graph has a cycle"}},
    {"tell a size as a bound", bound_gather, {"control: "}},
    {"tell a bound as a size", size_rows, {"and rows of a sparse table"}},
    {"tell a bound as a size to the sender", size_rows_sent, {"has a size at one end"}},
    {"bound rows too low", bound_too_low, {"instead of"}},
    {"move to another moment", move_moment, {"control: "}},
};
const size_t mutation_message_kind_count =
    sizeof mutation_message_kinds / sizeof *mutation_message_kinds;
