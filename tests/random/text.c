#include "text.h"

#include <stdio.h>

uint64_t rnd_bits(struct rnd *rnd) {
  uint64_t z = rnd->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

int rnd_below(struct rnd *rnd, int limit) {
  return (int)(rnd_bits(rnd) % (uint64_t)limit);
}

int rnd_between(struct rnd *rnd, int low, int high) {
  return low + rnd_below(rnd, high - low + 1);
}

bool rnd_chance(struct rnd *rnd, int percent) {
  return rnd_below(rnd, 100) < percent;
}

const char *rnd_word(struct rnd *rnd, const char *const *words) {
  int count = 0;
  while (words[count])
    count++;
  return words[rnd_below(rnd, count)];
}

const char *rnd_number(struct rnd *rnd, double low, double high) {
  char text[32];
  snprintf(text, sizeof text, "%.2f", low + (high - low) * (rnd_below(rnd, 101) / 100.0));
  return dtg_arena_strdup(rnd->arena, text);
}

const char *rnd_format(struct rnd *rnd, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = dtg_arena_vprintf(rnd->arena, format, args);
  va_end(args);
  return text;
}
