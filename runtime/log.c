#include "runtime/log.h"

enum { DIGITS = 9 };                                   /* enough to give every float back */
static const int64_t flush_every = 1000 * 1000 * 1000; /* ns: somebody may be reading along */

bool dtr_log_open(const struct dtr_env *env, const struct dtr_program *program, const char *path,
                  struct dtr_log *log, struct dtr_error *error) {
  *log = (struct dtr_log){.program = program};
  if (!path)
    return true;
  if (!dtr_json_open(env, path, &log->json, error))
    return false;
  log->path = path;
  return true;
}

void dtr_log_begin(struct dtr_log *log, int64_t now) {
  log->last_time = now;
  log->flush_time = now;
}

static void write_results(struct dtr_log *log, const struct dtr_record *record) {
  struct dtr_json *json = &log->json;
  dtr_json_raw(json, "\"loss\": ");
  dtr_json_number(json, record->results[0], DIGITS);
  dtr_json_raw(json, ", \"metrics\": {");
  for (uint32_t i = 0; i < log->program->metric_count; i++) {
    dtr_json_raw(json, i == 0 ? "" : ", ");
    dtr_json_string(json, log->program->metrics[i]);
    dtr_json_raw(json, ": ");
    dtr_json_number(json, record->results[1 + i], DIGITS);
  }
  dtr_json_raw(json, "}, ");
}

static void begin_record(struct dtr_log *log, const struct dtr_record *record) {
  dtr_json_raw(&log->json, "{\"step\": ");
  dtr_json_integer(&log->json, record->step);
  dtr_json_raw(&log->json, ", \"epoch\": ");
  /* From 1, as on the terminal; 0 before the first step. */
  dtr_json_integer(&log->json, record->step > 0 ? record->epoch + 1 : 0);
  dtr_json_raw(&log->json, ", ");
}

void dtr_log_step(struct dtr_log *log, const struct dtr_record *record, int64_t now) {
  if (!log->path)
    return;
  double seconds = (double)(now - log->last_time) * 1e-9;
  begin_record(log, record);
  write_results(log, record);
  dtr_json_raw(&log->json, "\"examples_per_second\": ");
  dtr_json_number(&log->json, (double)log->program->train.batch / seconds, 6);
  dtr_json_raw(&log->json, "}\n");
  log->last_time = now;
  if (now - log->flush_time >= flush_every) {
    dtr_json_flush(&log->json);
    log->flush_time = now;
  }
}

void dtr_log_evaluation(struct dtr_log *log, const struct dtr_record *record, int64_t now) {
  if (!log->path)
    return;
  begin_record(log, record);
  dtr_json_raw(&log->json, "\"evaluation\": ");
  dtr_json_string(&log->json, record->set);
  dtr_json_raw(&log->json, ", ");
  write_results(log, record);
  dtr_json_raw(&log->json, "\"examples\": ");
  dtr_json_integer(&log->json, record->examples);
  dtr_json_raw(&log->json, "}\n");
  dtr_json_flush(&log->json);
  log->last_time = now; /* the time spent here is no step's */
}

bool dtr_log_close(struct dtr_log *log, struct dtr_error *error) {
  const char *path = log->path;
  log->path = NULL;
  return !path || dtr_json_close(&log->json, path, error);
}
