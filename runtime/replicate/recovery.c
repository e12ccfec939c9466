/* What every task does: it carries out orders, one after another, and tells the chief. */
#include "runtime/replicate/recovery_parts.h"

#include <stdlib.h>
#include <string.h>

static const int64_t second = INT64_C(1000000000);
static const int64_t told_silent = INT64_C(2) * 1000000000;

/* ---- start and end ---- */

bool dtr_recovery_new(const struct dtr_recovery_options *options, int64_t now,
                      struct dtr_recovery **made, struct dtr_error *error) {
  struct dtr_recovery *recovery = calloc(1, sizeof *recovery);
  if (!recovery)
    return dtr_error_memory(error, (int64_t)sizeof *recovery, "the recovery of a task");
  recovery->options = *options;
  recovery->actions = options->actions;
  recovery->chief = options->map->clients[0].task;
  recovery->is_chief = options->task == recovery->chief;
  recovery->is_holding = true;
  recovery->since = now;
  dtr_error_clear(&recovery->error);
  recovery->orders = calloc(DTR_RECOVERY_ORDERS, sizeof *recovery->orders);
  if (!recovery->orders || (recovery->is_chief && !dtr_recovery_new_chief(recovery, now))) {
    dtr_recovery_free(recovery);
    return dtr_error_memory(error, (int64_t)sizeof *recovery, "the recovery of a task");
  }
  *made = recovery;
  return true;
}

void dtr_recovery_free(struct dtr_recovery *recovery) {
  if (!recovery)
    return;
  free(recovery->orders);
  free(recovery->peers);
  free(recovery);
}

const char *dtr_recovery_name(const struct dtr_recovery *recovery, uint32_t task) {
  return task < recovery->options.map->task_count ? recovery->options.map->tasks[task].name
                                                  : "a task";
}

void dtr_recovery_fail(struct dtr_recovery *recovery) {
  recovery->actions->end(recovery->actions->context, &recovery->error);
  recovery->phase = DTR_RECOVERY_OVER;
}

/* ---- orders ---- */

static void add_order(struct dtr_recovery *recovery, const struct dtr_recovery_message *order) {
  if (recovery->order_count == DTR_RECOVERY_ORDERS) {
    dtr_error_set(&recovery->error, DTR_STATUS_BUG, "%d orders of the chief wait on %s",
                  DTR_RECOVERY_ORDERS, dtr_recovery_name(recovery, recovery->options.task));
    dtr_recovery_fail(recovery);
    return;
  }
  uint32_t at = (recovery->first_order + recovery->order_count) % DTR_RECOVERY_ORDERS;
  recovery->orders[at] = *order;
  recovery->order_count++;
}

void dtr_recovery_tell(struct dtr_recovery *recovery, uint32_t task,
                       const struct dtr_recovery_message *message, int64_t now) {
  if (task == recovery->options.task)
    dtr_recovery_hear(recovery, task, message, now);
  else
    recovery->options.send(recovery->options.context, task, message);
}

static void answer(struct dtr_recovery *recovery, struct dtr_recovery_message *message,
                   int64_t now) {
  message->generation = recovery->generation;
  message->costs = recovery->costs;
  dtr_recovery_tell(recovery, recovery->chief, message, now);
}

/* False: some group is still being polled. */
static bool hold(struct dtr_recovery *recovery) {
  const struct dtr_recovery_actions *actions = recovery->actions;
  if (!recovery->is_holding)
    actions->hold(actions->context);
  recovery->is_holding = true;
  return actions->is_held(actions->context);
}

static void release(struct dtr_recovery *recovery) {
  recovery->is_holding = false;
  recovery->actions->release(recovery->actions->context);
}

static void stop(struct dtr_recovery *recovery, const struct dtr_recovery_message *order,
                 int64_t now) {
  const struct dtr_recovery_actions *actions = recovery->actions;
  struct dtr_recovery_message report = {
      .kind = DTR_RECOVERY_REPORT, .task = order->task, .round = order->round, .step = -1};
  if (recovery->phase == DTR_RECOVERY_RUNS)
    recovery->since = now;
  recovery->phase = DTR_RECOVERY_STANDS;
  actions->report(actions->context, &report.state);
  if (order->task != DTR_NONE)
    report.step = actions->waiting(actions->context, order->task, report.text, sizeof report.text);
  recovery->has_answered = true;
  answer(recovery, &report, now);
}

/* A process that has said nothing yet was started again while the chief believed in the one before:
 * the order is not for it. */
static void go(struct dtr_recovery *recovery, struct dtr_recovery_message *order) {
  if (!recovery->has_answered)
    return;
  recovery->has_answered = false;
  recovery->generation = order->generation;
  if (!recovery->is_chief)
    recovery->costs = order->costs;
  if (!recovery->is_chief && /* it has done so before it told the others */
      !recovery->actions->go(recovery->actions->context, order, &recovery->error)) {
    dtr_recovery_fail(recovery);
    return;
  }
  recovery->phase = DTR_RECOVERY_RUNS;
  recovery->must_stand = false;
  release(recovery);
}

