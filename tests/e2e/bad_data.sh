#!/usr/bin/env bash
# Data files that cannot be used: what is wrong with which file, where it is named, what to do.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"

header() { printf '\0\0\10\3\0\0\0\10\0\0\0\2\0\0\0\2'; }
images() { header && printf '0123456789abcdefghijklmnopqrstuv'; }
labels() { printf '\0\0\10\1\0\0\0\10\0\1\2\0\1\2\0\1'; }
good() {
  rm -rf images.gz labels
  images | gzip -n >images.gz
  labels >labels
}

build pictures

# No file: where it was looked for.
refused 1 out/pictures <<'END'
pictures.dtg:11:31: error: images.gz: there is no such data file
  hint: looked in SCRATCH, SCRATCH/home/.local/share/datasets and the folders in it, /usr/local/share/datasets and the folders in it, /usr/share/datasets and the folders in it; --data-dir names another folder
END
refused 1 out/pictures --data-dir elsewhere <<'END'
pictures.dtg:11:31: error: images.gz: there is no such data file
  hint: looked in SCRATCH, elsewhere, SCRATCH/home/.local/share/datasets and the folders in it, /usr/local/share/datasets and the folders in it, /usr/share/datasets and the folders in it
END
good
says out/pictures --quiet <<'END'
END
# The same through a program that has been moved with its folder, from another working folder.
mkdir moved && mv out moved/out && mv images.gz labels moved
(cd / && "$scratch/moved/out/pictures" --quiet >"$scratch/stdout")
mv moved/out . && mv moved/images.gz moved/labels .

# Not the format.
printf '\1\0\10\1\0\0\0\10\0\1\2\0\1\2\0\1' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: not an IDX file: it starts with 01 00 08 01
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
printf '\0\0\7\1\0\0\0\10\0\1\2\0\1\2\0\1' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: not an IDX file: element type 0x07
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
printf 'GIF89a' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: not an IDX file: it starts with 47 49 46 38
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
: >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: truncated: 0 bytes, an IDX header has at least 8
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
good
images >images.gz
refused 1 out/pictures <<'END'
pictures.dtg:11:31: error: SCRATCH/images.gz: not gzip data, though its name ends in .gz
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END

# Damaged gzip data: its end is missing, a byte is wrong, the checksum is, something follows.
good
images | gzip -n | head -c 30 >images.gz
refused 1 out/pictures <<'END'
pictures.dtg:11:31: error: SCRATCH/images.gz: truncated: the gzip data ends in the middle
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
images | gzip -n | head -c -1 >images.gz
refused 1 out/pictures <<'END'
pictures.dtg:11:31: error: SCRATCH/images.gz: truncated: the gzip data ends in the middle
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
{ images | gzip -n | head -c 10 && printf '\377\377' && images | gzip -n | tail -c +13; } >images.gz
refused 1 out/pictures <<'END'
pictures.dtg:11:31: error: SCRATCH/images.gz: damaged gzip data: invalid block type
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
{ images | gzip -n | head -c -8 && printf 'abcd' && images | gzip -n | tail -c 4; } >images.gz
refused 1 out/pictures <<'END'
pictures.dtg:11:31: error: SCRATCH/images.gz: damaged gzip data: incorrect data check
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
{ images | gzip -n && printf 'more'; } >images.gz
refused 1 out/pictures <<'END'
pictures.dtg:11:31: error: SCRATCH/images.gz: something follows the gzip data
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
{ header && printf 'a picture'; } | gzip -n >images.gz
refused 1 out/pictures <<'END'
pictures.dtg:11:31: error: SCRATCH/images.gz: truncated: 9 of the 32 bytes after the header
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END

# Sizes that are wrong or absurd.
good
printf '\0\0\10\1\0\0\0\10\0\1\2\0\1\2\0' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: truncated: u8[8] needs 8 bytes after the header, there are at most 7
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
{ labels && printf 'x'; } >labels.longer
mv labels.longer labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: something follows the data, which ends after 16 bytes
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
printf '\0\0\10\1\377\377\377\377\0\1\2' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: truncated: u8[4294967295] needs 4294967295 bytes after the header, there are at most 3
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
{ printf '\0\0\10\5' && head -c 20 /dev/zero | tr '\0' '\377'; } >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: its shape [4294967295, 4294967295, 4294967295, 4294967295, 4294967295] is too large
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
printf '\0\0\10\60\0\0\0\10' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: 48 axes, an IDX file has 1 to 9
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END

# Columns of unequal length, another type, another shape.
printf '\0\0\10\1\0\0\0\7\0\1\2\0\1\2\0' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: data examples: column image has 8 examples, column label has 7
  hint: the columns of a table are as long as each other: take files that belong together
END
printf '\0\0\11\1\0\0\0\10\0\1\2\0\1\2\0\1' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: column label: its values are i8, the input "label" of the model (pictures.dtg:5:36) is u8
  hint: declare the input as i32 and cast it in the model, or convert the file: only conversions that lose nothing are made
END
good
{ printf '\0\0\10\3\0\0\0\10\0\0\0\1\0\0\0\4' && images | tail -c 32; } | gzip -n >images.gz
refused 1 out/pictures <<'END'
pictures.dtg:11:31: error: column image: an example has shape [1, 4], the input "image" of the model (pictures.dtg:5:16) has [2, 2]
  hint: declare the input as [B, 1, 4] and reshape it in the model, or convert the file
END

# A label that the model has no class for. Examples are counted in the file, though it is shuffled.
good
printf '\0\0\10\1\0\0\0\10\0\1\2\0\1\2\0\3' >labels
refused 1 out/pictures --threads 1 <<'END'
pictures.dtg:5:36: error: label 3 of example 7 of examples is out of range 0..2 (step 1)
  hint: losses.dtg:LINE takes it as an index: correct the data, or make the model's size fit its values
