#include "compiler/replicate/pattern.h"

#include <stddef.h>
#include <string.h>

// `rest` continues the match behind an alternative of a brace group.
struct continuation {
  const char *pattern;
  const struct continuation *next;
};

static bool match(const char *pattern, const char *path, const struct continuation *rest);

// The end of the alternative that starts at `p`: at `,` or `}` of its own level.
static const char *alternative_end(const char *p) {
  for (int depth = 0; *p; p++) {
    if (*p == '{')
      depth++;
    if (depth == 0 && (*p == ',' || *p == '}'))
      return p;
    if (*p == '}')
      depth--;
  }
  return p;
}

static bool match_range(const char *begin, const char *end, const char *path,
                        const struct continuation *rest) {
  char text[256];
  size_t length = (size_t)(end - begin);
  if (length >= sizeof text)
    return false;
  memcpy(text, begin, length);
  text[length] = '\0';
  return match(text, path, rest);
}

static bool match_group(const char *pattern, const char *path, const struct continuation *rest) {
  const char *close = pattern + 1;
  for (; (close = alternative_end(close)), *close == ','; close++)
    continue;
  struct continuation after = {*close ? close + 1 : close, rest};
  for (const char *begin = pattern + 1;;) {
    const char *end = alternative_end(begin);
    if (match_range(begin, end, path, &after))
      return true;
    if (*end != ',')
      return false;
    begin = end + 1;
  }
}

static bool match(const char *pattern, const char *path, const struct continuation *rest) {
  for (;; pattern++, path++) {
    if (*pattern == '\0') {
      if (!rest)
        return *path == '\0';
      return match(rest->pattern, path, rest->next);
    }
    if (*pattern == '{')
      return match_group(pattern, path, rest);
    if (*pattern == '*') {
      bool crosses = pattern[1] == '*';
      pattern += crosses ? 2 : 1;
      for (;; path++) {
        if (match(pattern, path, rest))
          return true;
        if (*path == '\0' || (!crosses && *path == '.'))
          return false;
      }
    }
    if (*path == '\0' || (*pattern == '?' ? *path == '.' : *pattern != *path))
      return false;
  }
}

bool dtg_pattern_match(const char *pattern, const char *path) {
  return match(pattern, path, NULL);
}
