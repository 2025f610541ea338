#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every source, header, test and test helper in the tree is named in Makefile.am: built, run and
# packed.
set -u

cd "${TOP_SRCDIR:-$(dirname "$0")/../..}" || exit 1

# The words of Makefile.am, one per line, without comments.
words=$(sed -e 's/^#.*//' -e 's/\\$//' Makefile.am | tr -s '[:space:]' '\n')

count=0
failed=0

# result DESCRIPTION LIST COMPLAINT: passes when LIST, words separated by blanks, is empty. (No path
# here has a blank in it.)
result() {
	count=$((count + 1))
	if [ -z "$2" ]; then
		echo "ok $count - $1"
		return
	fi
	failed=1
	echo "not ok $count - $1"
	for path in $2; do
		echo "# $3: $path"
	done
}

# unnamed SUFFIX: of the paths on stdin, print those that Makefile.am does not name once SUFFIX is
# taken off.
unnamed() {
	{
		printf '%s\n' "$words" "= paths"
		LC_ALL=C sort
	} | awk -v suffix="$1" '
		$0 == "= paths" { paths = 1; next }
		!paths { named[$0] = 1; next }
		{
			name = $0
			rest = length(name) - length(suffix)
			if (substr(name, rest + 1) == suffix) name = substr(name, 1, rest)
			if (!(name in named)) print
		}'
}

# found PATH FIND-EXPRESSION...: find, silent about a directory that does not exist.
found() {
	find "$@" 2>/dev/null
}

# helpers: files in tests that are neither tests nor left there by a build in the source tree.
helpers() {
	found tests '(' -name .deps -o -name __pycache__ -o -path tests/tmp -o -path tests/findings -o -path tests/long ')' -prune -o -type f \
		! -path 'tests/unit/test_*' ! -path 'tests/func/*.sh' ! -path 'tests/func/*.py' ! -path 'tests/real-time/*.py' \
		! -name .dirstamp ! -name '*.json' ! -name '*.o' ! -name '*.log' ! -name '*.trs' -print
}

# gone: paths in Makefile.am that do not exist. A build makes "*.new", "example_*.c", zoom.c and the unit of the time server.
gone() {
	printf '%s\n' "$words" |
		grep -E '^(src|include|tests|doc|contrib)/[a-z0-9_./-]*[.][a-z]+$' |
		while read -r path; do
			case $path in
			*.new | *.so | contrib/xdd-*.service | tests/lib/example_*.c | src/report/page/zoom.c) ;;
			*) [ -f "$path" ] || echo "$path" ;;
			esac
		done
}

# undocumented: names in backquotes in doc/design.md that the tree lacks: paths below src, and tests, as
# FILE or FILE:FUNCTION below tests. Names with an asterisk stand for several files.
undocumented() {
	# shellcheck disable=SC2016
	grep -o '`[^`* ]*`' doc/design.md | tr -d '`' | while read -r name; do
		case $name in
		src/*) [ -e "$name" ] || echo "$name" ;;
		unit/* | func/* | real-time/* | fuzz/* | lib/* | vm/*)
			file=tests/${name%%:*}
			case $name in
			*:*) grep -qw "${name##*:}" "$file" 2>/dev/null || echo "$name" ;;
			*) [ -e "$file" ] || echo "$name" ;;
			esac
			;;
		esac
	done
}

# misled: files below src and include that CONTRIBUTING names, and what mutate.py has tests for, that do not exist.
misled() {
	{
		# The engine of the example is not there.
		grep -oE '(src|include)/[a-z0-9_/]*[a-z0-9_][.][a-z]+' CONTRIBUTING | grep -v engine_pvsync2
		sed -n '/^FUNCTIONAL = {/,/^}/s/^    "\(src[^"]*\)":.*/\1/p' tests/lib/mutate.py
	} | while read -r name; do
		found "${name%/*}" -path "$name*" | grep -q . || echo "$name"
	done
}

# renamed: functions that comments below src and include name, and that no line of code has.
renamed() {
	{
		found src include -name '*.[ch]' -exec grep -hE '^[[:space:]]*(/[*]|[*])' {} + | grep -oE '[a-z][a-z0-9]*_[a-z0-9_]+\(\)'
		echo "= code"
		found src include tests -name '*.[ch]' -exec grep -hvE '^[[:space:]]*(/[*]|[*])' {} + | grep -oE '[a-z][a-z0-9]*_[a-z0-9_]+'
	} | awk '
		$0 == "= code" { code = 1; next }
		!code { named[substr($0, 1, length($0) - 2)] = 1; next }
		{ delete named[$0] }
		END { for (name in named) print name }'
}

