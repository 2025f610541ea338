# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# Helpers for functional tests in POSIX sh that print TAP. A test reads it with
#
#	. "$TOP_SRCDIR/tests/lib/tap.sh"
#
# and ends with tap_done. It gets
#
#	$XDD        the binary to test
#	$TAP_TMP    a directory of its own, removed at the end
#
# and from tap_run, of the last command: $tap_status, and the files $tap_out and $tap_err with what
# it printed.

: "${XDD:?XDD must name the xdd binary; \"make check\" sets it}"

tap_count=0
tap_failed=0
tap_status=
tap_cleanup_commands=

TAP_TMP=$(mktemp -d "${TMPDIR:-/tmp}/tap.XXXXXX") || exit 1
tap_out=$TAP_TMP/.tap.out
tap_err=$TAP_TMP/.tap.err

tap_cleanup() {
	eval "$tap_cleanup_commands"
	rm -rf --one-file-system "$TAP_TMP"
}
trap tap_cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# tap_at_exit COMMAND: run COMMAND (one word, evaluated) when the test ends, however it ends; the
# last one first.
tap_at_exit() {
	tap_cleanup_commands="$1
$tap_cleanup_commands"
}

# tap_diag TEXT: print each line of TEXT as a comment.
tap_diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# tap_diag_file FILE: print the first lines of FILE as comments.
tap_diag_file() {
	sed -e 's/^/#   /' -e 40q "$1"
}

# tap_pass DESCRIPTION, tap_fail DESCRIPTION: one result.
tap_pass() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $*"
}

tap_fail() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $*"
	return 1
}

# tap_skip DESCRIPTION REASON: one result that could not be had here.
tap_skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# tap_skip_all REASON: the whole test cannot run here. Only before the first result.
tap_skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# tap_need COMMAND...: skip the whole test when a command is missing.
tap_need() {
	for tap_command; do
		command -v "$tap_command" >/dev/null 2>&1 ||
			tap_skip_all "$tap_command is not installed"
	done
}

# tap_need_root: skip the whole test when not run by root.
tap_need_root() {
	[ "$(id -u)" -eq 0 ] || tap_skip_all "only root can do this"
}

# tap_run COMMAND [ARGUMENT...]: run it, keep its status and output. Itself returns 0.
tap_run() {
	tap_last_command="$*"
	"$@" >"$tap_out" 2>"$tap_err"
	tap_status=$?
	return 0
}

# The last command of tap_run, for the checks below when they fail.
tap_show_run() {
	tap_diag "command: $tap_last_command"
	tap_diag "status:  $tap_status"
	tap_diag "stdout:"
	tap_diag_file "$tap_out"
	tap_diag "stderr:"
	tap_diag_file "$tap_err"
}

# tap_check DESCRIPTION COMMAND [ARGUMENT...]: passes when the command's status is 0.
tap_check() {
	tap_description=$1
	shift
	if "$@"; then
		tap_pass "$tap_description"
	else
		tap_fail "$tap_description"
		tap_diag "failed: $*"
		return 1
	fi
}

# tap_is GOT WANTED DESCRIPTION: passes when the two strings are equal.
tap_is() {
	if [ "$1" = "$2" ]; then
		tap_pass "$3"
	else
		tap_fail "$3"
		tap_diag "got:    $1"
		tap_diag "wanted: $2"
		return 1
	fi
}

# tap_status_is WANTED DESCRIPTION: the status of the last tap_run.
tap_status_is() {
	if [ "$tap_status" = "$1" ]; then
		tap_pass "$2"
	else
		tap_fail "$2"
		tap_diag "wanted status: $1"
		tap_show_run
		return 1
	fi
}

# tap_stdout_like ERE DESCRIPTION, tap_stderr_like: a line of the last tap_run's output matches;
# _unlike: none does.
tap_stdout_like() { tap_file_like "$tap_out" yes "$1" "$2"; }
tap_stderr_like() { tap_file_like "$tap_err" yes "$1" "$2"; }
tap_stdout_unlike() { tap_file_like "$tap_out" no "$1" "$2"; }
tap_stderr_unlike() { tap_file_like "$tap_err" no "$1" "$2"; }

tap_file_like() {
	tap_found=no
	if grep -Eq -e "$3" "$1"; then
		tap_found=yes
	fi
	if [ "$tap_found" = "$2" ]; then
		tap_pass "$4"
	else
		tap_fail "$4"
		if [ "$2" = yes ]; then
			tap_diag "no line matches: $3"
		else
			tap_diag "a line matches: $3"
		fi
		tap_show_run
		return 1
	fi
}

# tap_strace OUTPUT [STRACE-OPTION...] -- COMMAND...: tap_run under strace, all threads, trace in
# the file OUTPUT. The leak check of a sanitizer build is off meanwhile: it cannot work on a traced
# program.
tap_strace() {
	tap_trace_file=$1
	shift
	tap_run env "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" \
		strace -f -o "$tap_trace_file" "$@"
}

# tap_done: the plan, and the status: 0 when nothing failed. The last command of a test.
tap_done() {
	echo "1..$tap_count"
	if [ "$tap_failed" -gt 0 ]; then
		exit 1
	fi
	exit 0
}
