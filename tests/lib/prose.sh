#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The language of the tree: retired words, comments that open with a clause instead of a sentence, and
# lines that are too long for a screen. doc/glossary.md has the terms; CONTRIBUTING has the rules.
#
#   tests/lib/prose.sh                    TAP, for "make check"
#   tests/lib/prose.sh --report PATH...   list the hits in these files and directories
set -u

top=${TOP_SRCDIR:-$(dirname "$0")/../..}

# Each line: phrases separated by "|", a colon, and the wording to use instead. Phrases are whole words
# in lower case; they match across line ends and in any case. Identifiers with underscores never match.
retired='
behind : after, following
is wanted|are wanted : expected ... (in a message), is needed
folder|folders : directory
dear|dearer : expensive
anew : again, recreated, reset
hand over|hands over|handed over|handing over : submit, pass
come back|comes back|came back|coming back : complete, return
under way : in flight, running
told of|tell of|tells of|telling of|said of : reported, applies to
likewise : say it again in full
give up|gives up|gave up|given up|giving up : release, abandon
goes before|go before : overrides, precedes
stretch|stretches : extent, range, interval
in all : total
but for : except, apart from
at rest : quiescent, idle
take down|takes down|taken down : record
let through|lets through|letting through : admit, release
worked out|work out|works out|working out : compute, determine
whoever : the thread that, the caller that
somebody|someone : name the thread, process or user
nobody : no thread, no process, no user
and who|who completes|who waits|who takes|who asks|who reads it|for who|of who|by who : the thread that
place of operation|place of an operation|place of the operation : offset
random place|random places|another place|each place|same place|place in the target : offset
place on the disk|place on the device : offset
operations a second|bytes a second|requests a second|reads a second|writes a second : per second
ops a second|mb a second|mib a second|gb a second|times a second|once a second : per second
transfers a second|completions a second|lines a second|seconds a second : per second
us an operation|ns an operation|cpu an operation|instructions an operation : per operation
'

# Real uses of these words.
allowed='
left behind|leave behind|leaves behind|leaving behind|nothing behind|anything behind|lags behind
falls behind|runs behind
in all cases|in all passes|in all runs|in all directions|in all of|in all builds|in all other
in all these|in all three|in all four|in all columns|in all modes|in all that|in all documents
in all targets|in all threads|in all states|in all engines|in all files|in all environments
user nobody|as nobody|nobody nogroup
'

