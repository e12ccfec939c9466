#include "runtime/data/stream.h"

#include "runtime/data/zip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK_BYTES = 256 * 1024, PIECE_LIMIT = 1 << 30 };

struct dtr_stream {
  const struct dtr_env *env;
  const char *path;
  int file;
  int64_t file_size;
  int64_t taken;       /* bytes of the file read so far */
  int64_t delivered;   /* bytes of the contents given out so far */
  struct dtr_zip *zip; /* of a member; nothing below is used then */
  char *member_path;
  bool gzip, gzip_done;
  z_stream zlib;
  unsigned char chunk[CHUNK_BYTES]; /* the file's bytes on their way to zlib */
};

static bool file_read(struct dtr_stream *stream, void *bytes, int64_t size, int64_t *got,
                      struct dtr_error *error) {
  *got = 0;
  while (*got < size) {
    int64_t count = stream->env->file_read(stream->env->context, stream->file, (char *)bytes + *got,
                                           (size_t)(size - *got));
    if (count == -ECANCELED)
      return dtr_error_set(error, DTR_STATUS_STOPPED, "stopped by a signal while reading %s",
                           stream->path);
    if (count < 0)
      return dtr_error_system(error, DTR_STATUS_IO, (int)count, "cannot read %s", stream->path);
    if (count == 0)
      break;
    *got += count;
    stream->taken += count;
  }
  return true;
}

static bool chunk_fill(struct dtr_stream *stream, struct dtr_error *error) {
  int64_t got;
  if (!file_read(stream, stream->chunk, sizeof stream->chunk, &got, error))
    return false;
  stream->zlib.next_in = stream->chunk;
  stream->zlib.avail_in = (uInt)got;
  return true;
}

static bool name_is_gzip(const char *path) {
  size_t length = strlen(path);
  return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

/* Gzip data is known by its first bytes; a name that promises it must keep the promise. */
static bool gzip_detect(struct dtr_stream *stream, struct dtr_error *error) {
  if (!chunk_fill(stream, error))
    return false;
  const unsigned char *chunk = stream->chunk;
  stream->gzip = stream->zlib.avail_in >= 2 && chunk[0] == 0x1f && chunk[1] == 0x8b;
  if (!stream->gzip && name_is_gzip(stream->path))
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: not gzip data, though its name ends in .gz",
                         stream->path);
  if (stream->gzip && inflateInit2(&stream->zlib, 15 + 16) != Z_OK)
    return dtr_error_memory(error, CHUNK_BYTES, stream->path);
  return true;
}

static bool stream_start(struct dtr_stream *stream, struct dtr_error *error) {
  const struct dtr_env *env = stream->env;
  stream->file = env->file_open(env->context, stream->path, DTR_FILE_READ);
  if (stream->file < 0)
    return dtr_error_system(error, DTR_STATUS_IO, stream->file, "cannot open %s", stream->path);
  struct dtr_file_info info;
  int result = env->file_info(env->context, stream->file, &info);
  if (result == 0 && info.is_directory)
    result = -EISDIR;
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "cannot read %s", stream->path);
  if (!info.is_regular) /* its size, which headers are checked against, is not known */
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: a pipe or a device, not a file",
                         stream->path);
  stream->file_size = info.size;
  return gzip_detect(stream, error);
}

bool dtr_stream_open(const struct dtr_env *env, const char *path, struct dtr_stream **stream,
                     struct dtr_error *error) {
  struct dtr_stream *opened = calloc(1, sizeof *opened);
  if (!opened)
    return dtr_error_memory(error, sizeof *opened, path);
  opened->env = env;
  opened->path = path;
  opened->file = -1;
  if (!stream_start(opened, error)) {
    dtr_stream_close(opened);
    return false;
  }
  *stream = opened;
  return true;
}

bool dtr_stream_open_member(const struct dtr_env *env, const char *path, const char *name,
                            struct dtr_stream **stream, struct dtr_error *error) {
  struct dtr_stream *opened = calloc(1, sizeof *opened);
  size_t room = strlen(path) + strlen(name) + 3;
  if (opened)
    opened->member_path = malloc(room);
  if (!opened || !opened->member_path) {
    free(opened);
    return dtr_error_memory(error, sizeof *opened, path);
  }
  snprintf(opened->member_path, room, "%s: %s", path, name);
  opened->env = env;
  opened->path = opened->member_path;
  opened->file = -1;
  if (dtr_zip_open(env, path, name, &opened->zip, error)) {
    *stream = opened;
    return true;
  }
  dtr_stream_close(opened);
  return false;
}

void dtr_stream_close(struct dtr_stream *stream) {
  if (!stream)
    return;
  dtr_zip_close(stream->zip);
  free(stream->member_path);
  if (stream->gzip)
    inflateEnd(&stream->zlib);
  if (stream->file >= 0)
    stream->env->file_close(stream->env->context, stream->file);
  free(stream);
}

