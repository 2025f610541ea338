#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Devices that never answer: after SIGINT the results are written, and outstanding operations are named.
#
# vm: modules null_blk dm-mod scsi_debug sg sd_mod
# vm: programs dmsetup
# Functions are called by name:
# shellcheck disable=SC2317
#
# shellcheck source=tests/vm/lib.sh
. /guest/lib.sh

DEBUG=/sys/bus/pseudo/drivers/scsi_debug

hang_dm() { dmsetup suspend --noflush --nolockfs --noudevsync hang; }
wake_dm() { dmsetup resume --noudevsync hang; }

# From the next command on, the disk drops them all.
hang_scsi() {
	echo 4 >"$DEBUG/opts"
	echo -1 >"$DEBUG/every_nth"
}
wake_scsi() {
	echo 0 >"$DEBUG/opts"
	echo 0 >"$DEBUG/every_nth"
}

# The number of requests that the device got so far.
count_dm() { awk '{ print $1 }' /sys/dev/block/253:0/stat; }
count_scsi() { echo $(($(cat /sys/bus/scsi/devices/0:0:0:0/iorequest_cnt))); }

# has_answered COUNT: it got so many requests since $before.
has_answered() {
	[ $(($("count_$kind") - before)) -ge "$1" ]
}

has_results() {
	grep -q COMBINED "$tap_out"
}

now_ms() {
	awk '{ print int($1 * 1000) }' /proc/uptime
}

# test_hang NAME DM|SCSI WAIT-ARGUMENT ARGUMENT...: WAIT-ARGUMENT no: the kernel keeps the process until the
# device answers, so only its output is timed.
test_hang() {
	what="$1 on a device that hangs"
	kind=$2
	ends=$3
	shift 3
	before=$("count_$kind")
	"$XDD" -op read -blocksize 512 -reqsize 8 -seek none -timelimit 100 "$@" >"$tap_out" 2>"$tap_err" &
	pid=$!
	# For tap_show_run.
	# shellcheck disable=SC2034
	tap_last_command=$* tap_status=unknown
	wait_for 20 has_answered 100
	"hang_$kind"
	sleep 1
	kill -INT "$pid"
	start=$(now_ms)
	wait_for 60 has_results
	results=$(($(now_ms) - start))
	tap_check "$what: results $results ms after SIGINT" test $results -lt 30000 || tap_show_run
	if [ "$ends" = yes ]; then
		wait "$pid"
		tap_is "$? $(test $(($(now_ms) - start)) -lt 30000 && echo "in time")" "5 in time" "$what: status 5" || tap_show_run
		"wake_$kind"
	else
		"wake_$kind"
		wait "$pid"
		tap_is "$?" 5 "$what: status 5" || tap_show_run
	fi
	ops=$(column Ops)
	tap_check "$what: $ops operations are counted" test "${ops:-0}" -gt 0 || tap_show_run
	tap_is "$(column Bytes_Xfered)" $((ops * 4096)) "$what: bytes"
	tap_check "$what: it says that operations are outstanding" grep -qi outstanding "$tap_out" "$tap_err" || tap_show_run
}

setup() {
	memory_device nullb0 && wait_for 10 test -b /dev/nullb0 && load dm_mod && map hang "0 65536 linear /dev/nullb0 0" &&
		load sg && load sd_mod && load scsi_debug dev_size_mb=16 ndelay=100000 && wait_for 10 test -c /dev/sg0
}

setup || give_up "the devices"

test_hang psync dm no -dio -ioengine psync -queuedepth 4 -targets 1 /dev/mapper/hang
test_hang libaio dm no -dio -ioengine libaio -queuedepth 128 -targets 1 /dev/mapper/hang
test_hang io_uring dm yes -dio -ioengine io_uring -queuedepth 128 -targets 1 /dev/mapper/hang
test_hang sg scsi yes -sgio -queuedepth 4 -targets 1 /dev/sg0
tap_done