# unmapped: directories below src without a line in CONTRIBUTING, or without invariants and tests in a section of
# doc/design.md.
unmapped() {
	found src -mindepth 1 -type d ! -name .deps | LC_ALL=C sort | while read -r dir; do
		grep -q "^    $dir/ " CONTRIBUTING || echo "$dir:CONTRIBUTING"
		awk -v heading="### \`$dir/\`" '
			/^#/ { inside = $0 == heading }
			inside && /^\|.*\| `(unit|func|fuzz|lib|vm|real-time)\// { found = 1 }
			END { exit !found }' doc/design.md || echo "$dir:doc/design.md"
	done
}

# holds: names of hold points that the table of doc/design.md lacks, with underscores for blanks.
holds() {
	grep -o '\[HOLD_[A-Z_]*\] = "[^"]*"' src/base/log.c | cut -d '"' -f 2 | while read -r name; do
		awk -v name="$name" -F ' *[|] *' '
			$1 == "" && ", " $2 ", " ~ ", " name ", " { found = 1 }
			END { exit !found }' doc/design.md || echo "$name" | tr ' ' '_'
	done
}

# unlicensed: files that lack the line on their licence. Documents, job files, schemas and small files of the packages
# have it in .reuse/dep5.
unlicensed() {
	{
		found src include tests contrib .ci debian/rules -type f ! -path 'tests/fio/*' ! -path '*/.deps/*' \
			! -path '*/__pycache__/*' ! -path 'tests/tmp/*' ! -path 'tests/findings/*' ! -path 'tests/long/*' \
			! -name .dirstamp ! -name 'example_*.c' ! -name '*.json' ! -name '*.txt' ! -name '*.o' ! -name '*.log' ! -name '*.trs'
		found doc -type f '(' -name '*.[ch]' -o -name '*.[157]' -o -name '*.[157].in' ')'
		printf '%s\n' Makefile.am bootstrap configure.ac
	} | tr '\n' '\0' | xargs -0 grep -LI "^[^ ]* SPDX-License-""Identifier: GPL-2.0-or-later\( [*]/\)\?\$"
}

# packages: files of packages with another version than configure.ac.
packages() {
	version=$(sed -n 's/^AC_INIT(\[xdd\], \[\(.*\)\])$/\1/p' configure.ac)
	head -n 1 debian/changelog | grep -qF "xdd ($version)" || echo debian/changelog
	grep -q "^Version: *$version\$" contrib/xdd.spec || echo contrib/xdd.spec
}

result "sources in src" "$(found src -name '*.[ch]' -o -name '*.js' | unnamed '')" "not in Makefile.am"
result "headers in include" "$(found include -name '*.h' | unnamed '')" "not in Makefile.am"
result "unit tests" "$(found tests/unit -name 'test_*.c' | unnamed .c)" "not in xdd_unit_tests"
result "functional tests" "$(found tests/func tests/real-time -name '*.sh' -o -name '*.py' | unnamed '')" \
	"not in xdd_func_tests"
result "helpers of the tests" "$(helpers | unnamed '')" "not in Makefile.am"
result "documents" "$(found doc -name '*.md' -o -name '*.in' -o -name '*.[157]' | unnamed '')" "not in Makefile.am"
result "what Makefile.am names is there" "$(gone)" "missing"
result "versions of packages" "$(packages)" "not the version of configure.ac"
result "licences" "$(unlicensed)" "without the line SPDX-License-Ident""ifier: GPL-2.0-or-later"
result "files and tests that doc/design.md names" "$(undocumented)" "missing"
result "files that CONTRIBUTING and mutate.py name" "$(misled)" "missing"
result "functions that comments name" "$(renamed)" "no code has it"
result "directories below src are described" "$(unmapped)" "without an entry"
result "hold points that doc/design.md names" "$(holds)" "missing"
result "tests can be executed" \
	"$(found tests/func tests/real-time '(' -name '*.sh' -o -name '*.py' ')' ! -perm -u+x)" "not executable"

echo "1..$count"
exit "$failed"
