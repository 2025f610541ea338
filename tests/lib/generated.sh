#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The committed pages that are made from tables of the program are what the tables give today.
set -u

: "${MKDOC:?MKDOC must name the mkdoc binary; \"make check\" sets it}"
: "${TOP_SRCDIR:?TOP_SRCDIR must name the source tree; \"make check\" sets it}"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/generated.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT

count=0
failed=0

# compare INPUT PAGE KIND...: "mkdoc KIND... <INPUT" against the committed PAGE.
compare() {
	input=$1
	page=$2
	shift 2
	count=$((count + 1))
	"$MKDOC" "$@" <"$input" >"$tmp/page" 2>"$tmp/err"
	status=$?
	if [ "$status" -eq 0 ] && diff -u "$TOP_SRCDIR/$page" "$tmp/page" >"$tmp/diff" 2>&1; then
		echo "ok $count - $page"
		return
	fi
	failed=1
	echo "not ok $count - $page"
	if [ "$status" -ne 0 ]; then
		echo "# mkdoc $*: status $status"
		sed 's/^/#   /' "$tmp/err"
	else
		echo "# not what the tables give; \"make docs\" brings it up to date:"
		sed 's/^/#   /' "$tmp/diff"
	fi
}

for input in "$TOP_SRCDIR"/doc/*.[157].in; do
	page=$(basename "$input" .in)
	compare "$input" "doc/$page" man "${page%.*}"
done
compare "$TOP_SRCDIR/doc/from-fio.md.in" doc/from-fio.md from-fio
compare "$TOP_SRCDIR/doc/questions.md.in" doc/questions.md questions
compare "$TOP_SRCDIR/doc/reading-results.md.in" doc/reading-results.md reading-results
compare /dev/null contrib/completion/xdd.bash completion
compare /dev/null contrib/completion/_xdd zsh
compare /dev/null contrib/completion/xdd.fish fish

echo "1..$count"
exit "$failed"
