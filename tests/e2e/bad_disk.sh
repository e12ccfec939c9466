#!/usr/bin/env bash
# A disk that is full, or files that may not grow, while a checkpoint or the result is saved: the
# older checkpoint stays, nothing half-written is left, and the run goes on from there to the same
# bits.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"
"$dtgc" "$models/mlp.dtg" -o out >/dev/null
says out/mlp --quiet --steps 60 --checkpoint-dir good --save straight <<'END'
END

# limited COMMAND...: no file grows beyond 8 KiB.
limited() { (ulimit -f 8 && exec "$@"); }
says out/mlp --quiet --steps 40 --checkpoint-dir kept <<'END'
END
refused 1 limited out/mlp --quiet --resume --steps 60 --checkpoint-dir kept --save saved <<'END'
error: cannot write kept/step-000000000060.safetensors: File too large (step 60)
  hint: the checkpoint of step 40 is still there; a checkpoint needs about 20736 bytes
END
[ "$(ls kept)" = $'step-000000000020.safetensors\nstep-000000000040.safetensors' ] ||
  fail "the folder has $(ls kept)"
[ ! -e saved ] || fail "a failed run saves"
same kept/step-000000000040.safetensors good/step-000000000040.safetensors
says out/mlp --quiet --resume --steps 60 --checkpoint-dir kept --save saved <<'END'
END
same straight saved

# The result, with and without a checkpoint to go back to. What was there stays.
echo older >result
refused 1 limited out/mlp --quiet --steps 10 --save result <<'END'
error: cannot write result: File too large
  hint: --save needs about 20736 bytes; --checkpoint-dir DIR would have kept the state
END
[ "$(cat result)" = older ] && [ ! -e result.tmp ] || fail "the older result is lost"
refused 1 limited out/mlp --quiet --resume --steps 60 --checkpoint-dir kept --save result <<'END'
error: cannot write result: File too large
  hint: the checkpoint of step 60 is good: make room, then --checkpoint-dir kept --resume with --save
END
[ "$(cat result)" = older ] && [ ! -e result.tmp ] || fail "the older result is lost"

# A file system with room for two checkpoints, where a test may mount one.
mkdir small
if mount -t tmpfs -o size=64k none small 2>/dev/null; then
  trap 'umount small; chmod -R u+rwx "$scratch"; rm -rf "$scratch"' EXIT
  refused 1 out/mlp --quiet --steps 60 --checkpoint-dir small --save saved <<'END'
error: cannot write small/step-000000000060.safetensors: No space left on device (step 60)
  hint: the checkpoint of step 40 is still there; a checkpoint needs about 20736 bytes
END
  [ "$(ls small)" = $'step-000000000020.safetensors\nstep-000000000040.safetensors' ] ||
    fail "the folder has $(ls small)"
  rm small/step-000000000020.safetensors
  says out/mlp --quiet --resume --steps 60 --checkpoint-dir small --save saved <<'END'
END
  same straight saved
  # So full that not even the log has room.
  head -c 100000 /dev/zero >small/filler 2>/dev/null || :
  refused 1 out/mlp --quiet --steps 10 --log small/log <<'END'
error: small/log cannot be written: No space left on device
  hint: all else is done; --log and --trace need room to write
END
  refused 1 out/mlp --quiet --steps 10 --save small/saved <<'END'
error: cannot write small/saved: No space left on device
  hint: --save needs about 20736 bytes; --checkpoint-dir DIR would have kept the state
END
  [ ! -e small/saved ] && [ ! -e small/saved.tmp ] || fail "half a file is left"
else
  echo "no file system can be mounted here: that part is left out"
fi
