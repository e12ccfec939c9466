/* Damaged models: pieces of valid and invalid files are deleted, repeated, swapped and replaced,
 * and whatever comes out must give either graphs that verify or errors; never a bug or a crash. The
 * seed is printed; give another one, and a number of models, as arguments. */
#include "tests/unit/build/model_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 128, MOST_PIECES = 4096 };

static uint64_t seed = 1;
static int rounds = 300;

struct corpus {
  struct dtg_arena arena;
  uint32_t count;
  const char *files[MOST_FILES];
  uint64_t random; /* state of splitmix64 */
};

static uint64_t draw(struct corpus *corpus, uint64_t limit) {
  uint64_t z = corpus->random += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return (z ^ z >> 31) % limit;
}

static const char *read_file(struct corpus *corpus, const char *path) {
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  char *text = dtg_alloc(&corpus->arena, 1 << 16);
  size_t size = fread(text, 1, (1 << 16) - 1, stream);
  text[size] = '\0';
  fclose(stream);
  return text;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_folder(struct corpus *corpus, const char *folder) {
  struct dirent **entries;
  char path[8192];
  const char *root = getenv("DTG_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/%s", root ? root : ".", folder);
  int count = scandir(path, &entries, NULL, by_name);
  assert_true(count > 0);
  size_t length = strlen(path);
  for (int i = 0; i < count; i++) {
    size_t name = strlen(entries[i]->d_name);
    snprintf(path + length, sizeof path - length, "/%s", entries[i]->d_name);
    if (name > 4 && strcmp(entries[i]->d_name + name - 4, ".dtg") == 0) {
      assert_true(corpus->count < MOST_FILES);
      corpus->files[corpus->count++] = read_file(corpus, path);
    }
    free(entries[i]);
  }
  free(entries);
}

/* Words, numbers, single characters, and runs of blanks. */
static size_t piece_length(const char *text) {
  size_t length = 1;
  bool word = isalnum((unsigned char)text[0]) || text[0] == '_';
  while (word && (isalnum((unsigned char)text[length]) || text[length] == '_'))
    length++;
  while (text[0] == ' ' && text[length] == ' ')
    length++;
  return length;
}

struct pieces {
  size_t count;
  struct piece {
    const char *text;
    size_t length;
  } list[MOST_PIECES];
};

static void cut(const char *text, struct pieces *out) {
  out->count = 0;
  while (*text && out->count < MOST_PIECES - 64) {
    size_t length = piece_length(text);
    out->list[out->count++] = (struct piece){text, length};
    text += length;
  }
}

static const char *random_word(struct corpus *corpus) {
  static const char *const words[] = {
      "0",        "-1",      "9223372036854775807",
      "1e308",    "x",       "B",
      "[",        "]",       "(",
      ")",        "{",       "}",
      "...",      ",",       "=",
      "->",       "|>",      ":",
      "@",        "**",      "if true then",
      "else",     "not",     "and",
      "f32",      "i64",     "bool",
      "step",     "param",   "grad",
      "dense",    "mean",    "shape",
      "dim",      "sum",     "einsum",
      "training", "softmax", "\"\"",
      "0.0",      "16",      "random",
      "iota",     "full",
  };
  return words[draw(corpus, sizeof words / sizeof *words)];
}

static void mutate(struct corpus *corpus, struct pieces *pieces) {
  size_t at = draw(corpus, pieces->count), other = draw(corpus, pieces->count);
  struct piece piece = pieces->list[at];
  const char *word = random_word(corpus);
  switch (draw(corpus, 5)) {
  case 0: /* delete */
    memmove(pieces->list + at, pieces->list + at + 1,
            (pieces->count - at - 1) * sizeof *pieces->list);
    pieces->count -= pieces->count > 1;
    break;
  case 1: /* swap */
    pieces->list[at] = pieces->list[other];
    pieces->list[other] = piece;
    break;
  case 2: /* repeat another one here */
    pieces->list[at] = pieces->list[other];
    break;
  case 3: /* a word that means something */
    pieces->list[at] = (struct piece){word, strlen(word)};
    break;
  default: /* insert */
    memmove(pieces->list + at + 1, pieces->list + at, (pieces->count - at) * sizeof *pieces->list);
    pieces->list[at] = (struct piece){word, strlen(word)};
    pieces->count++;
    break;
  }
}

static void test_mutations(void **state) {
  (void)state;
  struct corpus corpus = {.random = seed};
  static struct pieces pieces;
  int built = 0, checked = 0;
  add_folder(&corpus, "tests/golden/graph");
  add_folder(&corpus, "tests/golden/model");
  add_folder(&corpus, "tests/diag/build");
  add_folder(&corpus, "tests/diag/sema");
  add_folder(&corpus, "stdlib-models/std");
  add_folder(&corpus, "stdlib-models/models");
  printf("seed %llu, %d models\n", (unsigned long long)seed, rounds);
  for (int i = 0; i < rounds; i++) {
    struct model_text text;
    struct dtg_strbuf source = {0}, rendered = {0};
    cut(corpus.files[draw(&corpus, corpus.count)], &pieces);
    for (uint64_t count = draw(&corpus, 4); pieces.count > 0 && count > 0; count--)
      mutate(&corpus, &pieces);
    for (size_t j = 0; j < pieces.count; j++)
      dtg_strbuf_write(&source, pieces.list[j].text, pieces.list[j].length);
    if (getenv("SHOW"))
      fprintf(stderr, "=== %d\n%s\n", i, dtg_strbuf_text(&source));
    model_text_build(&text, dtg_strbuf_text(&source));
    dtg_diags_render(&text.ctx.diags, &rendered);
    checked += text.model != NULL;
    built += text.module != NULL;
    model_text_close(&text);
    dtg_strbuf_free(&source);
    dtg_strbuf_free(&rendered);
  }
  printf("%d were typed, %d were built\n", checked, built);
  assert_true(built > 0 && built < rounds);
  dtg_arena_free(&corpus.arena);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};
  if (argc > 1)
    seed = strtoull(argv[1], NULL, 10);
  if (argc > 2)
    rounds = atoi(argv[2]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
