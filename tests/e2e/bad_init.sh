#!/usr/bin/env bash
# Files that --init cannot take: damaged, of another format, of another model.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"
"$dtgc" "$models/mlp.dtg" -o out >/dev/null
sed 's/fc2: /fc3: /' "$models/mlp.dtg" >renamed.dtg
"$dtgc" renamed.dtg -o out >/dev/null
"$dtgc" -D width=40 "$models/mlp.dtg" -o narrow >/dev/null

says out/mlp --quiet --steps 3 --save saved <<'END'
END
# Tensors.
refused 1 out/renamed --init saved <<'END'
layers.dtg:LINE: error: saved: there is no tensor "fc3.b" (f32[7] in the model)
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
refused 1 narrow/mlp --init saved <<'END'
layers.dtg:LINE: error: saved: tensor "fc1.b" is f32[48] in the file and f32[40] in the model
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END

# Damaged files.
head -c 5 saved >cut && refused 1 out/mlp --init cut <<'END'
error: cut: not a safetensors file: it has 5 bytes
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
head -c 100 saved >cut && refused 1 out/mlp --init cut <<'END'
error: cut: truncated: 100 bytes, the header alone has 1448
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
head -c -1 saved >cut && refused 1 out/mlp --init cut <<'END'
error: cut: truncated: 21931 bytes of 21932
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
{ cat saved && printf 'more'; } >longer && refused 1 out/mlp --init longer <<'END'
error: longer: 4 bytes follow the last tensor
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END

# Other files.
: >empty && refused 1 out/mlp --init empty <<'END'
error: empty: not a safetensors file: it has 0 bytes
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
printf '\377\377\377\377\377\377\377\177{}' >absurd && refused 1 out/mlp --init absurd <<'END'
error: absurd: not a safetensors file: its header would have 9223372036854775807 bytes
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
printf '\0\0\0\40\0\0\0\0{}' >large && refused 1 out/mlp --init large <<'END'
error: large: not a safetensors file: its header would have 536870912 bytes
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
printf '\2\0\0\0\0\0\0\0{]' >json && refused 1 out/mlp --init json <<'END'
error: json: the header is not JSON: byte 2: string or '}' expected near ']'
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
printf '\2\0\0\0\0\0\0\0[]' >list && refused 1 out/mlp --init list <<'END'
error: list: the header is not a JSON object
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
printf '\2\0\0\0\0\0\0\0{}' >none && refused 1 out/mlp --init none <<'END'
layers.dtg:LINE: error: none: there is no tensor "fc1.b" (f32[48] in the model)
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
entry='{"w":{"dtype":"F32","shape":[9223372036854775807,2],"data_offsets":[0,8]}}'
printf '\112\0\0\0\0\0\0\0%s12345678' "$entry" >shape && refused 1 out/mlp --init shape <<'END'
error: shape: tensor "w": its shape is too large
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
entry='{"w":{"dtype":"F32","shape":[2],"data_offsets":[8,9223372036854775807]}}'
printf '\110\0\0\0\0\0\0\0%s12345678' "$entry" >range && refused 1 out/mlp --init range <<'END'
error: range: tensor "w": f32 of shape [2] needs 8 bytes, its range has 9223372036854775799
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
refused 1 out/mlp --init nowhere <<'END'
error: cannot open nowhere: No such file or directory
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
refused 1 out/mlp --init . <<'END'
error: .: Is a directory
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
mkfifo pipe && refused 1 out/mlp --init pipe <<'END'
error: pipe: a pipe or a device, not a file
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END
refused 1 out/mlp --init /dev/zero <<'END'
error: /dev/zero: a pipe or a device, not a file
  hint: --init takes a safetensors file, such as --save writes, with every parameter of the model
END

# More tensors than the model has are remarked upon, also when quiet.
sed 's/|> norm: layer_norm() //; s/, layer_norm//' "$models/mlp.dtg" >plain.dtg
"$dtgc" plain.dtg -o out >/dev/null
says out/plain --quiet --steps 3 --init saved <<'END'
warning: saved: 6 tensors are not in the model ("norm.b" is the first); they are not used
END

# The same file may be read and written: it is replaced at the end only.
cp saved both
says out/mlp --quiet --steps 3 --init both --save both <<'END'
END
says out/mlp --quiet --steps 3 --init saved --save other <<'END'
END
same both other
