#!/bin/sh
# The layers: base <- plan <- {io, net, report, trace} <- run <- main. A file includes headers of its own
# layer and of layers to its left only; io, net, report and trace never include each other. And each header
# compiles on its own, twice in a row.
set -u

: "${CC:=cc}"
top=${TOP_SRCDIR:-$(dirname "$0")/../..}
build=$(cd "${TOP_BUILDDIR:-$top}" && pwd) || exit 1
cd "$top" || exit 1

count=0
failed=0

# allowed LAYER: the layers whose headers a file of LAYER may include; status 1 for a layer that
# there is not.
allowed() {
	case $1 in
	base) echo "base" ;;
	plan) echo "base plan" ;;
	io | net | report | trace) echo "base plan $1" ;;
	run) echo "base plan io net report trace run" ;;
	main) echo "base plan io net report trace run" ;;
	*) return 1 ;;
	esac
}

# layer_of PATH: the layer a source or header belongs to, by its folder.
layer_of() {
	case $1 in
	src/main.c) echo main ;;
	src/*/*) echo "$1" | cut -d/ -f2 ;;
	include/xdd/*/*) echo "$1" | cut -d/ -f3 ;;
	*) echo "(none)" ;;
	esac
}

# complaints PATH: a line for each include in PATH that is not allowed there.
complaints() {
	layer=$(layer_of "$1")
	if ! may=$(allowed "$layer"); then
		echo "$1: is in no known layer"
		return
	fi
	sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\([<"][^>"]*[>"]\).*/\1/p' "$1" |
		while read -r include; do
			case $include in
			\"xdd/*/*\")
				wanted=$(echo "$include" | cut -d/ -f2)
				case " $may " in
				*" $wanted "*) ;;
				*) echo "$1: $layer may not include $include" ;;
				esac
				;;
			\"config.h\" | \<*)
				case $include in
				\<xdd/*) echo "$1: write $include with quotes" ;;
				esac
				;;
			# A private header beside its sources is of the same layer.
			\"*/*\") echo "$1: write $include as \"xdd/LAYER/MODULE.h\"" ;;
			*) [ -f "$(dirname "$1")/$(echo "$include" | tr -d '"')" ] ||
				echo "$1: no $include beside it" ;;
			esac
		done
}

# result DESCRIPTION COMPLAINTS
result() {
	count=$((count + 1))
	if [ -z "$2" ]; then
		echo "ok $count - $1"
		return
	fi
	failed=1
	echo "not ok $count - $1"
	printf '%s\n' "$2" | sed 's/^/#   /'
}

files=$(find src include -name '*.[ch]' | LC_ALL=C sort)
layers=$(for path in $files; do layer_of "$path"; done | LC_ALL=C sort -u)
for layer in $layers; do
	result "$layer includes ${may=$(allowed "$layer" || echo nothing: no such layer)}" "$(
		for path in $files; do
			[ "$(layer_of "$path")" = "$layer" ] && complaints "$path"
		done
	)"
	unset may
done

flags="-std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -pthread -Wall -Wextra -Werror"
for header in $(find include -name '*.h' | LC_ALL=C sort); do
	name=${header#include/}
	# Both may be several words.
	# shellcheck disable=SC2086
	result "$name compiles on its own" "$(
		printf '#include "%s"\n#include "%s"\nextern int unused;\n' "$name" "$name" |
			$CC $flags -Iinclude "-I$build" -fsyntax-only -x c - 2>&1 ||
			echo "status $?"
	)"
done

echo "1..$count"
exit "$failed"
