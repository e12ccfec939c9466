#!/usr/bin/env bash
# CSV files that cannot be used: the line, the column and the cell.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"
build prices
printf 'weight,price\n1,2\n3,4\n' >rows.csv
says out/prices --quiet <<'END'
END

# Cells that are no numbers, or none of the type.
printf 'weight,price\n1,2\n3,cheap\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:63: error: SCRATCH/rows.csv:3: column "price": "cheap" is not a number
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,2\n,4\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:3: column "weight": "" is not a number
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,nan\n3,4\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:63: error: SCRATCH/rows.csv:2: column "price": "nan" is not a number
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,1e99\n3,4\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:63: error: SCRATCH/rows.csv:2: column "price": 1e99 is not a value of type f32
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,2\n0x10,4\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:3: column "weight": "0x10" is not a number
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,2\n3,\033[31m\377\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:63: error: SCRATCH/rows.csv:3: column "price": "\x1b[31m\xff" is not a number
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END

# Columns: misspelt, missing, twice, another separator.
printf 'weight,prize\n1,2\n3,4\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:63: error: SCRATCH/rows.csv:1: there is no column "price"
  hint: did you mean "prize"? The columns are "weight", "prize"
END
printf 'w,p\n1,2\n3,4\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:1: there is no column "weight"
  hint: the columns are "w", "p"
END
printf 'weight,weight,price\n1,2,3\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:1: two columns have the name "weight"
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight;price\n1;2\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:1: there is no column "weight"
  hint: the columns are "weight;price"
END

# Records.
printf 'weight,price\n1,2\n3\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:3: 1 cells, the first line has 2
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,2,\n3,4,\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:2: 3 cells, the first line has 2
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,2\n\n3,4\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:3: column "weight": "" is not a number
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,"2\n3,4\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:2: a quoted cell does not end
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,2\r3,4\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv:2: a carriage return without a line feed
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,\0002\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv: not text: it has a zero byte
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:6: error: data rows has no examples
  hint: name files that have examples
END
: >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:28: error: SCRATCH/rows.csv: the file is empty
  hint: csv() reads a line of column names, then lines of numbers, separated by commas: correct the file, or name another column
END
printf 'weight,price\n1,2\n' >rows.csv
refused 1 out/prices <<'END'
prices.dtg:9:6: error: the batch is 2, but data rows has only 1 examples
  hint: a batch is at most the whole data set
END
