/* Numbers as little-endian bytes, whatever the machine. Threads: any. */
#ifndef DTR_CONTROL_BYTES_H
#define DTR_CONTROL_BYTES_H

#include <stdint.h>

static inline void dtr_bytes_put(unsigned char *bytes, uint64_t value, int size) {
  for (int i = 0; i < size; i++)
    bytes[i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t dtr_bytes_get(const unsigned char *bytes, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; i++)
    value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

#endif
