#!/bin/sh
# The committed pages that are made from the option table are what the table gives today.
set -u

: "${MKDOC:?MKDOC must name the mkdoc binary; \"make check\" sets it}"
: "${TOP_SRCDIR:?TOP_SRCDIR must name the source tree; \"make check\" sets it}"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/generated.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT

count=0
failed=0

# compare KIND INPUT PAGE: "mkdoc KIND <INPUT" against the committed PAGE.
compare() {
	count=$((count + 1))
	"$MKDOC" "$1" <"$2" >"$tmp/page" 2>"$tmp/err"
	status=$?
	if [ "$status" -eq 0 ] && diff -u "$TOP_SRCDIR/$3" "$tmp/page" >"$tmp/diff" 2>&1; then
		echo "ok $count - $3"
		return
	fi
	failed=1
	echo "not ok $count - $3"
	if [ "$status" -ne 0 ]; then
		echo "# mkdoc $1: status $status"
		sed 's/^/#   /' "$tmp/err"
	else
		echo "# not what the tables give; \"make docs\" brings it up to date:"
		sed 's/^/#   /' "$tmp/diff"
	fi
}

compare man "$TOP_SRCDIR/doc/xdd.1.in" doc/xdd.1
compare xdd-multi "$TOP_SRCDIR/doc/xdd-multi.1.in" doc/xdd-multi.1
compare xddcp "$TOP_SRCDIR/doc/xddcp.1.in" doc/xddcp.1
compare gettime "$TOP_SRCDIR/doc/gettime.1.in" doc/gettime.1
compare timeserver "$TOP_SRCDIR/doc/timeserver.1.in" doc/timeserver.1
compare from-fio "$TOP_SRCDIR/doc/from-fio.md.in" doc/from-fio.md
compare completion /dev/null contrib/completion/xdd.bash

echo "1..$count"
exit "$failed"
