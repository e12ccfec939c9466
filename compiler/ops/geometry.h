/* Windows that move over the rows and columns of images [batch, rows, columns, channels].
 *
 * Purpose: what convolutions and poolings share: attributes, sizes, and which pixels meet. Private
 * to compiler/ops/. Ownership: nothing is kept. Threads: none. Index 0: rows, 1: columns.
 */
#ifndef DTG_OPS_GEOMETRY_H
#define DTG_OPS_GEOMETRY_H

#include "compiler/ops/support.h"

struct dtg_geometry {
  int64_t kernel[2]; /* elements of the window */
  int64_t strides[2], dilation[2];
  int64_t before[2], after[2]; /* border */
  int64_t groups;
};

/* infer: attributes strides, before, after, dilation and groups; `kernel` is the caller's. Checks
 * signs and counts. */
bool dtg_geometry_infer(const struct dtg_infer_call *call, struct dtg_geometry *out);
/* infer: an attribute of two positive numbers. */
bool dtg_geometry_pair(const struct dtg_infer_call *call, const char *name, int64_t out[2]);
/* infer: operand `input` is f32 with four axes. */
bool dtg_geometry_image(const struct dtg_infer_call *call, uint32_t input);
/* infer: windows along rows and columns of an image of `size`; the reason names the axis and what
 * would fit. `image`: what has that size. */
bool dtg_geometry_windows(const struct dtg_infer_call *call, const struct dtg_geometry *geometry,
                          const int64_t size[2], const char *image, int64_t out[2]);

/* The same attributes of a node; `kernel` is that of `window`, if it has that. */
struct dtg_geometry dtg_geometry_of(const struct dtg_node *node);
/* The pixel of the image under element `element` of window `position`, along one axis; false on the
 * border. */
bool dtg_geometry_pixel(const struct dtg_geometry *geometry, int axis, int64_t size,
                        int64_t position, int64_t element, int64_t *pixel);
/* The attributes for another op with the same geometry, and one of its own (name NULL: none) that
 * sorts anywhere; into `attrs` of at least 7. Groups and dilation only with `convolution`. */
uint32_t dtg_geometry_attrs(struct dtg_graph *graph, const struct dtg_node *node, bool convolution,
                            const char *name, const int64_t *values, struct dtg_attr *attrs);

#endif
