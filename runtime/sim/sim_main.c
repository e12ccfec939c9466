/* --sim: many seeds of one program, and how to run one again. */
#include "runtime/sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct range {
  uint64_t first, last;
  uint32_t faults;
  const char *fault_text;
  bool is_relaxed; /* seeds need not agree */
};

struct totals {
  int64_t seeds, bad, failed, crashes, restarts, polls, virtual_time;
  int64_t stops, steps_again;
  int64_t stop_time, lead; /* the longest */
  struct dtr_sim_net_counts net;
  struct dtr_sim_disk_counts disk;
  char digest[DTR_SIM_DIGEST];
  uint64_t digest_seed;
};

static bool read_number(const char **text, uint64_t *value) {
  char *end;
  if (**text < '0' || **text > '9')
    return false;
  errno = 0;
  *value = strtoull(*text, &end, 10);
  *text = end;
  return errno == 0;
}

static bool read_range(const char *text, struct range *range, struct dtr_error *error) {
  const char *at = text;
  bool good = read_number(&at, &range->first);
  range->last = range->first;
  if (good && *at == '-') {
    at++;
    good = read_number(&at, &range->last) && range->last >= range->first;
  }
  if (!good || (*at && *at != ':')) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--sim %s: not a range of seeds", text);
    return dtr_error_hint(error, "--sim 7, or --sim 1-100:delay,stall");
  }
  range->fault_text = *at ? at + 1 : "";
  return dtr_sim_faults_parse(range->fault_text, &range->faults, error);
}

/* ---- one seed ---- */

static void complain(const struct dtr_program *program, const struct range *range, uint64_t seed,
                     const char *text, const struct dtr_flags *flags) {
  fprintf(stderr, "seed %llu: %s\n  again: ./%s --sim %llu%s%s", (unsigned long long)seed, text,
          program->name, (unsigned long long)seed, range->fault_text[0] ? ":" : "",
          range->fault_text);
  if (flags->steps != DTR_FLAG_UNSET)
    fprintf(stderr, " --steps %lld", (long long)flags->steps);
  fputc('\n', stderr);
}

/* What a run must be under these faults. */
static bool judge(const struct range *range, const struct dtr_sim_result *result, uint64_t seed,
                  struct totals *totals, char *text, size_t size) {
  char message[4096];
  if (result->outcome == DTR_SIM_DONE && !totals->digest[0]) {
    memcpy(totals->digest, result->digest, sizeof totals->digest);
    totals->digest_seed = seed;
  }
  if (result->outcome == DTR_SIM_DONE && range->is_relaxed)
    return true;
  if (result->outcome == DTR_SIM_DONE) {
    snprintf(text, size, "saved %.16s..., seed %llu saved %.16s...", result->digest,
             (unsigned long long)totals->digest_seed, totals->digest);
    return strcmp(result->digest, totals->digest) == 0;
  }
  dtr_error_format(&result->error, message, sizeof message);
  snprintf(text, size, "%.*s", (int)(strlen(message) - (message[0] != 0)), message);
  if (result->outcome == DTR_SIM_WRONG)
    return false;
  totals->failed++;
  if (DTR_SIM_HAS(range->faults, GONE) &&
      (result->error.status == DTR_STATUS_PEER_LOST || result->error.status == DTR_STATUS_DEADLINE))
    return true;
  return DTR_SIM_HAS(range->faults, DISK_ERRORS) &&
         (result->error.status == DTR_STATUS_IO || result->error.status == DTR_STATUS_CHECKPOINT ||
          result->error.status == DTR_STATUS_DATA);
}

static void count(const struct dtr_sim_result *result, struct totals *totals) {
  totals->seeds++;
  totals->crashes += result->crashes;
  totals->restarts += result->restarts;
  totals->stops += result->costs.stops;
  totals->steps_again += result->costs.steps_again;
  totals->polls += result->polls;
  totals->virtual_time += result->virtual_time;
  if (result->stop_time > totals->stop_time)
    totals->stop_time = result->stop_time;
  if (result->lead > totals->lead)
    totals->lead = result->lead;
  totals->net.messages += result->net.messages;
  totals->net.stalled += result->net.stalled;
  totals->net.broken += result->net.broken;
  totals->net.duplicates += result->net.duplicates;
  totals->net.held += result->net.held;
  totals->net.lost += result->net.lost;
  totals->net.refused += result->net.refused;
  totals->disk.calls += result->disk.calls;
  totals->disk.failures += result->disk.failures;
  totals->disk.short_transfers += result->disk.short_transfers;
  totals->disk.crashes += result->disk.crashes;
  totals->disk.lost += result->disk.lost;
  totals->disk.torn += result->disk.torn;
}

/* ---- all ---- */

static void show(const struct range *range, const struct totals *totals) {
  const struct dtr_sim_net_counts *net = &totals->net;
  const struct dtr_sim_disk_counts *disk = &totals->disk;
  printf("%lld seeds, %lld wrong, %lld failed; %lld polls, %.3f s of virtual time\n",
         (long long)totals->seeds, (long long)totals->bad, (long long)totals->failed,
         (long long)totals->polls, (double)totals->virtual_time * 1e-9);
  printf("network: %lld messages, %lld stalled, %lld held, %lld broken, %lld copies, %lld lost, "
         "%lld refused\n",
         (long long)net->messages, (long long)net->stalled, (long long)net->held,
         (long long)net->broken, (long long)net->duplicates, (long long)net->lost,
         (long long)net->refused);
  printf("disk: %lld calls, %lld failed, %lld short, %lld crashes, %lld lost, %lld torn\n",
         (long long)disk->calls, (long long)disk->failures, (long long)disk->short_transfers,
         (long long)disk->crashes, (long long)disk->lost, (long long)disk->torn);
  if (totals->crashes > 0)
    printf("tasks: %lld died, %lld came back; all stopped %lld times, after %.3f s at most; %lld "
           "steps made again\n",
           (long long)totals->crashes, (long long)totals->restarts, (long long)totals->stops,
           (double)totals->stop_time * 1e-9, (long long)totals->steps_again);
  if (totals->lead > 0)
    printf("lead: %lld steps at most\n", (long long)totals->lead);
  if (totals->digest[0] && !range->is_relaxed)
    printf("saved: %s\n", totals->digest);
}

int dtr_sim_main(const struct dtr_program *program, const struct dtr_flags *flags,
                 const char *model_dir) {
  struct dtr_error error;
  struct range range;
  struct totals totals = {0};
  dtr_error_clear(&error);
  if (!read_range(flags->sim, &range, &error)) {
    dtr_error_report(&error, stderr);
    return dtr_status_exit(error.status);
  }
  range.is_relaxed =
      program->replication && (program->replication->is_async || program->replication->backup > 0);
  for (uint64_t seed = range.first;; seed++) {
    char text[4096];
    struct dtr_sim_result result;
    struct dtr_sim_options options = {.program = program,
                                      .flags = flags,
                                      .model_dir = model_dir,
                                      .below = dtr_env_real(),
                                      .seed = seed,
                                      .faults = range.faults,
                                      .echo = range.first == range.last && !flags->quiet};
    dtr_sim_run(&options, &result);
    count(&result, &totals);
    if (options.echo && result.loss[0])
      printf("lost: %s\n", result.loss);
    if (!judge(&range, &result, seed, &totals, text, sizeof text)) {
      totals.bad++;
      complain(program, &range, seed, text, flags);
    }
    if (seed == range.last)
      break;
  }
  show(&range, &totals);
  return totals.bad > 0 ? 1 : 0;
}
