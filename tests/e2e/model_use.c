/* A program that uses a model as a library: usage: model_use PARAMETERS ROWS OUTPUT. Writes the
 * output `same`, then `score`, of the rows (6 bytes each), computed twice: aligned, and one byte
 * off. */
#include <dtg_model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void expect(const struct dtg_model *model, const char *text) {
  if (strcmp(dtg_model_message(model), text) == 0)
    return;
  fprintf(stderr, "expected: %s\nmessage: %s\n", text, dtg_model_message(model));
  exit(1);
}

static char *read_all(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  check(file != NULL, path);
  char *bytes = malloc(1 << 20);
  *size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static void check_tables(const struct dtg_model *model) {
  size_t inputs, outputs;
  const struct dtg_model_tensor *input = dtg_model_inputs(model, &inputs);
  const struct dtg_model_tensor *output = dtg_model_outputs(model, &outputs);
  check(inputs == 3 && strcmp(input[0].name, "text") == 0 && input[0].type == DTG_MODEL_U8 &&
            input[0].rank == 1 && input[0].dims[0] == 6 && input[0].example_bytes == 6 &&
            input[0].needed && input[1].needed && !input[2].needed,
        "other inputs");
  check(outputs == 4, "other outputs");
  check(strcmp(output[0].name, "same") == 0 && output[0].example_bytes == 6 &&
            strcmp(output[1].name, "score") == 0 && output[1].type == DTG_MODEL_F32 &&
            output[1].dims[0] == 3 && output[2].rank == 0 && output[2].type == DTG_MODEL_I64,
        "other tables of outputs");
}

static void check_errors(struct dtg_model *model, const char *rows, size_t count) {
  char message[DTG_MODEL_MESSAGE];
  check(!dtg_model_load("nothing.safetensors", 1, message, sizeof message), "loaded nothing");
  check(strcmp(message, "error: cannot open nothing.safetensors: No such file or directory") == 0,
        message);
  check(!dtg_model_load(NULL, -1, message, sizeof message), "started no threads");
  check(strcmp(message, "error: -1 threads: 0 to 1024 are possible") == 0, message);
  check(!dtg_model_fetch(model, "score"), "fetched before a run");
  expect(model, "error: the output score is fetched before a run");
  check(!dtg_model_feed(model, "txt", rows, count), "fed what there is not");
  expect(model, "error: the model predict has no input \"txt\"\n  hint: did you mean \"text\"?");
  check(!dtg_model_fetch(model, "total"), "fetched an output without a value for each example");
  expect(model, "error: the model predict has no output \"total\"");
  check(!dtg_model_feed(model, "text", rows, 0), "fed nothing");
  expect(model, "error: the input text is fed 0 examples");
  check(!dtg_model_run(model), "ran without inputs");
  expect(model, "error: the input text has not been fed\n"
                "  hint: call dtg_model_feed for every input that is needed");
}

/* A value that is none of the table's rows; then the outputs of the run before are still there. */
static void check_range(struct dtg_model *model, uint8_t *ids, size_t count) {
  const char *before = dtg_model_fetch(model, "score");
  uint8_t kept = ids[count - 1];
  ids[count - 1] = 200;
  check(!dtg_model_run(model), "took an id that is too large");
  char expected[256];
  snprintf(expected, sizeof expected, "error: id 200 of example %zu is out of range 0..9",
           count - 1);
  check(strstr(dtg_model_message(model), expected + 7) != NULL, dtg_model_message(model));
  check(dtg_model_fetch(model, "score") == before, "a failed run changed the outputs");
  ids[count - 1] = kept;
}

int main(int argc, char **argv) {
  char message[DTG_MODEL_MESSAGE] = "";
  size_t size;
  check(argc == 4, "usage: model_use PARAMETERS ROWS OUTPUT");
  char *rows = read_all(argv[2], &size);
  size_t count = size / 6;
  uint8_t *ids = malloc(count);
  for (size_t i = 0; i < count; i++)
    ids[i] = (uint8_t)(i % 10);
  struct dtg_model *model = dtg_model_load(argv[1], 2, message, sizeof message);
  check(model != NULL, message);
  check(strcmp(dtg_model_message(model), "") == 0, "a message at the start");
  check_tables(model);
  check_errors(model, rows, count);
  check(dtg_model_feed(model, "text", rows, count) && dtg_model_feed(model, "id", ids, count - 1),
        dtg_model_message(model));
  check(!dtg_model_run(model), "ran with inputs of two lengths");
  check(dtg_model_feed(model, "id", ids, count) && dtg_model_run(model), dtg_model_message(model));
  FILE *file = fopen(argv[3], "wb");
  check(file != NULL, argv[3]);
  fwrite(dtg_model_fetch(model, "same"), 6, count, file);
  fwrite(dtg_model_fetch(model, "score"), 12, count, file);
  check(fclose(file) == 0, "cannot write");
  check_range(model, ids, count);
  float *scores = malloc(12 * count);
  memcpy(scores, dtg_model_fetch(model, "score"), 12 * count);
  char *moved = malloc(size + 1);
  memcpy(moved + 1, rows, size);
  check(dtg_model_feed(model, "text", moved + 1, count) && dtg_model_run(model),
        dtg_model_message(model));
  check(memcmp(scores, dtg_model_fetch(model, "score"), 12 * count) == 0,
        "other values where rows are not aligned");
  dtg_model_close(model);
  dtg_model_close(NULL);
  free(moved);
  free(scores);
  free(rows);
  free(ids);
  return 0;
}
