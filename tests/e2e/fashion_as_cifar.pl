#!/usr/bin/perl
# usage: zcat IMAGES.idx.gz LABELS.idx.gz | fashion_as_cifar.pl COUNT FOLDER SPLIT
# Fashion-MNIST in the binary format of CIFAR-10: the first COUNT pictures with a border of two, three
# times the same plane; five files data_batch_1.bin to data_batch_5.bin, or test_batch.bin.
use strict;
use warnings;
my ($count, $folder, $split) = @ARGV;
binmode STDIN;
local $/;
my $bytes = <STDIN>;
my (undef, $all, $rows, $columns) = unpack 'N4', $bytes;
my $labels = 16 + $all * $rows * $columns + 8;
die "fewer than $count pictures of 28 x 28\n" if $all < $count || $rows != 28 || $columns != 28;
my @files = $split eq 'test' ? ('test_batch') : map { "data_batch_$_" } 1 .. 5;
my $each = $count / @files;
die "$count pictures do not make " . @files . " files\n" if $each != int $each;
my $edge = "\0" x 64;
for my $i (0 .. $#files) {
  open my $out, '>', "$folder/$files[$i].bin" or die "$folder/$files[$i].bin: $!\n";
  binmode $out;
  for my $n ($i * $each .. ($i + 1) * $each - 1) {
    my $plane = $edge;
    $plane .= "\0\0" . substr($bytes, 16 + $n * 784 + $_ * 28, 28) . "\0\0" for 0 .. 27;
    print $out substr($bytes, $labels + $n, 1), ($plane . $edge) x 3;
  }
  close $out or die "$folder/$files[$i].bin: $!\n";
}
