#include "runtime/control/secret.h"

#include <errno.h>
#include <sodium.h>

static bool is_usable(const struct dtr_file_info *info, const char *path, struct dtr_error *error) {
  if (!info->is_regular || info->size < DTR_SECRET_LEAST || info->size > DTR_SECRET_MOST) {
    dtr_error_set(error, DTR_STATUS_CONFIG, "--secret-file %s is no file of %d to %d bytes", path,
                  DTR_SECRET_LEAST, DTR_SECRET_MOST);
    return dtr_error_hint(error, "make one: head -c 32 /dev/urandom > %s; chmod 600 %s", path,
                          path);
  }
  if (info->mode & 077) {
    dtr_error_set(error, DTR_STATUS_CONFIG, "--secret-file %s can be read by others (mode %03o)",
                  path, info->mode & 0777);
    return dtr_error_hint(error, "chmod 600 %s, and make another secret if it was seen", path);
  }
  return true;
}

bool dtr_secret_read(const struct dtr_env *env, const char *path, unsigned char *secret,
                     struct dtr_error *error) {
  unsigned char bytes[DTR_SECRET_MOST];
  struct dtr_file_info info;
  int file = env->file_open(env->context, path, DTR_FILE_READ), result = file;
  if (file >= 0)
    result = env->file_info(env->context, file, &info);
  bool good = result >= 0 && is_usable(&info, path, error);
  if (good)
    result = dtr_env_pread_all(env, file, bytes, (size_t)info.size, 0);
  if (file >= 0)
    env->file_close(env->context, file);
  if (result < 0) {
    dtr_error_system(error, DTR_STATUS_CONFIG, result, "--secret-file %s cannot be read", path);
    return dtr_error_hint(error, "every task of a run needs the same secret");
  }
  if (good)
    crypto_generichash(secret, DTR_SECRET_BYTES, bytes, (size_t)info.size, NULL, 0);
  sodium_memzero(bytes, sizeof bytes);
  return good;
}

void dtr_secret_forget(unsigned char *secret) {
  sodium_memzero(secret, DTR_SECRET_BYTES);
}
