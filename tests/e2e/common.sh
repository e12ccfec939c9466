# Sourced by the end-to-end tests. They work in a scratch folder of their own.
dtgc=${DTGC:?the compiler under test}
source=${DTG_SOURCE_DIR:?the source tree}
models=$source/tests/e2e/models
scratch=$(mktemp -d)
trap 'chmod -R u+rwx "$scratch"; rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# same FILE FILE...: all have the same bytes.
same() {
  local first=$1 other
  shift
  for other; do
    cmp "$first" "$other" || fail "$first and $other differ"
  done
}

digest() { sha256sum "$1" | cut -d ' ' -f 1; }

# fashion_as_cifar TRAIN TEST: so many pictures of Fashion-MNIST as CIFAR-10 files in the scratch folder.
fashion_as_cifar() {
  local from=/usr/share/datasets/fashion-mnist to=cifar-10-batches-bin
  mkdir -p "$to"
  zcat "$from"/train-{images-idx3,labels-idx1}-ubyte.gz |
    perl "$source/tests/e2e/fashion_as_cifar.pl" "$1" "$to" train
  zcat "$from"/t10k-{images-idx3,labels-idx1}-ubyte.gz |
    perl "$source/tests/e2e/fashion_as_cifar.pl" "$2" "$to" test
}
