/* Frames of the row `tcp`: 48 bytes, little-endian, then the bytes of the chunk.
 *
 * Ownership: nothing is kept. Threads: any.
 */
#ifndef DTR_NET_FRAME_H
#define DTR_NET_FRAME_H

#include <stdbool.h>
#include <stdint.h>

enum { DTR_NET_FRAME_BYTES = 48 };

enum dtr_net_frame_kind { DTR_NET_FRAME_CHUNK = 1, DTR_NET_FRAME_RELEASE = 2 };

struct dtr_net_frame {
  enum dtr_net_frame_kind kind;
  uint32_t edge, generation, sequence;
  int64_t step, size; /* of the whole message */
  int64_t offset, length;
};

void dtr_net_frame_pack(const struct dtr_net_frame *frame, unsigned char *bytes);
/* False: no frame, whatever the plan says. Sizes are not negative, and a chunk lies within its
 * message. */
bool dtr_net_frame_unpack(const unsigned char *bytes, struct dtr_net_frame *frame);

#endif
