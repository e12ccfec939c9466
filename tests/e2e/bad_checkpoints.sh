#!/usr/bin/env bash
# Checkpoints that are damaged, of another model or not there. A damaged one is named, and the one
# before it is used; what results then has the same bits as a run without a break.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"
"$dtgc" "$models/mlp.dtg" -o out >/dev/null
"$dtgc" -D width=40 "$models/mlp.dtg" -o narrow >/dev/null
sed 's/fc2: /fc3: /' "$models/mlp.dtg" >renamed.dtg
sed 's/seed = 11/seed = 12/' "$models/mlp.dtg" >reseeded.dtg
"$dtgc" renamed.dtg -o out >/dev/null
"$dtgc" reseeded.dtg -o out >/dev/null

says out/mlp --quiet --steps 60 --checkpoint-dir good --save straight <<'END'
END
older=step-000000000040.safetensors newer=step-000000000060.safetensors
fresh() { rm -rf kept && cp -r good kept; }
# spoil FILE: another byte in the middle of the tensors.
spoil() { printf 'x' | dd of="$1" bs=1 seek=20000 conv=notrunc status=none; }

# The newest is cut, or has a wrong byte, or is empty: the one before it.
fresh && head -c -10 "good/$newer" >"kept/$newer"
says out/mlp --quiet --resume --checkpoint-dir kept --steps 60 --save resumed <<'END'
warning: kept/step-000000000060.safetensors: truncated: 22826 bytes of 22836; trying the checkpoint before it
END
same straight resumed
fresh && spoil "kept/$newer"
says out/mlp --quiet --resume --checkpoint-dir kept --steps 60 --save resumed <<'END'
warning: kept/step-000000000060.safetensors: tensor "tok.table": wrong checksum: SUM, written as SUM; trying the checkpoint before it
END
same straight resumed
fresh && sed -i 's/"step":"60"/"step":"61"/' "kept/$newer"
says out/mlp --quiet --resume --checkpoint-dir kept --steps 60 --save resumed <<'END'
warning: kept/step-000000000060.safetensors: wrong checksum of the header: SUM, written as SUM; trying the checkpoint before it
END
same straight resumed
fresh && : >"kept/$newer"
says out/mlp --quiet --resume --checkpoint-dir kept --steps 60 --save resumed <<'END'
warning: kept/step-000000000060.safetensors: not a safetensors file: it has 0 bytes; trying the checkpoint before it
END
same straight resumed
fresh && rm "kept/$newer" && mkdir "kept/$newer"
says out/mlp --quiet --resume --checkpoint-dir kept --steps 50 <<'END'
warning: kept/step-000000000060.safetensors: Is a directory; trying the checkpoint before it
END
# What a crash may leave is no checkpoint.
fresh && mv "kept/$newer" "kept/$newer.tmp" && touch kept/notes.txt kept/step-7.safetensors
says out/mlp --quiet --resume --checkpoint-dir kept --steps 60 --save resumed <<'END'
END
same straight resumed

# None is left.
fresh && spoil "kept/$newer" && spoil "kept/$older"
refused 1 out/mlp --quiet --resume --checkpoint-dir kept <<'END'
warning: kept/step-000000000060.safetensors: tensor "tok.table": wrong checksum: SUM, written as SUM; trying the checkpoint before it
error: kept/step-000000000040.safetensors: tensor "tok.table": wrong checksum: SUM, written as SUM
  hint: no checkpoint in kept is valid: bring back a copy, or start without --resume
END
cmp -s kept/$older good/$older && fail "the test spoils nothing"
fresh && rm kept/*
refused 1 out/mlp --quiet --resume --checkpoint-dir kept <<'END'
error: there is no checkpoint in kept
  hint: start without --resume, or name the folder with --checkpoint-dir
END
refused 1 out/mlp --quiet --resume --checkpoint-dir nowhere <<'END'
error: there is no checkpoint in nowhere
  hint: start without --resume, or name the folder with --checkpoint-dir
END
[ ! -e nowhere ] || fail "a folder to resume from is made"
refused 1 out/mlp --quiet --resume --checkpoint-dir "good/$newer" <<'END'
error: --checkpoint-dir good/step-000000000060.safetensors: cannot write there: Not a directory
  hint: name a folder that you may write to
END

# Of another model: another shape, another name, another seed. Nothing is changed.
refused 1 narrow/mlp --quiet --resume --checkpoint-dir good <<'END'
error: good/step-000000000060.safetensors: from another model: its id is ID, this program's is ID
  hint: tensor "fc1.b" is f32[48] in the file and f32[40] in the model: name the folder of this program's own checkpoints
END
refused 1 out/renamed --quiet --resume --checkpoint-dir good <<'END'
error: good/step-000000000060.safetensors: from another model: its id is ID, this program's is ID
  hint: there is no tensor "fc3.b" (f32[7] in the model): name the folder of this program's own checkpoints
END
refused 1 out/reseeded --quiet --resume --checkpoint-dir good <<'END'
error: good/step-000000000060.safetensors: from another model: its id is ID, this program's is ID
  hint: the tensors are the same; --init takes their values alone
END
cp out/mlp saved # not even safetensors
fresh && mv saved "kept/step-000000000080.safetensors"
says out/mlp --quiet --resume --checkpoint-dir kept --steps 60 --save resumed <<'END'
warning: kept/step-000000000080.safetensors: not a safetensors file: its header would have 282584257676671 bytes; trying the checkpoint before it
END
same straight resumed

# Beyond the last step: nothing to do, which is said.
says out/mlp --quiet --resume --checkpoint-dir good --steps 20 --save early <<'END'
warning: nothing is trained: step 60 is beyond step 20, the last one
END
same straight early
# A fresh run in a folder with checkpoints.
fresh
says out/mlp --quiet --checkpoint-dir kept --steps 20 <<'END'
warning: kept has checkpoints of an earlier run, up to step 60: --resume would go on from there
END
same "kept/$newer" "good/$newer"

# A folder that may be read only.
fresh && chmod 555 kept
refused 1 without_rights out/mlp --quiet --resume --checkpoint-dir kept --steps 80 <<'END'
error: --checkpoint-dir kept: cannot write there: Permission denied
  hint: name a folder that you may write to
END
says without_rights out/mlp --quiet --resume --checkpoint-dir kept --eval-only <<'END'
END
chmod 755 kept
