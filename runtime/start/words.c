#include "runtime/start/words.h"

#include <errno.h>
#include <stdlib.h>

const char *dtr_variable(const struct dtr_env *env, const char *name) {
  const char *value = env->variable(env->context, name);
  return value && value[0] ? value : NULL;
}

bool dtr_parse_number(const char *text, int64_t *number) {
  char *end;
  if (text[0] < '0' || text[0] > '9')
    return false;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (errno != 0 || *end != '\0')
    return false;
  *number = value;
  return true;
}
