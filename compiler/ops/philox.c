#include "compiler/ops/support.h"

static void round_once(uint32_t counter[4], const uint32_t key[2]) {
  uint64_t first = UINT64_C(0xD2511F53) * counter[0];
  uint64_t second = UINT64_C(0xCD9E8D57) * counter[2];
  uint32_t next[4] = {(uint32_t)(second >> 32) ^ counter[1] ^ key[0], (uint32_t)second,
                      (uint32_t)(first >> 32) ^ counter[3] ^ key[1], (uint32_t)first};
  for (int i = 0; i < 4; i++)
    counter[i] = next[i];
}

void dtg_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]) {
  uint32_t keys[2] = {key[0], key[1]};
  for (int i = 0; i < 4; i++)
    out[i] = counter[i];
  for (int round = 0; round < 10; round++) {
    round_once(out, keys);
    keys[0] += 0x9E3779B9u;
    keys[1] += 0xBB67AE85u;
  }
}
