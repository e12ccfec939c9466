#!/usr/bin/env bash
# What dtgc does to files and streams besides compiling.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# ---- fmt rewrites what a link names, and leaves its rights ----
printf 'const  a=1\n' >messy.dtg
printf 'const a = 1\n' >neat.dtg
mkdir folder
cp messy.dtg folder/target.dtg
chmod 640 folder/target.dtg
ln -s folder/target.dtg link.dtg
"$dtgc" fmt link.dtg
[ -L link.dtg ] || fail "fmt made a file of a link"
same neat.dtg folder/target.dtg
[ "$(stat -c %a folder/target.dtg)" = 640 ] || fail "fmt changed the rights of a file"
[ "$(ls folder)" = target.dtg ] || fail "fmt left something: $(ls folder)"

# ---- -q: errors only ----
printf 'fn f(x, unused) = x\nmodel m(x: f32[B]) { output y = f(x, 1) }\n' >warns.dtg
"$dtgc" check warns.dtg 2>shown
grep -q 'warning: `unused` is never used' shown || fail "no warning: $(cat shown)"
"$dtgc" check -q warns.dtg 2>shown
[ ! -s shown ] || fail "-q shows $(cat shown)"
printf 'model m(x: f32[B], y: f32[B]) { output z = g(x) }\n' >>warns.dtg
if "$dtgc" check -q warns.dtg 2>shown; then fail "no error"; fi
grep -q 'error: unknown name `g`' shown || fail "-q hides errors: $(cat shown)"
! grep -q warning shown || fail "-q shows warnings beside errors: $(cat shown)"
