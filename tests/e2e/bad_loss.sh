#!/usr/bin/env bash
# A loss that is NaN or infinite stops the run: the step, and the first tensor that is not finite.
# Older checkpoints stay as they were and can be resumed. Other .npy files that cannot be used.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"

one='\0\0\200\77' two='\0\0\0\100' minus_one='\0\0\200\277' nan='\0\0\300\177'

# numbers COUNT VALUE
numbers() {
  local i
  for ((i = 0; i < $1; i++)); do printf '%b' "$2"; done
}
# npy TYPE SHAPE: the header.
npy() {
  printf '\223NUMPY\1\0\166\0'
  printf '%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"
}
good() { { npy '<f4' '8, 3' && numbers 24 "$two"; } >x.npy; }

build logs
good
says out/logs --quiet --steps 3 --checkpoint-dir kept <<'END'
END
digest kept/step-000000000003.safetensors >before

# NaN from a logarithm, on the way from a good start.
{ npy '<f4' '8, 3' && numbers 20 "$two" && numbers 1 "$minus_one" && numbers 3 "$two"; } >x.npy
refused 1 out/logs --quiet --checkpoint-dir kept --resume --save saved <<'END'
logs.dtg:8:7: error: the loss is NaN; the first tensor that is not finite is loss, NaN at element 0, made by k0_z (z) (step 4)
  hint: lower the learning rate, clip the gradients, or look for a division, logarithm or root of zero there; the checkpoint of step 3 is in kept
END
[ ! -e saved ] || fail "a failed run saves"
[ "$(ls kept)" = $'step-000000000002.safetensors\nstep-000000000003.safetensors' ] ||
  fail "the checkpoints are $(ls kept)"
digest kept/step-000000000003.safetensors | cmp - before || fail "a checkpoint has changed"
good
says out/logs --quiet --checkpoint-dir kept --resume --steps 5 <<'END'
END

# More data than before the break.
{ npy '<f4' '12, 3' && numbers 36 "$two"; } >x.npy
says out/logs --quiet --checkpoint-dir kept --resume --steps 6 <<'END'
warning: data rows has another size than before: step 5 was in epoch 3, now it is in epoch 2
END

# NaN in the data.
{ npy '<f4' '8, 3' && numbers 4 "$two" && numbers 1 "$nan" && numbers 19 "$two"; } >x.npy
refused 1 out/logs --quiet --threads 1 <<'END'
logs.dtg:6:12: error: the loss is NaN; the first tensor that is not finite is the input x, NaN at element 1 of example 1 (step 1)
  hint: remove the example from the data
END
refused 1 out/logs --quiet --threads 3 <<'END'
logs.dtg:6:12: error: the loss is NaN; the first tensor that is not finite is the input x, NaN at element 1 of example 1 (step 1)
  hint: remove the example from the data
END

# A learning rate that makes everything infinite.
good
"$dtgc" -D rate=100000.0 logs.dtg -o wild >/dev/null
refused 1 wild/logs --quiet --checkpoint-dir wild/kept <<'END'
logs.dtg:8:7: error: the loss is infinite; the first tensor that is not finite is loss, infinite at element 0, made by k0_z (z) (step 6)
  hint: lower the learning rate, clip the gradients, or look for a division, logarithm or root of zero there; the checkpoint of step 5 is in wild/kept
END
refused 1 wild/logs --quiet --checkpoint-dir wild/kept --resume <<'END'
logs.dtg:8:7: error: the loss is infinite; the first tensor that is not finite is loss, infinite at element 0, made by k0_z (z) (step 6)
  hint: lower the learning rate, clip the gradients, or look for a division, logarithm or root of zero there; the checkpoint of step 5 is in wild/kept
END

# A finite loss with a gradient that is not: the spoilt parameters are not saved.
build roots
refused 1 out/roots --quiet --checkpoint-dir spoilt --save saved <<'END'
roots.dtg:5:3: error: the variable w is -infinite at element 0, so nothing is saved: the loss was finite, but the update made it so (step 1)
  hint: lower the learning rate, clip the gradients, or look for a root or logarithm whose slope at zero is infinite
END
refused 1 out/roots --quiet --save saved <<'END'
roots.dtg:5:3: error: the loss is NaN; the first tensor that is not finite is the variable w, -infinite at element 0: an earlier update made it so (step 2)
  hint: lower the learning rate, clip the gradients, or look for a division, logarithm or root of zero there
END
[ ! -e saved ] && [ -z "$(ls spoilt)" ] || fail "spoilt parameters are saved"

# Other data.
{ npy '<f8' '8, 3' && numbers 48 "$one"; } >x.npy
refused 1 out/logs <<'END'
logs.dtg:12:23: error: column x: its values are f64, the input "x" of the model (logs.dtg:6:12) is f32
  hint: declare the input as f64 and cast it in the model, or convert the file: only conversions that lose nothing are made
END
{ npy '<f4' '8, 2' && numbers 16 "$one"; } >x.npy
refused 1 out/logs <<'END'
logs.dtg:12:23: error: column x: an example has shape [2], the input "x" of the model (logs.dtg:6:12) has [3]
  hint: declare the input as [B, 2] and reshape it in the model, or convert the file
END
{ npy '<c8' '8, 3' && numbers 48 "$one"; } >x.npy
refused 1 out/logs <<'END'
logs.dtg:12:23: error: SCRATCH/x.npy: element type "<c8" is not supported
  hint: npy() reads arrays of numbers that NumPy saved: save the array again, or name another file
END
{ npy '<f4' '' && numbers 1 "$one"; } >x.npy
refused 1 out/logs <<'END'
logs.dtg:12:23: error: SCRATCH/x.npy: its shape [] must have 1 to 9 axes, the first of them the examples
  hint: npy() reads arrays of numbers that NumPy saved: save the array again, or name another file
END
{ npy '<f4' '9223372036854775807, 3' && numbers 1 "$one"; } >x.npy
refused 1 out/logs <<'END'
logs.dtg:12:23: error: SCRATCH/x.npy: its shape [9223372036854775807, 3] is too large
  hint: npy() reads arrays of numbers that NumPy saved: save the array again, or name another file
END
{ npy '<f4' '8, 3' && numbers 23 "$one"; } >x.npy
refused 1 out/logs <<'END'
logs.dtg:12:23: error: SCRATCH/x.npy: truncated: f32[8, 3] needs 96 bytes after the header, there are at most 92
  hint: npy() reads arrays of numbers that NumPy saved: save the array again, or name another file
END
npy '<f4' '8, 3' | head -c 60 >x.npy
refused 1 out/logs <<'END'
logs.dtg:12:23: error: SCRATCH/x.npy: truncated in the header
  hint: npy() reads arrays of numbers that NumPy saved: save the array again, or name another file
END
printf '\223NUMPY\1\0\377\377' >x.npy
refused 1 out/logs <<'END'
logs.dtg:12:23: error: SCRATCH/x.npy: truncated in the header
  hint: npy() reads arrays of numbers that NumPy saved: save the array again, or name another file
END
printf 'PK\3\4 an archive' >x.npy
refused 1 out/logs <<'END'
logs.dtg:12:23: error: SCRATCH/x.npy: not an .npy file
  hint: npy() reads arrays of numbers that NumPy saved: save the array again, or name another file
END
