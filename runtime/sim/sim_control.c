/* The control channels of a simulated job: in order, reliable between two starts of two tasks, with
 * delays and partitions; and the news that a task is there or lost. */
#include "runtime/sim/sim_parts.h"

#include <stdlib.h>

static int64_t arrival(struct dtr_sim_run *run, uint32_t from, uint32_t to, int64_t delay) {
  const struct dtr_sim_network *network = &run->scenario.network;
  int64_t *free_at = &run->free_at[(size_t)from * run->map->task_count + to];
  int64_t time = run->world.now + run->world.spent + delay + network->latency;
  if (network->jitter > 0)
    time += dtr_sim_random_below(&run->random, network->jitter);
  time = dtr_sim_network_hold(network, from, to, time);
  if (time < *free_at)
    time = *free_at;
  *free_at = time;
  return time;
}

static struct dtr_sim_letter *post(struct dtr_sim_run *run, enum dtr_sim_news news, uint32_t from,
                                   uint32_t to, int64_t delay) {
  struct dtr_sim_letter *letter = calloc(1, sizeof *letter), **at = &run->letters;
  if (!letter)
    abort(); /* a simulation has nobody to tell */
  letter->news = news;
  letter->from = from;
  letter->to = to;
  letter->from_incarnation = run->tasks[from].incarnation;
  letter->to_incarnation = run->tasks[to].incarnation;
  letter->time = arrival(run, from, to, delay);
  while (*at && (*at)->time <= letter->time)
    at = &(*at)->next;
  letter->next = *at;
  *at = letter;
  return letter;
}

/* A machine that has stopped says nothing more. */
static bool is_mute(const struct dtr_sim_run *run, uint32_t task) {
  return task == run->chief && dtr_sim_disk_has_stopped(run->disk);
}

void dtr_sim_send(void *context, uint32_t to, const struct dtr_recovery_message *message) {
  struct dtr_sim_task *from = context;
  char bytes[DTR_RECOVERY_BYTES];
  if (is_mute(from->run, from->number) || !from->run->tasks[to].is_up)
    return;
  struct dtr_sim_letter *letter = post(from->run, DTR_SIM_MESSAGE, from->number, to, 0);
  if (!dtr_recovery_unpack(bytes, dtr_recovery_pack(message, bytes), &letter->message))
    dtr_sim_wrong(from->run, "a message of recovery cannot be read back");
}

void dtr_sim_announce(struct dtr_sim_run *run, uint32_t task) {
  for (uint32_t t = 0; t < run->map->task_count; t++) {
    if (t == task || !run->tasks[t].is_up)
      continue;
    post(run, DTR_SIM_PRESENT, task, t, 0);
    post(run, DTR_SIM_PRESENT, t, task, 0);
  }
}

void dtr_sim_bury(struct dtr_sim_run *run, uint32_t task, int64_t detection) {
  for (uint32_t t = 0; t < run->map->task_count; t++)
    if (t != task && run->tasks[t].is_up)
      post(run, DTR_SIM_LOST, task, t, dtr_sim_random_below(&run->random, detection + 1));
}

int64_t dtr_sim_next_letter(const struct dtr_sim_run *run) {
  return run->letters ? run->letters->time : INT64_MAX;
}

/* What comes from a process that is gone, or goes to one, is lost, but for the news of that. */
static void hand_over(struct dtr_sim_run *run, const struct dtr_sim_letter *letter) {
  const struct dtr_sim_task *from = &run->tasks[letter->from], *to = &run->tasks[letter->to];
  bool is_from = from->is_up && from->incarnation == letter->from_incarnation;
  int64_t now = run->world.now;
  if (!to->is_up || to->incarnation != letter->to_incarnation)
    return;
  if (letter->news == DTR_SIM_LOST)
    dtr_recovery_lost(to->recovery, letter->from, letter->from_incarnation, now);
  else if (is_from && letter->news == DTR_SIM_PRESENT)
    dtr_recovery_present(to->recovery, letter->from, letter->from_incarnation, now);
  else if (is_from)
    dtr_recovery_hear(to->recovery, letter->from, &letter->message, now);
  dtr_sim_poll_recovery(run, letter->to);
}

void dtr_sim_deliver(struct dtr_sim_run *run) {
  while (dtr_sim_next_letter(run) <= run->world.now) {
    struct dtr_sim_letter *letter = run->letters;
    run->letters = letter->next;
    hand_over(run, letter);
    free(letter);
  }
}

void dtr_sim_free_letters(struct dtr_sim_run *run) {
  while (run->letters) {
    struct dtr_sim_letter *letter = run->letters;
    run->letters = letter->next;
    free(letter);
  }
}
