#!/usr/bin/env bash
# usage: man.sh
# The manual page names every command, option and stage, and is free of what roff would take for
# something else. Where groff is installed, it formats the page without a warning.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$scratch"
"$dtgc" --man >page

# has LINE WHAT: the page has this line.
has() { grep -qxF -- "$1" page || fault "no line $1 for $2"; }

while IFS= read -r name; do
  grep -qE -- "^\.B .*\\\\-\\\\-${name//-/\\\\-}(=|\$)" page || fault "no entry for --$name"
done < <(sed -nE 's/^OPTION\(\w+, \w+, "([a-z-]+)".*/\1/p' "$root/compiler/options.def")
while IFS= read -r name; do
  has ".B $name" "the stage $name"
done < <(sed -nE 's/^STAGE\(\w+, "(\w+)".*/\1/p' "$root/compiler/stages.def")
while IFS= read -r name; do
  grep -qE "^\.B dtgc $name( |\$)" page || fault "no entry for the command $name"
done < <(sed -nE 's/^COMMAND\(\w+, "(\w+)".*/\1/p' "$root/compiler/commands.def")
[ "$(grep -c '^OPTION(' "$root/compiler/options.def")" -eq \
  "$(sed -nE 's/^OPTION\(\w+, \w+, "([a-z-]+)".*/\1/p' "$root/compiler/options.def" | wc -l)" ] ||
  fault "options.def: unreadable rows"
for section in NAME SYNOPSIS DESCRIPTION COMMANDS OPTIONS STAGES 'EXIT STATUS' ENVIRONMENT FILES; do
  has ".SH $section" "the section"
done
! grep -nE "^'|[^\\\\]\`|^ |[^.]\.\.\$|;\.\$" page || fault "the lines above are wrong in roff"
! grep -nP '[^\x20-\x7e]' page || fault "the lines above are not ASCII"
if command -v groff >/dev/null && [ -d /usr/share/groff ] && groff -man -z /dev/null 2>/dev/null; then
  groff -man -Tutf8 -ww -z page 2>warnings || fault "groff fails"
  [ ! -s warnings ] || fault "$(cat warnings)"
fi
printf 'the manual page, %d faults\n' $failures
[ $failures -eq 0 ]
