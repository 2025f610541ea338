#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The layers: base <- sys <- sync <- stat <- plan <- {io, net, report, trace} <- {run, copy} <- commands <- main. A file
# includes headers of its own layer and of layers to its left only, so there is no cycle; io, net, report and trace
# never include each other. Headers in src are private: only their own layer includes them. A header in include is
# used by more than one layer and does not depend on a private one. The directories of src/run have an order of their own:
# coord <- meter <- target <- endtoend <- issue <- progress <- results <- the files of src/run itself. And each header
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
	sys) echo "base sys" ;;
	sync) echo "base sys sync" ;;
	stat) echo "base sys sync stat" ;;
	plan) echo "base sys sync stat plan" ;;
	io | net | report | trace) echo "base sys sync stat plan $1" ;;
	run) echo "base sys sync stat plan io net report trace run" ;;
	copy) echo "base sys sync stat plan io net report trace copy" ;;
	commands) echo "base sys sync stat plan io net report trace run copy commands" ;;
	main) echo "base sys sync stat plan io net report trace run copy commands" ;;
	*) return 1 ;;
	esac
}

# layer_of PATH: set $layer to the layer of a source or header, by its directory. It starts no process, like all that is
# done for each include.
layer_of() {
	layer=${1#src/}
	case $1 in
	src/main.c) layer=main ;;
	src/*/*) layer=${layer%%/*} ;;
	include/xdd/*/*)
		layer=${1#include/xdd/}
		layer=${layer%%/*}
		;;
	*) layer="(none)" ;;
	esac
}

# complaints PATH: a line for each include in PATH that is not allowed there.
complaints() {
	layer_of "$1"
	if ! may=$(allowed "$layer"); then
		echo "$1: is in no known layer"
		return
	fi
	sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\([<"][^>"]*[>"]\).*/\1/p' "$1" |
		while read -r include; do
			case $include in
			\"xdd/*/*\")
				wanted=${include#*/}
				wanted=${wanted%%/*}
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
			# A private header, by its path below src.
			\"*/*.h\")
				header=${include#\"}
				header=${header%\"}
				if [ ! -f "src/$header" ]; then
					echo "$1: no $include in src; write public headers as \"xdd/LAYER/MODULE.h\""
				elif [ "${1#include/}" != "$1" ]; then
					echo "$1: a public header may not include the private $include"
				elif [ "${header%%/*}" != "$layer" ]; then
					echo "$1: $include is private to ${header%%/*}"
				fi
				;;
			*)
				header=${include#\"}
				[ -f "${1%/*}/${header%\"}" ] || echo "$1: no $include beside it"
				;;
			esac
		done
}

# run_complaints PATH: a line for each include in PATH, a file of src/run, that is against the order of its directories.
# The state that all of them share (target.h, qthread.h, run_state.h) embeds structs of every directory.
run_order="coord meter target endtoend issue progress results"
run_complaints() {
	own=${1#*/*/}
	own=${own%%/*}
	may="${run_order%%"$own"*}$own"
	case " $run_order " in *" $own "*) ;; *)
		echo "$1: $own is no known directory of src/run"
		return
		;;
	esac
	sed -n 's/^#include "\(run\/.*\)"$/\1/p' "$1" | while read -r include; do
		case $include in run/target.h | run/qthread.h | run/run_state.h) continue ;; esac
		wanted=${include#*/}
		case " $may " in *" ${wanted%%/*} "*) ;; *)
			echo "$1: src/run/$own may include $may, not $include" ;;
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
layers=$(for path in $files; do layer_of "$path" && echo "$layer"; done | LC_ALL=C sort -u)
for of in $layers; do
	result "$of includes ${may=$(allowed "$of" || echo nothing: no such layer)}" "$(
		for path in $files; do
			layer_of "$path"
			[ "$layer" = "$of" ] && complaints "$path"
		done
	)"
	unset may
done

result "src/run: $run_order, each includes those to its left" "$(
	for path in $files; do
		case $path in src/run/*/*) run_complaints "$path" ;; esac
	done
)"

flags="-std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -pthread -Wall -Wextra -Werror"
headers=$(find include src -name '*.h' | LC_ALL=C sort)

# name_of HEADER: set $name to what includes it.
name_of() {
	name=${1#include/}
	name=${name#src/}
}

# compiled PATH...: compile C files; there is nothing to link.
compiled() {
	# Both may be several words.
	# shellcheck disable=SC2086
	$CC $flags -Iinclude -iquote src "-I$build" -fsyntax-only "$@"
}

# One command for all, which takes half of the time; after an error, one for each.
units=$(mktemp -d) || exit 1
trap 'rm -rf "$units"' EXIT
number=0
for header in $headers; do
	number=$((number + 1))
	name_of "$header"
	printf '#include "%s"\n#include "%s"\nextern int unused;\n' "$name" "$name" >"$units/$number.c"
done
good=no
compiled "$units"/*.c >/dev/null 2>&1 && good=yes
number=0
for header in $headers; do
	number=$((number + 1))
	name_of "$header"
	result "$name compiles on its own" "$([ $good = yes ] || compiled "$units/$number.c" 2>&1 || echo "status $?")"
done

# A header of one layer only belongs beside the sources of that layer, unless another public header needs it.
# users: a line "HEADER LAYER" for each public header that a file of LAYER includes or names; LAYER is "include" or
# "doc" for files there.
users() {
	grep -roE '"xdd/[^"]*"' src include doc | tr -d '"' | LC_ALL=C sort -u | while IFS=: read -r path name; do
		case $path in
		src/*) layer_of "$path" ;;
		*) layer=${path%%/*} ;;
		esac
		echo "$name $layer"
	done | LC_ALL=C sort -u
}

result "headers in include are used by more than one layer" "$(
	used=$(users)
	for header in $(find include -name '*.h' | LC_ALL=C sort); do
		own=${header#include/xdd/}
		own=${own%%/*}
		others=$(printf '%s\n' "$used" | awk -v name="${header#include/}" -v own="$own" '$1 == name && $2 != own')
		[ -n "$others" ] || echo "$header: only $own uses it"
	done
)"

echo "1..$count"
exit "$failed"
