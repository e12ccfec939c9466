/* A file, or one array of an archive, read from its beginning to its end, inflated on the way if it
 * is compressed.
 *
 * Ownership: made and freed by the pair below; `path` is kept by pointer. Threads: one at a time.
 */
#ifndef DTR_DATA_STREAM_H
#define DTR_DATA_STREAM_H

#include "runtime/env.h"
#include "runtime/error.h"

enum { DTR_DEFLATE_RATIO = 1032 }; /* the most that deflate data can grow (zlib's notes) */

struct dtr_stream;

bool dtr_stream_open(const struct dtr_env *env, const char *path, struct dtr_stream **stream,
                     struct dtr_error *error);
/* The array `name` of an archive that NumPy saved (zip). */
bool dtr_stream_open_member(const struct dtr_env *env, const char *path, const char *name,
                            struct dtr_stream **stream, struct dtr_error *error);
void dtr_stream_close(struct dtr_stream *stream);

/* Reads `size` bytes, less only at the end of the contents; `got` says how many. */
bool dtr_stream_read(struct dtr_stream *stream, void *bytes, int64_t size, int64_t *got,
                     struct dtr_error *error);
/* The contents have ended here, and the checksum of gzip data was right; else an error. */
bool dtr_stream_end(struct dtr_stream *stream, struct dtr_error *error);
/* Bytes that can still come: exact for a plain file, at most so many for gzip data. */
int64_t dtr_stream_available(const struct dtr_stream *stream);
bool dtr_stream_is_gzip(const struct dtr_stream *stream);
/* Of a member: with its name behind it. */
const char *dtr_stream_path(const struct dtr_stream *stream);

/* The whole contents, with a zero behind them; the caller frees. */
bool dtr_stream_load(struct dtr_stream *stream, char **bytes, int64_t *size,
                     struct dtr_error *error);

#endif
