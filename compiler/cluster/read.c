// The cluster spec as a libconfig file.
//
// libconfig keeps the line of each setting; the span of an error is the setting's name on that
// line.
#include "compiler/cluster/finish.h"

#include <libconfig.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_JOBS = 1024 };

struct reader {
  struct dtg_ctx *ctx;
  uint32_t file;
  const char *native_arch;
  struct dtg_cluster cluster;
};

static const char *const top_keys[] = {"jobs", "links", "chief", "cpu_arch"};
static const char *const job_keys[] = {"tasks",  "cpu",      "gpu",       "threads",
                                       "memory", "gpu_arch", "gpu_memory"};
static const char *const link_keys[] = {"bandwidth", "latency"};

static struct dtg_span line_span(const struct reader *r, unsigned line, const char *word) {
  const struct dtg_source *source = dtg_source_get(&r->ctx->sources, r->file);
  if (line == 0 || line > source->line_starts.len)
    return (struct dtg_span){r->file, 0, 0};
  uint32_t begin = source->line_starts.data[line - 1];
  uint32_t end =
      line < source->line_starts.len ? source->line_starts.data[line] - 1 : (uint32_t)source->size;
  const char *text = source->text + begin;
  const char *found = word && *word ? strstr(text, word) : NULL;
  if (found && found < source->text + end) {
    begin = (uint32_t)(found - source->text);
    return (struct dtg_span){r->file, begin, begin + (uint32_t)strlen(word)};
  }
  begin += (uint32_t)strspn(text, " \t");
  return (struct dtg_span){r->file, begin, end > begin ? end : begin};
}

static struct dtg_span span_of(const struct reader *r, const config_setting_t *setting) {
  return line_span(r, config_setting_source_line(setting), config_setting_name(setting));
}

// Every key of the group must be known; the nearest known one is proposed.
static bool check_keys(struct reader *r, const config_setting_t *group, const char *what,
                       const char *const *keys, size_t count) {
  bool good = true;
  for (int i = 0; i < config_setting_length(group); i++) {
    const config_setting_t *item = config_setting_get_elem(group, (unsigned)i);
    const char *name = config_setting_name(item);
    bool known = false;
    for (size_t k = 0; k < count; k++)
      known |= strcmp(name, keys[k]) == 0;
    if (known)
      continue;
    good = false;
    struct dtg_diag *diag =
        dtg_error(&r->ctx->diags, span_of(r, item), "unknown key `%s` in %s", name, what);
    const char *near = dtg_suggest(name, keys, count);
    if (near)
      dtg_diag_hint(diag, "did you mean `%s`?", near);
  }
  return good;
}

static bool wrong_type(struct reader *r, const config_setting_t *item, const char *expected) {
  dtg_error(&r->ctx->diags, span_of(r, item), "`%s` must be %s", config_setting_name(item),
            expected);
  return false;
}

static const char *text_of(struct reader *r, const config_setting_t *item) {
  return dtg_intern_z(&r->ctx->names, config_setting_get_string(item));
}

static bool read_count(struct reader *r, const config_setting_t *group, const char *key,
                       uint32_t *out) {
  const config_setting_t *item = config_setting_get_member(group, key);
  if (!item)
    return true;
  if (config_setting_type(item) != CONFIG_TYPE_INT || config_setting_get_int(item) < 0)
    return wrong_type(r, item, "a whole number, 0 or more");
  *out = (uint32_t)config_setting_get_int(item);
  return true;
}

static bool read_size(struct reader *r, const config_setting_t *group, const char *key,
                      int64_t *out) {
  const config_setting_t *item = config_setting_get_member(group, key);
  if (!item)
    return true;
  if (config_setting_type(item) == CONFIG_TYPE_STRING &&
      dtg_cluster_parse_size(config_setting_get_string(item), out))
    return true;
  return wrong_type(r, item, "a size with its unit, such as \"16GB\" or \"512MiB\"");
}

static bool valid_address(const char *address) {
  const char *colon = strrchr(address, ':');
  if (!colon || colon == address)
    return false;
  char *end;
  unsigned long port = strtoul(colon + 1, &end, 10);
  return end != colon + 1 && *end == '\0' && colon[1] != '-' && colon[1] != '+' && port > 0 &&
         port <= 65535;
}

