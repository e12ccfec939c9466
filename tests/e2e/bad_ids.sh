#!/usr/bin/env bash
# Ids that a table does not have: which id of which example, and how many rows the table has.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"
library=$source/stdlib-models/models

# standard MODEL DEFINE...: builds a model of the standard library as out/MODEL.
standard() {
  cp "$library/$1.dtg" .
  "$dtgc" -q "$1.dtg" -o out "${@:2}" >/dev/null || fail "$1 does not compile"
}

# A byte that is no ASCII, in a text for a vocabulary of 128.
{ head -c 8000 /dev/zero | tr '\0' 'a' && printf '\303\244' && head -c 99 /dev/zero | tr '\0' 'a'; } >text
standard gpt_nano -D text=text -D time=16 -D width=8 -D depth=1 -D heads=2
refused 1 out/gpt_nano --steps 100 --threads 1 <<'END'
gpt_nano.dtg:36:16: error: id 195 of example 1600 of train_set is out of range 0..127 (step 1)
  hint: layers.dtg:LINE takes it as an index: correct the data, or make the model's size fit its values
END

# A film above the table; the user has a check in the same kernel.
awk -v seed=1 -v rows=2000 -f "$source/tests/e2e/ratings.awk" >ratings.csv
printf '3,8000,4.0,0\n' >>ratings.csv
standard wide_deep -D films=8000 -D crosses=50
refused 1 out/wide_deep --data-dir . --threads 1 <<'END'
wide_deep.dtg:19:31: error: id 8000 of example 2000 of held_out is out of range 0..7999
  hint: layers.dtg:LINE takes it as an index: correct the data, or make the model's size fit its values
END
