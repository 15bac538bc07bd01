#!/bin/bash
# Builds the fuzz targets of the core in the environment of OSS-Fuzz, which sets CC, CXX, CFLAGS,
# CXXFLAGS, LIB_FUZZING_ENGINE, SRC, OUT and WORK. Each gets its corpus with what failed once as
# NAME_seed_corpus.zip, and its dictionary. The files that a target reads are beside it in $OUT.
# The targets in Python run by `python -m tools fuzz` alone.
set -euo pipefail
cd "$SRC/fnabi/csrc"
mkdir -p "$WORK/core" "$WORK/include"
ln -sfn "$PWD" "$WORK/include/fnabi" # as the installed headers name each other
include="-I. -Iinstall -I$WORK/include -I$WORK/tests/c -I../tests/data -I../python/fnabi/include"
rooms=$(sed -n 's/^ROOMS = //p' Makefile)
for room in $rooms; do
  for source in "$room"/*.c; do
    echo "$source"
  done
done | while read -r source; do
  echo "$source $WORK/core/$(echo "$source" | tr / _).o"
done > "$WORK/sources"
xargs -P "$(nproc)" -n 2 -a "$WORK/sources" sh -c "$CC $CFLAGS -std=c11 $include -c \"\$0\" -o \"\$1\""

mkdir -p "$WORK/tests"
cp -r ../tests/c ../tests/cpp "$WORK/tests"
find "$WORK/tests" -name '*.[ch]' -exec sed -i 's|"\.\./tests/data/[^"]*/\([^"/]*\)"|"\1"|' {} +
grep -oh '\.\./tests/data/[^"%]*' ../tests/c/*/fuzz_*.c ../tests/c/*/any_*.h | sort -u | xargs cp -t "$OUT"

for source in "$WORK"/tests/c/*/fuzz_*.c "$WORK"/tests/cpp/fuzz_*.cc; do
  test -e "$source" || continue
  target=$(basename "${source%.*}")
  name=${target#fuzz_}
  case $source in
    *.c) $CC $CFLAGS -std=c11 $include -c "$source" -o "$source.o" ;;
    *) $CXX $CXXFLAGS -std=c++17 $include -c "$source" -o "$source.o" ;;
  esac
  $CXX $CXXFLAGS "$source.o" "$WORK"/core/*.o $LIB_FUZZING_ENGINE -lm -o "$OUT/$target"
  inputs=$(find "../tests/c/corpus/$name" "../tests/c/regressions/$name" -type f 2> /dev/null || true)
  test -z "$inputs" || echo "$inputs" | zip -q -j -@ "$OUT/${target}_seed_corpus.zip"
  words=../tests/c/dictionaries/$name.dict
  test ! -e "$words" || cp "$words" "$OUT/$target.dict"
done