static bool read_tasks(struct reader *r, const config_setting_t *group, struct dtg_job *job) {
  const config_setting_t *tasks = config_setting_get_member(group, "tasks");
  if (!tasks) {
    struct dtg_diag *diag =
        dtg_error(&r->ctx->diags, job->span, "job `%s` names no tasks", job->name);
    dtg_diag_hint(diag, "add `tasks = [ \"10.0.0.1:2222\" ];`, one address for each task");
    return false;
  }
  int type = config_setting_type(tasks), count = config_setting_length(tasks);
  if ((type != CONFIG_TYPE_ARRAY && type != CONFIG_TYPE_LIST) || count == 0)
    return wrong_type(r, tasks, "a list of addresses such as [ \"10.0.0.1:2222\" ]");
  const char **addresses = DTG_NEW_ARRAY(&r->ctx->arena, const char *, count);
  for (int i = 0; i < count; i++) {
    const config_setting_t *item = config_setting_get_elem(tasks, (unsigned)i);
    const char *text =
        config_setting_type(item) == CONFIG_TYPE_STRING ? config_setting_get_string(item) : NULL;
    if (!text || !valid_address(text)) {
      struct dtg_diag *diag =
          dtg_error(&r->ctx->diags, line_span(r, config_setting_source_line(item), text),
                    "task %d of job `%s`: %s%s%s is no address", i, job->name, text ? "`" : "this",
                    text ? text : "", text ? "`" : "");
      dtg_diag_hint(diag, "an address is \"HOST:PORT\" with a port from 1 to 65535");
      return false;
    }
    addresses[i] = text_of(r, item);
  }
  job->addresses = addresses;
  job->task_count = (uint32_t)count;
  return true;
}

static bool read_gpu_archs(struct reader *r, const config_setting_t *group, struct dtg_job *job) {
  const config_setting_t *item = config_setting_get_member(group, "gpu_arch");
  if (!item)
    return true;
  bool one = config_setting_type(item) == CONFIG_TYPE_STRING;
  if (!one && config_setting_type(item) != CONFIG_TYPE_ARRAY)
    return wrong_type(r, item, "an architecture such as \"sm_90\", or a list of them");
  int count = one ? 1 : config_setting_length(item);
  const char **archs = DTG_NEW_ARRAY(&r->ctx->arena, const char *, count);
  for (int i = 0; i < count; i++) {
    const config_setting_t *element = one ? item : config_setting_get_elem(item, (unsigned)i);
    if (config_setting_type(element) != CONFIG_TYPE_STRING)
      return wrong_type(r, item, "an architecture such as \"sm_90\", or a list of them");
    archs[i] = text_of(r, element);
    if (!dtg_cluster_check_gpu_arch(r->ctx, span_of(r, item), archs[i]))
      return false;
  }
  job->gpu_archs = archs;
  job->gpu_arch_count = (uint32_t)count;
  return true;
}

static bool read_job(struct reader *r, const config_setting_t *group, struct dtg_job *job) {
  *job = (struct dtg_job){.cpu = 1, .span = span_of(r, group)};
  job->name = dtg_intern_z(&r->ctx->names, config_setting_name(group));
  if (!config_setting_is_group(group))
    return wrong_type(r, group, "a group `{ ... }`");
  const char *what = dtg_arena_printf(&r->ctx->arena, "job `%s`", job->name);
  bool good = check_keys(r, group, what, job_keys, sizeof job_keys / sizeof *job_keys);
  good &= dtg_cluster_valid_name(job->name) ||
          wrong_type(r, group, "named by letters, digits and `_` to be a job");
  good &= read_tasks(r, group, job);
  good &= read_count(r, group, "cpu", &job->cpu);
  good &= read_count(r, group, "gpu", &job->gpu);
  good &= read_count(r, group, "threads", &job->threads);
  good &= read_size(r, group, "memory", &job->memory);
  good &= read_size(r, group, "gpu_memory", &job->gpu_memory);
  good &= read_gpu_archs(r, group, job);
  return good;
}