scan() {
	LC_ALL=C awk -v retired="$retired" -v allowed="$allowed" '
	# A phrase as it is searched for: blanks around each word.
	function add_phrases(text, list, advice, part, n, i) {
		n = split(text, part, "|")
		for (i = 1; i <= n; i++) {
			sub(/^ +/, "", part[i]); sub(/ +$/, "", part[i])
			if (part[i] == "") continue
			list[++list[0]] = " " part[i] " "
			if (advice != "") instead[list[0]] = advice
		}
	}
	function words_of(text) {
		text = tolower(text)
		gsub(/=/, " = ", text)
		gsub(/[^a-z0-9_=]+/, " ", text)
		return " " text " "
	}
	function last_words(text, part, n) {
		n = split(text, part, " ")
		return n == 0 ? "" : " " (n > 2 ? part[n - 2] " " : "") (n > 1 ? part[n - 1] " " : "") part[n]
	}
	function hit(what, say) {
		print FILENAME ":" FNR ": " what (say == "" ? "" : " (say: " say ")")
	}
	function width(text, column, i, c, n) {
		n = length(text)
		for (i = 1; i <= n; i++) {
			c = substr(text, i, 1)
			if (c == "\t") column += 8 - column % 8
			else if (c < "\200" || c >= "\300") column++
		}
		return column
	}
	# Search `text` after `before`, the last words of the line before it: a phrase may begin there.
	function search(text, before, known, at, i) {
		text = before text
		gsub(/ +/, " ", text)
		if (text !~ any_word) return
		known = length(before)
		for (i = 1; i <= allow[0]; i++)
			while ((at = index(text, allow[i])) > 0)
				text = substr(text, 1, at) substr("                                ", 1,
					length(allow[i]) - 2) substr(text, at + length(allow[i]) - 1)
		for (i = 1; i <= words[0]; i++) {
			at = index(text, words[i])
			if (at > 0 && at + length(words[i]) - 1 <= known + 1)
				at = index(substr(text, known + 1), words[i])
			if (at > 0)
				hit("\"" substr(words[i], 2, length(words[i]) - 2) "\"", instead[i])
		}
	}
	BEGIN {
		n = split(retired, line, "\n")
		for (i = 1; i <= n; i++)
			if ((at = index(line[i], " : ")) > 0)
				add_phrases(substr(line[i], 1, at - 1), words, substr(line[i], at + 3))
		any_word = words[1]
		for (i = 2; i <= words[0]; i++) any_word = any_word "|" words[i]
		n = split(allowed, line, "\n")
		for (i = 1; i <= n; i++)
			add_phrases(line[i], allow, "")
	}
	FNR == 1 {
		before = ""; comment = 0; fence = 0
		c = FILENAME ~ /[.][ch]$/; markdown = FILENAME ~ /[.]md$/
	}
	{
		# The user of that name in the tests; the last column of the glossary, which lists the retired words.
		plain = $0
		if (FILENAME ~ /doc\/glossary[.]md$/) sub(/[|][^|]*[|]$/, "", plain)
		# Examples of what not to write.
		if (/^    before: /) plain = ""
		gsub(/NOBODY|=nobody|nobody( =|=|\[)|if nobody/, "", plain)
		text = words_of(plain)
		search(text, before)
		before = last_words(text)
	}
	c {
		is_comment = comment || index($0, "/*")
		if (is_comment && width($0) > 100)
			hit("a comment beyond 100 columns", "")
		if ($0 ~ /^[ \t]*\/?\*+ (What|Whatever|Who|Whoever|Whether)[ ,]/ ||
		    $0 ~ /\/\*+ (what|whatever|who|whoever|whether) /)
			if (!comment || opens)
				hit("a comment that opens with a clause", "a sentence with a subject and a verb")
		if ($0 ~ /^[ \t]*\/?\*+ The same([,;.]| (as|at|beside|by|for|from|in|into|of|on|to|until|when|where|with|without) )/)
			if (!comment || opens)
				hit("a comment that opens with \"The same\"", "As function(), and how it differs")
		opens = $0 ~ /^[ \t]*\/\*+$/
		at = 0
		rest = $0
		while (rest != "")
			if (comment) {
				if (!(at = index(rest, "*/"))) break
				comment = 0; rest = substr(rest, at + 2)
			} else {
				if (!(at = index(rest, "/*"))) break
				comment = 1; rest = substr(rest, at + 2)
			}
	}
	!c && !markdown && /^[ \t]*(#|""")[ ]?(What|Whatever|Who|Whoever|Whether) / {
		if (!previous_comment || $0 ~ /"""/)
			hit("a comment that opens with a clause", "a sentence with a subject and a verb")
	}
	{ previous_comment = FNR > 0 && $0 ~ /^[ \t]*#/ }
	markdown && /^[ \t]*```/ { fence = !fence }
	markdown && !fence && !/^[ \t]*\|/ && width($0) > 120 { hit("a line beyond 120 columns", "") }
	' "$@" /dev/null
}

# files PATH...: the files in them that people write.
files() {
	find "$@" -type f '(' -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.md' -o -name '*.in' \
		-o -name '*.js' -o -name '*.json' -o -name '*.ac' -o -name '*.am' -o -path '*.ci/run' -o -path 'contrib/*' \
		-o -path 'tests/bench/run' -o -path 'tests/vm/run' -o -path 'tests/lib/*' -o -name README \
		-o -name CONTRIBUTING -o -name NEWS -o -name bootstrap ')' \
		! -path '*/.deps/*' ! -path '*/__pycache__/*' ! -name '*.o' ! -name '*.log' ! -name '*.trs' \
		! -name prose.sh ! -path '*/contrib/completion/*' \
		! -path 'tests/tmp/*' ! -path 'tests/findings/*' ! -path 'tests/long/*' 2>/dev/null | LC_ALL=C sort
}

if [ "${1:-}" = --report ]; then
	shift
	[ $# -gt 0 ] || set -- src
	# No path here has a blank in it.
	# shellcheck disable=SC2046
	scan $(files "$@")
	exit 0
fi

cd "$top" || exit 1
count=0
failed=0
hits=$(mktemp "${TMPDIR:-/tmp}/prose.XXXXXX") || exit 1
trap 'rm -f "$hits"' EXIT

# A check that finds nothing must be known to look.
count=$((count + 1))
printf '/* What is done\n * when it comes\n * back, in all. */\n/*\n * The same, later. */\n' >"$hits.c"
found=$(scan "$hits.c" | cut -d: -f2- | tr '\n' ';')
rm -f "$hits.c"
expected='1: a comment that opens with a clause (say: a sentence with a subject and a verb);'
expected="$expected"'3: "comes back" (say: complete, return);3: "in all" (say: total);'
expected="$expected"'5: a comment that opens with "The same" (say: As function(), and how it differs);'
if [ "$found" = "$expected" ]; then
	echo "ok $count - retired words are found, also across lines"
else
	failed=1
	echo "not ok $count - retired words are found, also across lines"
	echo "# found: $found"
fi

for path in src include tests doc contrib README CONTRIBUTING NEWS Makefile.am configure.ac bootstrap .ci; do
	[ -e "$path" ] || continue
	count=$((count + 1))
	# shellcheck disable=SC2046
	scan $(files "$path") >"$hits"
	if [ ! -s "$hits" ]; then
		echo "ok $count - $path"
	else
		failed=1
		echo "not ok $count - $path"
		sed 's/^/# /' "$hits"
	fi
done

echo "1..$count"
exit "$failed"
