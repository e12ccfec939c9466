#include "runtime/data/zip.h"

#include "runtime/data/stream.h"
#include "runtime/nearest.h"

#include <inttypes.h>
#include <minizip/unzip.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBER_NAME = 256, PIECE_LIMIT = 1 << 30 };

struct dtr_zip {
  const struct dtr_env *env;
  const char *path;
  int file;
  int problem; /* of the last read that failed: a negative errno */
  int64_t file_size, at, size;
  bool member_open;
  unzFile archive;
};

/* ---- the archive's bytes, by way of the environment ---- */

static voidpf bytes_open(voidpf opaque, const void *name, int mode) {
  (void)name;
  (void)mode;
  return opaque;
}

static int bytes_close(voidpf opaque, voidpf stream) {
  (void)opaque;
  (void)stream;
  return 0;
}

static uLong bytes_read(voidpf opaque, voidpf stream, void *bytes, uLong size) {
  (void)stream;
  struct dtr_zip *zip = opaque;
  uLong got = 0;
  while (got < size) {
    int64_t count = zip->env->file_pread(zip->env->context, zip->file, (char *)bytes + got,
                                         size - got, zip->at);
    if (count < 0)
      zip->problem = (int)count;
    if (count <= 0)
      break;
    got += (uLong)count;
    zip->at += count;
  }
  return got;
}

static ZPOS64_T bytes_tell(voidpf opaque, voidpf stream) {
  (void)stream;
  return (ZPOS64_T)((struct dtr_zip *)opaque)->at;
}

static long bytes_seek(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin) {
  (void)stream;
  struct dtr_zip *zip = opaque;
  int64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? zip->at
                 : origin == ZLIB_FILEFUNC_SEEK_END ? zip->file_size
                                                    : 0;
  if (offset > (ZPOS64_T)(zip->file_size - base))
    return -1;
  zip->at = base + (int64_t)offset;
  return 0;
}

static int bytes_problem(voidpf opaque, voidpf stream) {
  (void)stream;
  return ((struct dtr_zip *)opaque)->problem;
}

static unzFile archive_open(struct dtr_zip *zip) {
  zlib_filefunc64_def functions = {.zopen64_file = bytes_open,
                                   .zread_file = bytes_read,
                                   .ztell64_file = bytes_tell,
                                   .zseek64_file = bytes_seek,
                                   .zclose_file = bytes_close,
                                   .zerror_file = bytes_problem,
                                   .opaque = zip};
  return unzOpen2_64(zip->path, &functions);
}

static bool fail(const struct dtr_zip *zip, const char *what, struct dtr_error *error) {
  if (zip->problem < 0)
    return dtr_error_system(error, DTR_STATUS_IO, zip->problem, "cannot read %s", zip->path);
  return dtr_error_set(error, DTR_STATUS_DATA, "%s: %s", zip->path, what);
}

/* ---- the member ---- */

/* Its name without ".npy", which NumPy leaves out too; false for other members. */
static bool array_name(char *name) {
  size_t length = strlen(name);
  if (length < 4 || strcmp(name + length - 4, ".npy") != 0)
    return false;
  name[length - 4] = 0;
  return true;
}

static bool member_missing(struct dtr_zip *zip, const char *name, struct dtr_error *error) {
  char names[600] = "", member[MEMBER_NAME];
  struct dtr_nearest nearest;
  dtr_nearest_begin(&nearest, name, strlen(name));
  for (int result = unzGoToFirstFile(zip->archive); result == UNZ_OK;
       result = unzGoToNextFile(zip->archive)) {
    size_t used = strlen(names);
    if (unzGetCurrentFileInfo64(zip->archive, NULL, member, sizeof member - 1, NULL, 0, NULL, 0) !=
        UNZ_OK)
      break;
    member[sizeof member - 1] = 0;
    if (!array_name(member))
      continue;
    dtr_nearest_try(&nearest, member);
    if (used + 8 < sizeof names)
      snprintf(names + used, sizeof names - used, "%s\"%.60s\"", used ? ", " : "", member);
  }
  dtr_error_set(error, DTR_STATUS_DATA, "%s: there is no array \"%s\"", zip->path, name);
  if (nearest.best[0])
    return dtr_error_hint(error, "did you mean \"%s\"? The arrays are %s", nearest.best, names);
  return names[0] ? dtr_error_hint(error, "the arrays are %s", names)
                  : dtr_error_hint(error, "the archive has no arrays");
}