static bool read_jobs(struct reader *r, const config_setting_t *root) {
  const config_setting_t *jobs = config_setting_get_member(root, "jobs");
  if (!jobs || !config_setting_is_group(jobs) || config_setting_length(jobs) == 0) {
    struct dtg_diag *diag =
        dtg_error(&r->ctx->diags, jobs ? span_of(r, jobs) : (struct dtg_span){r->file, 0, 0},
                  "the cluster has no jobs");
    dtg_diag_hint(diag, "add `jobs: { worker: { tasks = [ \"10.0.0.1:2222\" ]; }; };`");
    return false;
  }
  int count = config_setting_length(jobs);
  if (count > MAX_JOBS) {
    dtg_error(&r->ctx->diags, span_of(r, jobs), "%d jobs are more than the limit of %d", count,
              MAX_JOBS);
    return false;
  }
  r->cluster.jobs = DTG_NEW_ARRAY(&r->ctx->arena, struct dtg_job, count);
  r->cluster.job_count = (uint32_t)count;
  bool good = true;
  for (int i = 0; i < count; i++)
    good &= read_job(r, config_setting_get_elem(jobs, (unsigned)i), &r->cluster.jobs[i]);
  return good;
}

struct owned_address {
  const char *address;
  const struct dtg_job *job;
  uint32_t task;
};

static int compare_addresses(const void *a, const void *b) {
  const struct owned_address *x = a, *y = b;
  int order = strcmp(x->address, y->address);
  return order ? order : (x->job > y->job) - (x->job < y->job);
}

static bool check_addresses(struct reader *r) {
  size_t total = 0;
  for (uint32_t j = 0; j < r->cluster.job_count; j++)
    total += r->cluster.jobs[j].task_count;
  struct owned_address *all = DTG_NEW_ARRAY(&r->ctx->arena, struct owned_address, total);
  size_t n = 0;
  for (uint32_t j = 0; j < r->cluster.job_count; j++)
    for (uint32_t t = 0; t < r->cluster.jobs[j].task_count; t++)
      all[n++] = (struct owned_address){r->cluster.jobs[j].addresses[t], &r->cluster.jobs[j], t};
  qsort(all, n, sizeof *all, compare_addresses);
  for (size_t i = 1; i < n; i++) {
    if (strcmp(all[i - 1].address, all[i].address) != 0)
      continue;
    struct dtg_diag *diag = dtg_error(&r->ctx->diags, all[i].job->span,
                                      "two tasks have the address `%s`", all[i].address);
    dtg_diag_note(diag, DTG_SPAN_NONE, "they are /job:%s/task:%u and /job:%s/task:%u",
                  all[i - 1].job->name, all[i - 1].task, all[i].job->name, all[i].task);
    return false;
  }
  return true;
}

static bool scaled(const char *text, const char *const *units, const double *factors, size_t count,
                   double *out) {
  char *end;
  double number = strtod(text, &end);
  if (end == text || !(number > 0) || number > 1e18)
    return false;
  while (*end == ' ')
    end++;
  for (size_t i = 0; i < count; i++)
    if (strcmp(end, units[i]) == 0) {
      *out = number * factors[i];
      return true;
    }
  return false;
}

static bool read_links(struct reader *r, const config_setting_t *root) {
  static const char *const rates[] = {"b/s", "Kb/s", "Mb/s", "Gb/s", "B/s", "KB/s", "MB/s", "GB/s"};
  static const double rate_factors[] = {0.125, 125, 125e3, 125e6, 1, 1e3, 1e6, 1e9};
  static const char *const times[] = {"s", "ms", "us", "ns"};
  static const double time_factors[] = {1, 1e-3, 1e-6, 1e-9};
  const config_setting_t *links = config_setting_get_member(root, "links");
  if (!links)
    return true;
  if (!config_setting_is_group(links))
    return wrong_type(r, links, "a group `{ ... }`");
  bool good = check_keys(r, links, "`links`", link_keys, 2);
  const config_setting_t *item = config_setting_get_member(links, "bandwidth");
  if (item &&
      (config_setting_type(item) != CONFIG_TYPE_STRING ||
       !scaled(config_setting_get_string(item), rates, rate_factors, 8, &r->cluster.bandwidth)))
    good = wrong_type(r, item, "a rate such as \"100Gb/s\" (bits) or \"12GB/s\" (bytes)");
  item = config_setting_get_member(links, "latency");
  if (item &&
      (config_setting_type(item) != CONFIG_TYPE_STRING ||
       !scaled(config_setting_get_string(item), times, time_factors, 4, &r->cluster.latency)))
    good = wrong_type(r, item, "a time such as \"5us\"");
  return good;
}

