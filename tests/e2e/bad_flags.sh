#!/usr/bin/env bash
# Flags that a built program does not take, and outputs that cannot be written. Such errors come
# before training, not after it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"
"$dtgc" "$models/mlp.dtg" -o out >/dev/null

refused 2 out/mlp --thredas 2 <<'END'
error: unknown flag "--thredas"
  hint: did you mean --threads?
END
refused 2 out/mlp --chekpoint-dir=kept <<'END'
error: unknown flag "--chekpoint-dir=kept"
  hint: did you mean --checkpoint-dir?
END
refused 2 out/mlp --frobnicate <<'END'
error: unknown flag "--frobnicate"
  hint: --help lists the flags
END
refused 2 out/mlp steps <<'END'
error: "steps" is no flag
  hint: flags begin with two dashes; --help lists them
END
refused 2 out/mlp --steps <<'END'
error: --steps needs a value: --steps N
END
refused 2 out/mlp --save --quiet <<'END'
error: --save needs a value: --save FILE
END
refused 2 out/mlp --steps many <<'END'
error: --steps takes a whole number from 0 on, not "many"
  hint: for example --steps 2
END
refused 2 out/mlp --steps 1e3 <<'END'
error: --steps takes a whole number from 0 on, not "1e3"
  hint: for example --steps 2
END
refused 2 out/mlp --steps 99999999999999999999 <<'END'
error: --steps takes a whole number from 0 on, not "99999999999999999999"
  hint: for example --steps 2
END
refused 2 out/mlp --steps -1 <<'END'
error: --steps takes a whole number from 0 on, not "-1"
  hint: for example --steps 2
END
refused 2 out/mlp --threads 0 <<'END'
error: --threads takes a whole number from 1 on, not "0"
  hint: for example --threads 2
END
refused 2 out/mlp --threads 100000 <<'END'
error: --threads 100000: at most 1024
  hint: leave it out to use as many as there are processors
END
refused 2 out/mlp --quiet=yes <<'END'
error: --quiet takes no value
  hint: write --quiet alone, or leave it out
END
refused 2 out/mlp --save a --save b <<'END'
error: --save is given twice
  hint: give it once
END
refused 2 out/mlp --resume <<'END'
error: --resume needs --checkpoint-dir
  hint: say where the checkpoints are: --checkpoint-dir DIR
END
refused 2 out/mlp --resume --checkpoint-dir kept --init saved <<'END'
error: --init and --resume exclude each other
  hint: both say where the first values come from: use one
END
refused 2 out/mlp --eval-only --steps 3 <<'END'
error: --eval-only and --steps exclude each other
  hint: an evaluation always takes the whole data set: leave --steps out
END
refused 2 out/mlp --eval-only --save saved <<'END'
error: --eval-only and --save exclude each other
  hint: an evaluation makes nothing to save: leave --save out
END
refused 2 out/mlp --task worker/0 <<'END'
error: --task: this program has one task
  hint: build it with a strategy and a cluster of several tasks, or leave the flag out
END
refused 2 out/mlp --task worker/0 --local <<'END'
error: --task and --local exclude each other
  hint: one says that this process is one task, the other that it is all of them
END

# Outputs: no folder, no right, a folder, a device.
mkdir closed folder && touch file && chmod 555 closed
refused 1 out/mlp --save nowhere/saved <<'END'
error: --save nowhere/saved: there is no folder nowhere
  hint: make the folder first
END
refused 1 without_rights out/mlp --save closed/saved <<'END'
error: --save closed/saved: cannot write there: Permission denied
  hint: name a file in a folder that you may write to
END
refused 1 out/mlp --save folder <<'END'
error: --save folder: it is a folder
  hint: name a file
END
refused 1 out/mlp --save /dev/null <<'END'
error: --save /dev/null: it is a pipe or a device, not a file
  hint: name a file
END
[ -c /dev/null ] || fail "/dev/null is no device any more"
refused 1 out/mlp --save file/saved <<'END'
error: --save file/saved: there is no folder file
  hint: make the folder first
END
refused 1 out/mlp --checkpoint-dir file <<'END'
error: --checkpoint-dir file: cannot write there: Not a directory
  hint: name a folder that you may write to
END
refused 1 without_rights out/mlp --checkpoint-dir closed <<'END'
error: --checkpoint-dir closed: cannot write there: Permission denied
  hint: name a folder that you may write to
END
refused 1 without_rights out/mlp --checkpoint-dir closed/kept <<'END'
error: --checkpoint-dir closed/kept: cannot write there: Permission denied
  hint: name a folder that you may write to
END
refused 1 out/mlp --log nowhere/log <<'END'
error: nowhere/log cannot be written: No such file or directory
  hint: --log names a file that you may write to
END
refused 1 out/mlp --log folder <<'END'
error: folder cannot be written: Is a directory
  hint: --log names a file that you may write to
END
refused 1 out/mlp --trace nowhere/trace <<'END'
error: nowhere/trace cannot be written: No such file or directory
  hint: --trace names a file that you may write to
END
long=$(printf '%0300d' 0)
refused 1 out/mlp --save "$long" <<'END'
error: --save 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000: cannot write there: File name too long
  hint: name a file in a folder that you may write to
END
refused 1 out/mlp --checkpoint-dir "$long" <<'END'
error: --checkpoint-dir 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000: cannot write there: File name too long
  hint: name a folder that you may write to
END

# A disk that is full when the log is written, or the results.
refused 1 out/mlp --quiet --steps 3 --log /dev/full <<'END'
error: /dev/full cannot be written: No space left on device
  hint: all else is done; --log and --trace need room to write
END
full() { "$@" >/dev/full; }
refused 1 full out/mlp --quiet --steps 3 <<'END'
error: cannot write the results to the standard output: No space left on device
  hint: all else is done; --log FILE writes results, too
END

# Names that are no UTF-8 are as good as any.
odd=$'\377\376 \001'
mkdir "$odd"
says out/mlp --quiet --steps 3 --save "$odd/saved" --checkpoint-dir "$odd/kept" --log "$odd/log" <<'END'
END
[ -s "$odd/saved" ] && [ -s "$odd/log" ] && [ -s "$odd/kept/step-000000000003.safetensors" ] ||
  fail "odd names do not work"
refused 1 out/mlp --init "$odd/none" <<'END'
error: cannot open \xff\xfe \x01/none: No such file or directory
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
