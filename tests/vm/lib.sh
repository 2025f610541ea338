# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# Helpers for guest scripts: those of tests/lib/tap.sh, and these. A guest script is root in a machine of its
# own and reads it with
#
#	. /guest/lib.sh
#
# shellcheck source=tests/lib/tap.sh
. /tests/lib/tap.sh

# load MODULE [PARAMETER...]: load a module, named in a "# vm: modules" line, and its dependencies.
load() {
	load_module=$1
	shift
	while read -r load_name; do
		if [ ! -d "/sys/module/$load_name" ]; then
			if [ "$load_name" = "$load_module" ]; then
				insmod "/modules/$load_name.ko" "$@" || return 1
			else
				insmod "/modules/$load_name.ko" || return 1
			fi
		fi
	done <"/modules/$load_module.order"
}

# wait_for SECONDS COMMAND [ARGUMENT...]: until the command succeeds; its last status.
wait_for() {
	wait_left=$(($1 * 20))
	shift
	until "$@" >/dev/null 2>&1; do
		wait_left=$((wait_left - 1))
		[ "$wait_left" -gt 0 ] || return 1
		sleep 0.05
	done
}

# give_up DESCRIPTION: the devices cannot be had; nothing that follows would make sense.
give_up() {
	tap_fail "$1"
	tap_diag "$(dmesg | tail -n 20)"
	tap_done
}

# memory_device NAME ATTRIBUTE=VALUE...: /dev/NAME (nullb0, then nullb1, ...) with 32 MiB that keep their data. It
# needs the module null_blk.
memory_device() {
	load null_blk nr_devices=0 || return 1
	[ -d /sys/kernel/config/nullb ] || mount -t configfs config /sys/kernel/config || return 1
	memory_folder=/sys/kernel/config/nullb/$1
	shift
	mkdir "$memory_folder" || return 1
	for memory_attribute in size=32 memory_backed=1 blocksize=512 "$@" power=1; do
		echo "${memory_attribute#*=}" >"$memory_folder/${memory_attribute%%=*}" || return 1
	done
}

# map NAME TABLE: the device /dev/mapper/NAME (module dm-mod, program dmsetup). There is no udev to make the node.
map() {
	printf '%s\n' "$2" | dmsetup create "$1" --noudevsync && dmsetup mknodes "$1"
}

# have_engine NAME: this xdd and this kernel have the engine.
have_engine() {
	"$XDD" -ioengine list | grep -q "^$1 *yes"
}

# column NAME: of the last tap_run's COMBINED line, by heading.
column() {
	awk -v name="$1" '
		$1 == "What" { for (i = 1; i <= NF; i++) at[$i] = i }
		$1 == "COMBINED" { print $at[name] }' "${2:-$tap_out}"
}

# counts_are OPERATIONS BYTES DESCRIPTION: of the last tap_run.
counts_are() {
	tap_is "$(column Ops) $(column Bytes_Xfered)" "$1 $2" "$3" || tap_show_run
}

# xdd ARGUMENT...: tap_run of the binary to test, bounded in time.
xdd() {
	tap_run timeout -s KILL 60 "$XDD" "$@"
}

# refused STATUS ERE DESCRIPTION: the last tap_run ended with that status and one line that matches.
refused() {
	tap_is "$tap_status" "$1" "$3: status $1" || tap_show_run
	tap_is "$(grep -c . "$tap_err")" 1 "$3: one line" || tap_show_run
	tap_stderr_like "$2" "$3: it says why"
}

# The machine's files disappear with it; and busybox's rm knows no --one-file-system.
tap_cleanup() {
	eval "$tap_cleanup_commands"
}