static bool read_chief(struct reader *r, const config_setting_t *root) {
  const config_setting_t *item = config_setting_get_member(root, "chief");
  dtg_cluster_default_chief(&r->cluster);
  if (!item)
    return true;
  if (config_setting_type(item) != CONFIG_TYPE_STRING)
    return wrong_type(r, item, "a task such as \"/job:worker/task:0\"");
  const char *text = config_setting_get_string(item);
  for (uint32_t j = 0; j < r->cluster.job_count; j++) {
    const struct dtg_job *job = &r->cluster.jobs[j];
    char *prefix = dtg_arena_printf(&r->ctx->arena, "/job:%s/task:", job->name), *end;
    size_t length = strlen(prefix);
    if (strncmp(text, prefix, length) != 0)
      continue;
    unsigned long task = strtoul(text + length, &end, 10);
    if (end == text + length || *end || task >= job->task_count)
      break;
    r->cluster.chief_job = j;
    r->cluster.chief_task = (uint32_t)task;
    return true;
  }
  struct dtg_diag *diag =
      dtg_error(&r->ctx->diags, span_of(r, item), "`%s` is no task of this cluster", text);
  dtg_diag_hint(diag, "write a task that `jobs` lists, such as \"/job:%s/task:0\"",
                r->cluster.jobs[0].name);
  return false;
}

static bool read_cpu_arch(struct reader *r, const config_setting_t *root) {
  const config_setting_t *item = config_setting_get_member(root, "cpu_arch");
  r->cluster.cpu_arch = r->native_arch;
  if (!item)
    return true;
  if (config_setting_type(item) != CONFIG_TYPE_STRING)
    return wrong_type(r, item, "an instruction set such as \"x86-64-v3\"");
  const char *arch = text_of(r, item);
  if (!dtg_cluster_check_arch(r->ctx, span_of(r, item), arch))
    return false;
  if (strcmp(arch, "native") != 0)
    r->cluster.cpu_arch = arch;
  return true;
}

static bool read_root(struct reader *r, const config_setting_t *root) {
  bool good = check_keys(r, root, "the cluster spec", top_keys, 4);
  if (!read_jobs(r, root))
    return false;
  good &= check_addresses(r);
  good &= read_links(r, root);
  good &= read_chief(r, root);
  good &= read_cpu_arch(r, root);
  return good && dtg_cluster_finish(r->ctx, &r->cluster);
}

// libconfig would open files named by @include; the spec is one file here.
static bool has_include(struct reader *r, const char *text) {
  const char *found = strstr(text, "@include");
  if (!found || (found != text && found[-1] != '\n'))
    return false;
  uint32_t at = (uint32_t)(found - text);
  dtg_error(&r->ctx->diags, (struct dtg_span){r->file, at, at + 8},
            "a cluster spec is one file: `@include` is not read");
  return true;
}

bool dtg_cluster_read(struct dtg_ctx *ctx, const char *file, const char *native_arch,
                      struct dtg_cluster *out) {
  struct reader r = {.ctx = ctx, .native_arch = native_arch};
  if (!dtg_source_load(&ctx->sources, &ctx->diags, file, DTG_SPAN_NONE, &r.file))
    return false;
  const char *text = dtg_source_get(&ctx->sources, r.file)->text;
  if (has_include(&r, text))
    return false;
  config_t config;
  config_init(&config);
  bool good = false;
  if (config_read_string(&config, text) != CONFIG_TRUE) {
    struct dtg_diag *diag =
        dtg_error(&ctx->diags, line_span(&r, (unsigned)config_error_line(&config), NULL),
                  "the cluster spec cannot be read: %s", config_error_text(&config));
    dtg_diag_hint(diag, "libconfig's form is `name = value;` and `name: { ... };`");
  } else {
    r.cluster.spec = file;
    good = read_root(&r, config_root_setting(&config));
  }
  config_destroy(&config);
  if (good)
    *out = r.cluster;
  return good;
}

bool dtg_cluster_load(struct dtg_ctx *ctx, const char *spec, const char *native_arch,
                      struct dtg_cluster *out) {
  struct stat info;
  if (strchr(spec, '=') && stat(spec, &info) != 0)
    return dtg_cluster_inline(ctx, spec, native_arch, out);
  return dtg_cluster_read(ctx, spec, native_arch, out);
}
