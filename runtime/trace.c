#include "runtime/trace.h"

#include "runtime/json.h"

#include <stdlib.h>
#include <string.h>

struct event {
  const char *name, *comment;
  int64_t step, begin, end;
};

/* Rings are apart in memory: each is written by its own thread. */
struct ring {
  struct event *events;
  int64_t count, dropped;
  char apart[64];
};

struct dtr_trace {
  const struct dtr_env *env;
  int threads;
  int64_t start;
  const char *path;
  struct dtr_json json;
  struct ring *rings;
};

static bool allocate(struct dtr_trace *trace) {
  trace->rings = calloc((size_t)trace->threads, sizeof *trace->rings);
  if (!trace->rings)
    return false;
  for (int t = 0; t < trace->threads; t++) {
    trace->rings[t].events = calloc(DTR_TRACE_EVENTS, sizeof(struct event));
    if (!trace->rings[t].events)
      return false;
  }
  return true;
}

bool dtr_trace_new(const struct dtr_env *env, const char *path, int threads,
                   struct dtr_trace **trace, struct dtr_error *error) {
  struct dtr_trace *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the trace");
  *made =
      (struct dtr_trace){.env = env, .threads = threads, .start = dtr_env_now(env), .path = path};
  if (!allocate(made)) {
    dtr_trace_free(made);
    return dtr_error_memory(
        error, (int64_t)threads * DTR_TRACE_EVENTS * (int64_t)sizeof(struct event), "the trace");
  }
  if (!dtr_json_open(env, path, &made->json, error)) {
    dtr_trace_free(made);
    return false;
  }
  *trace = made;
  return true;
}

void dtr_trace_free(struct dtr_trace *trace) {
  struct dtr_error ignored;
  if (!trace)
    return;
  dtr_error_clear(&ignored);
  dtr_json_close(&trace->json, trace->path, &ignored);
  for (int t = 0; trace->rings && t < trace->threads; t++)
    free(trace->rings[t].events);
  free(trace->rings);
  free(trace);
}

int64_t dtr_trace_now(const struct dtr_trace *trace) {
  return dtr_env_now(trace->env);
}

void dtr_trace_add(struct dtr_trace *trace, int thread, const char *name, const char *comment,
                   int64_t step, int64_t begin) {
  struct ring *ring = &trace->rings[thread];
  if (ring->count == DTR_TRACE_EVENTS) {
    ring->dropped++;
    return;
  }
  ring->events[ring->count++] = (struct event){name, comment, step, begin, dtr_trace_now(trace)};
}

static void write_microseconds(struct dtr_json *json, int64_t nanoseconds) {
  char text[40];
  snprintf(text, sizeof text, "%lld.%03d", (long long)(nanoseconds / 1000),
           (int)(nanoseconds % 1000));
  dtr_json_raw(json, text);
}

static void write_event(struct dtr_json *json, const struct dtr_trace *trace, int thread,
                        const struct event *event) {
  dtr_json_raw(json, ",\n{\"ph\":\"X\",\"pid\":0,\"tid\":");
  dtr_json_integer(json, thread);
  dtr_json_raw(json, ",\"ts\":");
  write_microseconds(json, event->begin - trace->start);
  dtr_json_raw(json, ",\"dur\":");
  write_microseconds(json, event->end - event->begin);
  dtr_json_raw(json, ",\"name\":");
  dtr_json_string(json, event->name);
  dtr_json_raw(json, ",\"args\":{\"step\":");
  dtr_json_integer(json, event->step);
  if (event->comment) {
    dtr_json_raw(json, ",\"what\":");
    dtr_json_string(json, event->comment);
  }
  dtr_json_raw(json, "}}");
}

static void write_name(struct dtr_json *json, const char *kind, int thread, const char *name,
                       int64_t dropped) {
  dtr_json_raw(json, "{\"ph\":\"M\",\"pid\":0,\"tid\":");
  dtr_json_integer(json, thread);
  dtr_json_raw(json, ",\"name\":");
  dtr_json_string(json, kind);
  dtr_json_raw(json, ",\"args\":{\"name\":");
  dtr_json_string(json, name);
  dtr_json_raw(json, ",\"dropped_events\":");
  dtr_json_integer(json, dropped);
  dtr_json_raw(json, "}}");
}

bool dtr_trace_write(struct dtr_trace *trace, const char *process, struct dtr_error *error) {
  struct dtr_json *json = &trace->json;
  dtr_json_raw(json, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  write_name(json, "process_name", 0, process, 0);
  for (int t = 0; t < trace->threads; t++) {
    const struct ring *ring = &trace->rings[t];
    char name[32];
    snprintf(name, sizeof name, "thread %d", t);
    dtr_json_raw(json, ",\n");
    write_name(json, "thread_name", t, name, ring->dropped);
    for (int64_t i = 0; i < ring->count; i++)
      write_event(json, trace, t, &ring->events[i]);
  }
  dtr_json_raw(json, "\n]}\n");
  return dtr_json_close(json, trace->path, error);
}