static void admit(struct dtr_recovery *recovery, const struct dtr_recovery_message *order,
                  int64_t now) {
  struct dtr_recovery_message reply = {.kind = DTR_RECOVERY_ADMITTED, .task = order->task};
  recovery->actions->admit(recovery->actions->context, order->task, order->generation, &reply.step,
                           &reply.round);
  answer(recovery, &reply, now);
}

static void end(struct dtr_recovery *recovery, const struct dtr_recovery_message *order,
                int64_t now) {
  struct dtr_recovery_message reply = {.kind = DTR_RECOVERY_ENDED, .task = DTR_NONE};
  recovery->error = order->error;
  if (!recovery->is_chief)
    recovery->costs = order->costs;
  recovery->actions->report(recovery->actions->context, &reply.state);
  recovery->actions->end(recovery->actions->context, &order->error);
  answer(recovery, &reply, now);
  if (!recovery->is_chief) /* it waits for the others */
    recovery->phase = DTR_RECOVERY_OVER;
}

/* What is said to a task that stands still means nothing to it: go will make all anew. */
static void change(struct dtr_recovery *recovery, const struct dtr_recovery_message *order,
                   int64_t now) {
  const struct dtr_recovery_actions *actions = recovery->actions;
  if (recovery->phase != DTR_RECOVERY_RUNS)
    return;
  if (order->generation > recovery->generation)
    recovery->generation = order->generation;
  if (order->kind == DTR_RECOVERY_DROP)
    actions->drop(actions->context, order->task, order->generation);
  else if (order->kind == DTR_RECOVERY_ADMIT)
    admit(recovery, order, now);
  else
    actions->join(actions->context, order);
  release(recovery);
}

static void carry_out(struct dtr_recovery *recovery, struct dtr_recovery_message *order,
                      int64_t now) {
  switch (order->kind) {
  case DTR_RECOVERY_STOP:
    stop(recovery, order, now);
    break;
  case DTR_RECOVERY_GO:
    go(recovery, order);
    break;
  case DTR_RECOVERY_END:
    end(recovery, order, now);
    break;
  default:
    change(recovery, order, now);
  }
}

static void carry_out_orders(struct dtr_recovery *recovery, int64_t now) {
  while (recovery->order_count > 0 && recovery->phase != DTR_RECOVERY_OVER && hold(recovery)) {
    struct dtr_recovery_message order = recovery->orders[recovery->first_order];
    recovery->first_order = (recovery->first_order + 1) % DTR_RECOVERY_ORDERS;
    recovery->order_count--;
    carry_out(recovery, &order, now);
  }
}

/* ---- without the chief ---- */

static void lose_chief(struct dtr_recovery *recovery, int64_t now) {
  if (recovery->is_chief_gone)
    return;
  recovery->is_chief_gone = recovery->must_stand = true;
  recovery->order_count = 0; /* what it had ordered is nothing to the next one */
  recovery->since = now;
}

/* Its deadline: of the start until it was there once. */
static int64_t chief_deadline(const struct dtr_recovery *recovery) {
  const struct dtr_deadlines *deadlines = &recovery->options.deadlines;
  return recovery->since + (recovery->chief_incarnation == 0 ? deadlines->start : deadlines->step);
}

static void give_up(struct dtr_recovery *recovery) {
  const struct dtr_deadlines *deadlines = &recovery->options.deadlines;
  const char *chief = dtr_recovery_name(recovery, recovery->chief);
  char text[512] = "";
  if (recovery->chief_incarnation == 0) {
    dtr_error_set(&recovery->error, DTR_STATUS_DEADLINE,
                  "%s, the chief, was not there within %.1f s; waits for it to begin the run",
                  chief, (double)deadlines->start / (double)second);
    dtr_error_hint(&recovery->error, "start it, or wait longer: --deadline start=TIME");
  } else {
    int64_t step =
        recovery->actions->waiting(recovery->actions->context, recovery->chief, text, sizeof text);
    dtr_error_set(&recovery->error, DTR_STATUS_PEER_LOST,
                  "%s, the chief, was lost and did not return within %.1f s; %s", chief,
                  (double)deadlines->step / (double)second,
                  text[0] ? text : "nobody waited for it");
    dtr_error_step(&recovery->error, step);
    dtr_error_hint(&recovery->error,
                   "start it again in time, or wait longer: --deadline step=TIME");
  }
  dtr_recovery_fail(recovery);
}

