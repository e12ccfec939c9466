#include "runtime/data/sources.h"

bool dtr_npz_read(const struct dtr_env *env, const char *path, const char *name,
                  struct dtr_values *values, struct dtr_error *error) {
  struct dtr_stream *stream;
  if (!dtr_stream_open_member(env, path, name, &stream, error))
    return false;
  bool done = dtr_npy_stream_read(env, stream, values, error);
  dtr_stream_close(stream);
  return done;
}