static bool member_check(struct dtr_zip *zip, const char *name, const unz_file_info64 *info,
                         struct dtr_error *error) {
  bool deflated = info->compression_method == Z_DEFLATED;
  if (info->flag & 1)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: the array \"%s\" is encrypted", zip->path,
                         name);
  if (info->compression_method != 0 && !deflated)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: the array \"%s\" is compressed by method %lu, not stored or deflated",
                         zip->path, name, info->compression_method);
  uint64_t packed = info->compressed_size, most;
  if (packed > (uint64_t)zip->file_size)
    return fail(zip, "damaged archive: a member is larger than the file", error);
  most = deflated ? packed * DTR_DEFLATE_RATIO : packed;
  zip->size = (int64_t)(info->uncompressed_size < most ? info->uncompressed_size : most);
  return true;
}

static bool member_open(struct dtr_zip *zip, const char *name, struct dtr_error *error) {
  char member[MEMBER_NAME];
  unz_file_info64 info;
  zip->archive = archive_open(zip);
  if (!zip->archive)
    return fail(zip, "not a zip archive, or a damaged one", error);
  int length = snprintf(member, sizeof member, "%s.npy", name);
  if (length >= (int)sizeof member || unzLocateFile(zip->archive, member, 1) != UNZ_OK)
    return zip->problem < 0 ? fail(zip, "", error) : member_missing(zip, name, error);
  if (unzGetCurrentFileInfo64(zip->archive, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK)
    return fail(zip, "damaged archive", error);
  if (!member_check(zip, name, &info, error))
    return false;
  zip->member_open = unzOpenCurrentFile(zip->archive) == UNZ_OK;
  return zip->member_open ||
         fail(zip, "damaged archive: a member is not where it should be", error);
}

static bool file_open(struct dtr_zip *zip, struct dtr_error *error) {
  const struct dtr_env *env = zip->env;
  struct dtr_file_info info;
  zip->file = env->file_open(env->context, zip->path, DTR_FILE_READ);
  if (zip->file < 0)
    return dtr_error_system(error, DTR_STATUS_IO, zip->file, "cannot open %s", zip->path);
  int result = env->file_info(env->context, zip->file, &info);
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "cannot read %s", zip->path);
  if (!info.is_regular)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: a pipe or a device, not a file", zip->path);
  zip->file_size = info.size;
  return true;
}

bool dtr_zip_open(const struct dtr_env *env, const char *path, const char *name,
                  struct dtr_zip **zip, struct dtr_error *error) {
  struct dtr_zip *opened = calloc(1, sizeof *opened);
  if (!opened)
    return dtr_error_memory(error, sizeof *opened, path);
  *opened = (struct dtr_zip){.env = env, .path = path, .file = -1};
  if (file_open(opened, error) && member_open(opened, name, error)) {
    *zip = opened;
    return true;
  }
  dtr_zip_close(opened);
  return false;
}

void dtr_zip_close(struct dtr_zip *zip) {
  if (!zip)
    return;
  if (zip->member_open)
    unzCloseCurrentFile(zip->archive);
  if (zip->archive)
    unzClose(zip->archive);
  if (zip->file >= 0)
    zip->env->file_close(zip->env->context, zip->file);
  free(zip);
}

int64_t dtr_zip_size(const struct dtr_zip *zip) {
  return zip->size;
}

bool dtr_zip_read(struct dtr_zip *zip, void *bytes, int64_t size, int64_t *got,
                  struct dtr_error *error) {
  *got = 0;
  while (*got < size && zip->member_open) {
    int64_t piece = size - *got < PIECE_LIMIT ? size - *got : PIECE_LIMIT;
    int count = unzReadCurrentFile(zip->archive, (char *)bytes + *got, (unsigned)piece);
    if (count < 0)
      return fail(zip, "damaged archive: its deflate data is wrong", error);
    *got += count;
    if (count > 0)
      continue;
    zip->member_open = false;
    if (unzCloseCurrentFile(zip->archive) != UNZ_OK)
      return fail(zip, "damaged archive: wrong checksum, or a member that ends too early", error);
  }
  return true;
}
