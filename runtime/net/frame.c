#include "runtime/net/frame.h"

#include "runtime/control/bytes.h"
#include "runtime/net/net.h"

#include <string.h>

void dtr_net_frame_pack(const struct dtr_net_frame *frame, unsigned char *bytes) {
  memset(bytes, 0, DTR_NET_FRAME_BYTES);
  dtr_bytes_put(bytes, (uint64_t)frame->kind, 4);
  dtr_bytes_put(bytes + 4, frame->edge, 4);
  dtr_bytes_put(bytes + 8, frame->generation, 4);
  dtr_bytes_put(bytes + 12, frame->sequence, 4);
  dtr_bytes_put(bytes + 16, (uint64_t)frame->step, 8);
  dtr_bytes_put(bytes + 24, (uint64_t)frame->size, 8);
  dtr_bytes_put(bytes + 32, (uint64_t)frame->offset, 8);
  dtr_bytes_put(bytes + 40, (uint64_t)frame->length, 8);
}

bool dtr_net_frame_unpack(const unsigned char *bytes, struct dtr_net_frame *frame) {
  uint64_t kind = dtr_bytes_get(bytes, 4);
  *frame = (struct dtr_net_frame){.kind = (enum dtr_net_frame_kind)kind,
                                  .edge = (uint32_t)dtr_bytes_get(bytes + 4, 4),
                                  .generation = (uint32_t)dtr_bytes_get(bytes + 8, 4),
                                  .sequence = (uint32_t)dtr_bytes_get(bytes + 12, 4),
                                  .step = (int64_t)dtr_bytes_get(bytes + 16, 8),
                                  .size = (int64_t)dtr_bytes_get(bytes + 24, 8),
                                  .offset = (int64_t)dtr_bytes_get(bytes + 32, 8),
                                  .length = (int64_t)dtr_bytes_get(bytes + 40, 8)};
  if (kind == DTR_NET_FRAME_RELEASE)
    return frame->size == 0 && frame->offset == 0 && frame->length == 0;
  return kind == DTR_NET_FRAME_CHUNK && frame->size >= 0 && frame->offset >= 0 &&
         frame->length >= 0 && frame->length <= DTR_NET_CHUNK && frame->offset <= frame->size &&
         frame->length <= frame->size - frame->offset && (frame->length > 0 || frame->size == 0);
}
