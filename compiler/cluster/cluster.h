// The cluster: jobs, their tasks, the devices of each task, and the links between them.
//
// Purpose: what placement chooses from. Read from a libconfig file, from the inline form
// `ps=1,worker=2:cpu=2:gpu=1`, or made from nothing (one worker with this machine's processor).
// Ownership: the arena of the context. Lifetime: the compilation. Thread rule: that of the context.
// The addresses are data for the run: the shape (everything else) is what a plan depends on.
#ifndef DTG_CLUSTER_CLUSTER_H
#define DTG_CLUSTER_CLUSTER_H

#include "compiler/base/ctx.h"

#include <stdbool.h>
#include <stdint.h>

enum { DTG_CLUSTER_MAX_TASKS = 1 << 20, DTG_CLUSTER_MAX_DEVICES = 1024 };

struct dtg_job {
  const char *name;
  uint32_t task_count;
  const char *const *addresses; // "host:port" per task; NULL: loopback, ports chosen at the start
  uint32_t cpu;                 // CPU devices per task
  uint32_t gpu;                 // GPU devices per task
  uint32_t threads;             // per task; 0: as many as the machine has processors
  int64_t memory;               // bytes per task; 0: not limited
  int64_t gpu_memory;           // bytes per GPU; 0: not limited
  uint32_t gpu_arch_count;
  const char *const *gpu_archs; // "sm_90"
  uint32_t first_device;        // index of the first device of task 0 in the device numbering
  struct dtg_span span;
};

struct dtg_cluster {
  uint32_t job_count;
  struct dtg_job *jobs; // in the order of the spec
  uint32_t chief_job, chief_task;
  const char *cpu_arch; // "x86-64-v4"; never "native" here
  double bandwidth;     // bytes per second of a link; 0: not given
  double latency;       // seconds; 0: not given
  bool local;           // every task is on this machine
  const char *spec;     // how it was given, for messages: file name, inline text, or ""
};

// `native_arch` stands in where the spec names no cpu_arch. False with errors in ctx->diags.
bool dtg_cluster_default(struct dtg_ctx *ctx, const char *native_arch, struct dtg_cluster *out);
bool dtg_cluster_read(struct dtg_ctx *ctx, const char *file, const char *native_arch,
                      struct dtg_cluster *out);
bool dtg_cluster_inline(struct dtg_ctx *ctx, const char *text, const char *native_arch,
                        struct dtg_cluster *out);
// One of the two above: a text with a `=` and no such file is the inline form.
bool dtg_cluster_load(struct dtg_ctx *ctx, const char *spec, const char *native_arch,
                      struct dtg_cluster *out);

// Devices of a task: its CPUs, then its GPUs. Numbers run over jobs, tasks, devices.
uint32_t dtg_job_devices(const struct dtg_job *job);
uint32_t dtg_cluster_device_count(const struct dtg_cluster *cluster);
// "/job:worker/task:1/device:GPU:0" of a device number.
const char *dtg_cluster_device_name(struct dtg_arena *arena, const struct dtg_cluster *cluster,
                                    uint32_t device);
// The device that takes what no rule places: gpu:0 of the chief if it has one, else its cpu:0.
uint32_t dtg_cluster_default_device(const struct dtg_cluster *cluster);

#endif