/* Stands still as if the chief had said so, and waits. */
static int64_t wait_for_chief(struct dtr_recovery *recovery, int64_t now) {
  if (!hold(recovery))
    return INT64_MAX;
  recovery->phase = DTR_RECOVERY_STANDS;
  if (!recovery->is_chief_gone && recovery->chief_incarnation != 0)
    return INT64_MAX;
  if (now < chief_deadline(recovery))
    return chief_deadline(recovery);
  give_up(recovery);
  return INT64_MAX;
}

/* ---- events ---- */

void dtr_recovery_present(struct dtr_recovery *recovery, uint32_t task, uint64_t incarnation,
                          int64_t now) {
  if (recovery->is_chief) {
    dtr_recovery_chief_present(recovery, task, incarnation, now);
  } else if (task == recovery->chief) {
    if (recovery->chief_incarnation != 0 && recovery->chief_incarnation != incarnation)
      lose_chief(recovery, now);
    recovery->chief_incarnation = incarnation;
    recovery->is_chief_gone = false; /* it will say stop */
  }
}

void dtr_recovery_lost(struct dtr_recovery *recovery, uint32_t task, uint64_t incarnation,
                       int64_t now) {
  if (recovery->phase == DTR_RECOVERY_OVER)
    return;
  if (recovery->is_chief) {
    dtr_recovery_chief_lost(recovery, task, incarnation, true, now);
  } else if (task == recovery->chief) {
    if (incarnation == recovery->chief_incarnation)
      lose_chief(recovery, now);
  } else if (!recovery->is_chief_gone) {
    struct dtr_recovery_message message = {
        .kind = DTR_RECOVERY_LOST, .task = task, .incarnation = incarnation, .step = -1};
    answer(recovery, &message, now);
  }
}

void dtr_recovery_silent(struct dtr_recovery *recovery, uint32_t task, int64_t since, int64_t now) {
  if (recovery->is_chief) {
    struct dtr_recovery_peer *peer = &recovery->peers[task];
    if (since == INT64_MAX || now - since < told_silent) {
      peer->is_told_silent = false;
      return;
    }
    if (!peer->is_told_silent && peer->is_present) {
      char text[256], waits[160] = "";
      recovery->actions->waiting(recovery->actions->context, task, waits, sizeof waits);
      snprintf(text, sizeof text, "%s has been silent for %.1f s; %s",
               dtr_recovery_name(recovery, task), (double)(now - since) / (double)second,
               waits[0] ? waits : "nobody here waits for it");
      recovery->actions->note(recovery->actions->context, text);
    }
    peer->is_told_silent = true;
    if (now - since >= recovery->options.deadlines.step)
      dtr_recovery_chief_lost(recovery, task, peer->incarnation, true, now);
  } else if (task == recovery->chief && since != INT64_MAX &&
             now - since >= recovery->options.deadlines.step) {
    lose_chief(recovery, now);
  }
}

void dtr_recovery_hear(struct dtr_recovery *recovery, uint32_t from,
                       const struct dtr_recovery_message *message, int64_t now) {
  bool order = message->kind >= DTR_RECOVERY_STOP;
  if (recovery->phase == DTR_RECOVERY_OVER || (order && from != recovery->chief))
    return;
  if (order && !recovery->is_chief_gone) {
    add_order(recovery, message);
  } else if (!order && recovery->is_chief) {
    dtr_recovery_chief_hear(recovery, from, message, now);
  }
}

/* ---- the machine ---- */

int64_t dtr_recovery_poll(struct dtr_recovery *recovery, int64_t now) {
  int64_t next = INT64_MAX;
  if (recovery->phase == DTR_RECOVERY_OVER)
    return INT64_MAX;
  carry_out_orders(recovery, now);
  if (recovery->is_chief && recovery->phase != DTR_RECOVERY_OVER) {
    next = dtr_recovery_chief_poll(recovery, now);
    carry_out_orders(recovery, now); /* its own: there may be nobody else to wait for */
    if (recovery->phase != DTR_RECOVERY_OVER)
      next = dtr_recovery_chief_poll(recovery, now);
  } else if (!recovery->is_chief && recovery->phase != DTR_RECOVERY_OVER &&
             (recovery->must_stand || recovery->chief_incarnation == 0)) {
    next = wait_for_chief(recovery, now);
  }
  return next;
}

bool dtr_recovery_is_over(const struct dtr_recovery *recovery) {
  return recovery->phase == DTR_RECOVERY_OVER;
}

const struct dtr_error *dtr_recovery_error(const struct dtr_recovery *recovery) {
  return &recovery->error;
}

const struct dtr_recovery_costs *dtr_recovery_costs(const struct dtr_recovery *recovery) {
  return &recovery->costs;
}

bool dtr_recovery_is_standing(const struct dtr_recovery *recovery) {
  return recovery->phase == DTR_RECOVERY_STANDS;
}

uint32_t dtr_recovery_generation(const struct dtr_recovery *recovery) {
  return recovery->generation;
}