/* A member has ended: another one may follow, or the file ends. */
static bool member_next(struct dtr_stream *stream, struct dtr_error *error) {
  z_stream *zlib = &stream->zlib;
  if (zlib->avail_in == 0 && !chunk_fill(stream, error))
    return false;
  if (zlib->avail_in == 0) {
    stream->gzip_done = true;
    return true;
  }
  if (zlib->next_in[0] != 0x1f)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: something follows the gzip data",
                         stream->path);
  inflateReset(zlib);
  return true;
}

static bool inflate_once(struct dtr_stream *stream, struct dtr_error *error) {
  z_stream *zlib = &stream->zlib;
  if (zlib->avail_in == 0 && !chunk_fill(stream, error))
    return false;
  if (zlib->avail_in == 0)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: truncated: the gzip data ends in the middle",
                         stream->path);
  int result = inflate(zlib, Z_NO_FLUSH);
  if (result == Z_STREAM_END)
    return member_next(stream, error);
  if (result == Z_MEM_ERROR)
    return dtr_error_memory(error, CHUNK_BYTES, stream->path);
  if (result != Z_OK && result != Z_BUF_ERROR)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: damaged gzip data: %s", stream->path,
                         zlib->msg ? zlib->msg : "it needs a dictionary");
  return true;
}

static bool gzip_read(struct dtr_stream *stream, void *bytes, int64_t size, int64_t *got,
                      struct dtr_error *error) {
  z_stream *zlib = &stream->zlib;
  *got = 0;
  while (*got < size && !stream->gzip_done) {
    uInt piece = (uInt)(size - *got < PIECE_LIMIT ? size - *got : PIECE_LIMIT);
    zlib->next_out = (Bytef *)bytes + *got;
    zlib->avail_out = piece;
    if (!inflate_once(stream, error))
      return false;
    *got += piece - zlib->avail_out;
  }
  return true;
}

static bool plain_read(struct dtr_stream *stream, void *bytes, int64_t size, int64_t *got,
                       struct dtr_error *error) {
  z_stream *ahead = &stream->zlib; /* what was read to look for gzip data */
  int64_t first = size < ahead->avail_in ? size : ahead->avail_in;
  memcpy(bytes, ahead->next_in, (size_t)first);
  ahead->next_in += first;
  ahead->avail_in -= (uInt)first;
  if (!file_read(stream, (char *)bytes + first, size - first, got, error))
    return false;
  *got += first;
  return true;
}

bool dtr_stream_read(struct dtr_stream *stream, void *bytes, int64_t size, int64_t *got,
                     struct dtr_error *error) {
  bool done = stream->zip    ? dtr_zip_read(stream->zip, bytes, size, got, error)
              : stream->gzip ? gzip_read(stream, bytes, size, got, error)
                             : plain_read(stream, bytes, size, got, error);
  if (done)
    stream->delivered += *got;
  return done;
}

bool dtr_stream_end(struct dtr_stream *stream, struct dtr_error *error) {
  char byte;
  int64_t got, before = stream->delivered;
  if (!dtr_stream_read(stream, &byte, 1, &got, error))
    return false;
  if (got > 0)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: something follows the data, which ends after %" PRId64 " bytes",
                         stream->path, before);
  return true;
}

int64_t dtr_stream_available(const struct dtr_stream *stream) {
  int64_t whole = stream->zip ? dtr_zip_size(stream->zip) : stream->file_size;
  if (!stream->gzip)
    return whole > stream->delivered ? whole - stream->delivered : 0;
  int64_t most;
  if (__builtin_mul_overflow(stream->file_size, DTR_DEFLATE_RATIO, &most))
    return INT64_MAX;
  return most;
}

bool dtr_stream_is_gzip(const struct dtr_stream *stream) {
  return stream->gzip;
}

const char *dtr_stream_path(const struct dtr_stream *stream) {
  return stream->path;
}

bool dtr_stream_load(struct dtr_stream *stream, char **bytes, int64_t *size,
                     struct dtr_error *error) {
  int64_t capacity = stream->gzip ? CHUNK_BYTES : dtr_stream_available(stream), used = 0;
  char *text = NULL;
  for (;;) {
    char *grown = realloc(text, (size_t)capacity + 1);
    int64_t got;
    if (!grown) {
      free(text);
      return dtr_error_memory(error, capacity, stream->path);
    }
    text = grown;
    if (!dtr_stream_read(stream, text + used, capacity - used, &got, error)) {
      free(text);
      return false;
    }
    used += got;
    if (used < capacity || !stream->gzip)
      break;
    capacity *= 2;
  }
  text[used] = 0;
  *bytes = text;
  *size = used;
  return true;
}
