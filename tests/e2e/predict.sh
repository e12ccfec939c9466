#!/usr/bin/env bash
# --predict: every example exactly once, the same bits for every number of threads, for every strategy,
# and from --save or a checkpoint; and the same from a plain C program with the model as a library.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"
cp "$models/predict.dtg" .
"$dtgc" -q predict.dtg --library -o one >/dev/null
"$dtgc" -q predict.dtg --strategy between --cluster ps=1,worker=2 -o four >/dev/null

# 53 rows: 6 chunks of 8, and 5 alone.
head -c 318 "$DTG_SOURCE_DIR/tests/e2e/predict.sh" >rows
one/predict --quiet --save m.safetensors --checkpoint-dir kept >/dev/null

# tensors FILE: its bytes without the header.
tensors() {
  local length
  length=$(od -An -tu8 -N8 "$1")
  tail -c +$((length + 9)) "$1"
}
header() { tail -c +9 "$1" | head -c "$(od -An -tu8 -N8 "$1")"; }

says one/predict --predict unlabelled -o p1 --init m.safetensors --threads 1 <<'END'
predict.dtg:16:3: warning: the output total has no value for each example; it is left out
END
printf '%s\n' 'unlabelled: 53 examples: same u8[53, 6] score f32[53, 3] class i64[53] mixed f32[53, 3, 6]' |
  diff - stdout || fail "another result line"
for threads in 2 3; do
  one/predict --quiet --predict unlabelled --output p$threads --init m.safetensors --threads $threads >/dev/null
  same p1 p$threads
done
four/predict --quiet --predict unlabelled -o p4 --init m.safetensors >/dev/null
one/predict --quiet --predict unlabelled -o p5 --resume --checkpoint-dir kept >/dev/null
same p1 p4 p5
[ "$(header p1 | grep -o '"[a-z]*":{' | tr -d '\n')" = '"class":{"mixed":{"same":{"score":{' ] ||
  fail "other tensors: $(header p1)"
# The order of the file: class, mixed, same, score.
tensors p1 | tail -c +$((53 * 8 + 53 * 72 + 1)) | head -c 318 | cmp - rows || fail "rows are not where they were"
one/predict --quiet --predict part -o p6 --init m.safetensors >/dev/null
tensors p6 | tail -c $((20 * 12)) | cmp - <(tensors p1 | tail -c $((43 * 12)) | head -c $((20 * 12))) ||
  fail "part of a set has other values"

# The program with a library: its ids are 0 to 9 in turn.
read -r libraries <"$(dirname "$dtgc")/../share/dtg/libraries"
sanitizers=$(grep -oE -- '-f[^ ]*sanitize[^ ]*' <<<"$libraries" || true)
# shellcheck disable=SC2086
cc -std=c11 -Wall -Wextra -Werror $sanitizers -I "$(dirname "$dtgc")/../share/dtg/include" \
  "$source/tests/e2e/model_use.c" -o use -L one -l predict -Wl,-rpath,one
./use m.safetensors rows from_library
head -c 318 from_library | cmp - rows || fail "the library moves rows"
# What it exports.
nm -D --defined-only one/libpredict.so | cut -d ' ' -f 3 | grep -v '^dtg_model_' >names || true
[ ! -s names ] || fail "the library exports $(head -n 3 names | tr '\n' ' ')"

# The same ids from a file: the bits of the program are those of the library.
ids() { for i in $(seq 0 52); do printf "\\$(printf %o $((i % 10)))"; done; }
text='{"id":{"dtype":"U8","shape":[53],"data_offsets":[0,53]},"text":{"dtype":"U8","shape":[53,6],"data_offsets":[53,371]}}'
{
  printf "\\$(printf %o ${#text})\0\0\0\0\0\0\0%s" "$text"
  ids && cat rows
} >rows.safetensors
one/predict --quiet --predict rows.safetensors -o p7 --init m.safetensors >/dev/null
tail -c +319 from_library | cmp - <(tensors p7 | tail -c $((53 * 12))) || fail "the library has other bits"

# Bad input.
refused 2 one/predict --predict unlabeled -o p --init m.safetensors --quiet <<'END'
error: --predict "unlabeled": no data set of predict.dtg, and no file that ends in .npz, .safetensors, .csv or .npy
  hint: did you mean unlabelled? The data sets are train_set, unlabelled, part
END
refused 2 one/predict --predict rows.npy -o p --init m.safetensors --quiet <<'END'
error: --predict rows.npy: it has one column, the model needs 2
  hint: put them under their names into one .npz or .safetensors file
END
refused 1 one/predict --predict none.npz -o p --init m.safetensors --quiet <<'END'
error: none.npz: there is no such data file
  hint: looked in ., SCRATCH/home/.local/share/datasets and the folders in it, /usr/local/share/datasets and the folders in it, /usr/share/datasets and the folders in it; --data-dir names another folder
END
refused 1 one/predict --predict rows.safetensors -o nowhere/p --init m.safetensors --quiet <<'END'
error: --output nowhere/p: there is no folder nowhere
  hint: make the folder first
END
{ head -c $((8 + ${#text} + 3)) rows.safetensors && printf d && tail -c +$((8 + ${#text} + 5)) rows.safetensors; } >bad.safetensors
refused 1 one/predict --predict bad.safetensors -o p --init m.safetensors --quiet <<'END'
predict.dtg:7:31: error: id 100 of example 3 of bad.safetensors is out of range 0..9
  hint: layers.dtg:LINE takes it as an index: correct the data, or make the model's size fit its values
END
[ ! -e p ] || fail "a failed prediction leaves a file"
