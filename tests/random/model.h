/* A whole model file, made from a seed. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "text.h"

/* The same seed gives the same text. The text is a valid file: dtgc takes it, and its training runs
 * for at least 5 steps. The arena holds what is made on the way. */
void model_generate(struct dtg_arena *arena, uint64_t seed, struct dtg_strbuf *out);

#endif
