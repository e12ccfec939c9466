#include "runtime/cpu.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct feature {
  int level;
  const char *name;
  bool present;
};

/* Levels as the x86-64 psABI defines them; cmpxchg16b, lahf and osxsave are implied by the others
 * on every processor that was made. */
int dtr_cpu_level(const char **lacks) {
  __builtin_cpu_init();
  const struct feature features[] = {
      {2, "sse3", __builtin_cpu_supports("sse3")},
      {2, "ssse3", __builtin_cpu_supports("ssse3")},
      {2, "sse4.1", __builtin_cpu_supports("sse4.1")},
      {2, "sse4.2", __builtin_cpu_supports("sse4.2")},
      {2, "popcnt", __builtin_cpu_supports("popcnt")},
      {3, "avx", __builtin_cpu_supports("avx")},
      {3, "avx2", __builtin_cpu_supports("avx2")},
      {3, "bmi", __builtin_cpu_supports("bmi")},
      {3, "bmi2", __builtin_cpu_supports("bmi2")},
      {3, "fma", __builtin_cpu_supports("fma")},
      {4, "avx512f", __builtin_cpu_supports("avx512f")},
      {4, "avx512bw", __builtin_cpu_supports("avx512bw")},
      {4, "avx512cd", __builtin_cpu_supports("avx512cd")},
      {4, "avx512dq", __builtin_cpu_supports("avx512dq")},
      {4, "avx512vl", __builtin_cpu_supports("avx512vl")},
  };
  for (size_t i = 0; i < sizeof features / sizeof *features; i++)
    if (!features[i].present) {
      *lacks = features[i].name;
      return features[i].level - 1;
    }
  *lacks = NULL;
  return 4;
}

bool dtr_cpu_check(const char *cpu_arch, int level, const char *lacks, struct dtr_error *error) {
  static const char prefix[] = "x86-64-v";
  const char *number = cpu_arch + sizeof prefix - 1;
  if (strncmp(cpu_arch, prefix, sizeof prefix - 1) != 0 || *number < '1' || *number > '4' ||
      number[1])
    return dtr_error_set(error, DTR_STATUS_BUG, "the plan is for an unknown processor, \"%s\"",
                         cpu_arch);
  if (*number - '0' <= level)
    return true;
  dtr_error_set(error, DTR_STATUS_CONFIG,
                "this program is built for %s, but this processor is x86-64-v%d: it lacks %s",
                cpu_arch, level, lacks ? lacks : "a feature");
  return dtr_error_hint(
      error, "build it with cpu_arch = \"x86-64-v%d\" in the cluster, or run it elsewhere", level);
}

int dtr_cpu_count(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  int count = CPU_COUNT(&set);
  return count < 1 ? 1 : count;
}