END
refused 1 out/pictures --threads 3 <<'END'
pictures.dtg:5:36: error: label 3 of example 7 of examples is out of range 0..2 (step 1)
  hint: losses.dtg:LINE takes it as an index: correct the data, or make the model's size fit its values
END
refused 1 out/pictures --eval-only <<'END'
pictures.dtg:5:36: error: label 3 of example 7 of examples is out of range 0..2
  hint: losses.dtg:LINE takes it as an index: correct the data, or make the model's size fit its values
END

# No examples, and fewer than a batch.
printf '\0\0\10\3\0\0\0\0\0\0\0\2\0\0\0\2' | gzip -n >images.gz
printf '\0\0\10\1\0\0\0\0' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:6: error: data examples has no examples
  hint: name files that have examples
END
{ printf '\0\0\10\3\0\0\0\3\0\0\0\2\0\0\0\2' && printf 'twelve bytes'; } | gzip -n >images.gz
printf '\0\0\10\1\0\0\0\3\0\1\2' >labels
refused 1 out/pictures <<'END'
pictures.dtg:11:6: error: the batch is 4, but data examples has only 3 examples
  hint: a batch is at most the whole data set
END

# A folder, a pipe, a device, a link to itself, a file that may not be read.
good
rm labels && mkdir labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: labels: there is no such data file: SCRATCH/labels is a folder
  hint: looked in SCRATCH, SCRATCH/home/.local/share/datasets and the folders in it, /usr/local/share/datasets and the folders in it, /usr/share/datasets and the folders in it; --data-dir names another folder
END
rmdir labels && mkfifo labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: a pipe or a device, not a file
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
rm labels && ln -s /dev/zero labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: SCRATCH/labels: a pipe or a device, not a file
  hint: idx() reads IDX files, the format of MNIST, plain or .gz: copy the file again, or name another one
END
rm labels && ln -s labels labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: labels: there is no such data file
  hint: looked in SCRATCH, SCRATCH/home/.local/share/datasets and the folders in it, /usr/local/share/datasets and the folders in it, /usr/share/datasets and the folders in it; --data-dir names another folder
END
rm labels && labels >labels && chmod 0 labels
refused 1 without_rights out/pictures <<'END'
pictures.dtg:11:57: error: cannot open SCRATCH/labels: Permission denied
  hint: make the file readable for this user, or name another one
END

# Two folders of the platform have the file.
good
mkdir -p home/.local/share/datasets/{one,two}
mv labels home/.local/share/datasets/one/labels
cp home/.local/share/datasets/{one,two}/labels
refused 1 out/pictures <<'END'
pictures.dtg:11:57: error: labels: which one is meant: SCRATCH/home/.local/share/datasets/one/labels or SCRATCH/home/.local/share/datasets/two/labels?
  hint: name the folder with --data-dir, or write it into the path
END

# Records, tokens, windows and categories: 4 examples of each, in a folder like that of CIFAR-10.
records() { # FILE COUNT: of label 3 and dark pixels
  for _ in $(seq "$2"); do printf '\3' && head -c 3072 /dev/zero; done >"$1"
}
mkdir cifar
for file in 1 2 3 4; do records cifar/data_batch_$file.bin 1; done
records cifar/data_batch_5.bin 0
printf 'four windows..' >text
printf '\1\0\2\0\0\1\4\0\5\0\53\1\7\0' >tokens
printf 'id,kind\n1,red\n2, green\n3,"red"\n4,red\n' >kinds.csv
build records
refused 1 out/records <<'END'
records.dtg:14:11: error: SCRATCH/cifar/data_batch_5.bin: 0 bytes are not a whole number of records of 3073 bytes
  hint: cifar10() reads the files of the binary version of CIFAR-10, records of 3073 bytes: copy the file again, or name another one
END
head -c 1000 /dev/zero >cifar/data_batch_5.bin
refused 1 out/records <<'END'
records.dtg:14:11: error: SCRATCH/cifar/data_batch_5.bin: 1000 bytes are not a whole number of records of 3073 bytes
  hint: cifar10() reads the files of the binary version of CIFAR-10, records of 3073 bytes: copy the file again, or name another one
END
rm cifar/data_batch_5.bin
refused 1 out/records <<'END'
records.dtg:14:11: error: SCRATCH/cifar: there is no data_batch_5.bin in this folder
  hint: the folder of CIFAR-10 has data_batch_1.bin to data_batch_5.bin and test_batch.bin; name it, or one file
END
records cifar/data_batch_5.bin 1
refused 1 out/records <<'END'
records.dtg:16:10: error: data examples: column image has 5 examples, column text has 4
  hint: the columns of a table are as long as each other: take files that belong together
END
printf 'x' >>text
printf 'x' >>text
printf 'x' >>text
printf '\0\0' >>tokens
printf '5,blue\n' >>kinds.csv
refused 1 out/records <<'END'
records.dtg:17:11: error: SCRATCH/tokens: token 5 is 299, the vocabulary has 0 to 298
  hint: tokens() reads numbers of the given type, little-endian, and nothing else: correct the type or the vocabulary, or name another file
END
printf '\1\0\2\0\0\1\4\0\5\0\52\1\7\0\0\0' >tokens
refused 1 out/records <<'END'
records.dtg:18:10: error: SCRATCH/kinds.csv:6: column "kind": "blue" is none of its 2 categories
  hint: add "blue" to `categories`, or correct the file
END
sed -i s/blue/green/ kinds.csv
says out/records --quiet --threads 2 --save a <<'END'
END
says out/records --quiet --threads 1 --save b <<'END'
END
cmp a b || fail "threads change the bits of windows"
