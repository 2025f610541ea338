#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Errors and delays among outstanding operations, by the device mapper: every engine has the same counts.
#
# vm: modules null_blk dm-mod dm-flakey dm-delay
# vm: programs dmsetup
# Functions are called by name:
# shellcheck disable=SC2317
#
# shellcheck source=tests/vm/lib.sh
. /guest/lib.sh

ENGINES="psync libaio io_uring"
SECTORS=65536 # 32 MiB
KEPT_MS=600000 # longer than any test takes

# failed_at: the offsets of the operations that failed, in order.
failed_at() {
	sed -n 's/.*I.O ERROR.* at offset \([0-9]*\) of.*Input.output error.*/\1/p' "$tap_err" | sort -n | tr '\n' ' '
}

# Of 256 requests of 4 KiB, those at sectors 1000 to 1023 and 1600 to 1607 fail. What is on a device is judged by sector
# 4096 as well, which fails too.
test_error_target() {
	xdd -op write -targets 1 /dev/mapper/bad -blocksize 512 -reqsize 8 -numreqs 1
	refused 4 "what is on it cannot be read: .*-force" "writes to what cannot be judged"
	for op in read write; do
		for depth in 1 32; do
			xdd -dio -ioengine "$1" -op "$op" -targets 1 /dev/mapper/bad -blocksize 512 -reqsize 8 \
				-bytes 1048576 -queuedepth "$depth" -maxerrorstoprint 100 -force /dev/mapper/bad
			what="$1: ${op}s with errors in between, depth $depth"
			tap_status_is 6 "$what: status 6"
			counts_are 252 $((252 * 4096)) "$what: counts"
			tap_is "$(failed_at)" "512000 516096 520192 819200 " "$what: where"
		done
	done
}

# Requests of 64 KiB, some of which fail in the middle.
test_error_inside() {
	xdd -dio -ioengine "$1" -op read -targets 1 /dev/mapper/bad -blocksize 512 -reqsize 128 \
		-bytes 1048576 -queuedepth 16 -maxerrorstoprint 100
	tap_status_is 6 "$1: errors inside of requests: status 6"
	tap_is "$(column Ops) $(failed_at)" "14 458752 786432 " "$1: errors inside of requests: which"
}

test_limits_of_errors() {
	xdd -dio -ioengine "$1" -op read -targets 1 /dev/mapper/bad -blocksize 512 -reqsize 8 -startoffset 1000 \
		-numreqs 3 -queuedepth 32
	tap_status_is 6 "$1: nothing but errors: status 6"
	counts_are 0 0 "$1: nothing but errors: counts"
	for depth in 32 1; do
		xdd -dio -ioengine "$1" -op read -targets 1 /dev/mapper/bad -blocksize 512 -reqsize 8 -bytes $((SECTORS * 512)) \
			-queuedepth "$depth" -stoponerror
		tap_status_is 6 "$1: -stoponerror, depth $depth: status 6"
	done
	# One after the other: those before sector 1000. How many others of 32 are issued is a matter of scheduling.
	counts_are 125 $((125 * 4096)) "$1: -stoponerror, depth 1: stops at the first error"
}

# Reads succeed, all writes fail.
test_flakey() {
	xdd -dio -ioengine "$1" -op read -targets 1 /dev/mapper/flakey -blocksize 512 -reqsize 8 -numreqs 100 -queuedepth 16
	tap_status_is 0 "$1: flakey: reads"
	xdd -dio -ioengine "$1" -op write -targets 1 /dev/mapper/flakey -blocksize 512 -reqsize 8 -numreqs 100 -queuedepth 16
	tap_status_is 6 "$1: flakey: writes fail"
	counts_are 0 0 "$1: flakey: writes, counts"
}

# waiting: so many reads of "kept" are delayed.
waiting() {
	dmsetup status kept | awk '{ print $4 }'
}

# wait_for_reads COUNT: until so many reads of "kept" are delayed.
wait_for_reads() {
	wait_for 60 eval "[ \"\$(waiting)\" -ge $1 ]"
}

# keep MILLISECONDS: delay reads of "kept" for so long; 0: those too that are delayed now.
keep() {
	dmsetup table kept | sed "s/[0-9]*\$/$1/" | dmsetup reload kept
	dmsetup suspend --noudevsync kept
	dmsetup resume --noudevsync kept
}

# 64 operations at depth 32 on a device that keeps each: 32 are outstanding, the others come once it keeps no more.
test_delay() {
	"$XDD" -dio -ioengine "$1" -op read -targets 1 /dev/mapper/kept -blocksize 512 -reqsize 8 -numreqs 64 \
		-queuedepth 32 >"$tap_out" 2>"$tap_err" &
	pid=$!
	wait_for_reads 32
	tap_is "$(waiting)" 32 "$1: a device that keeps operations: 32 are outstanding"
	keep 0
	wait "$pid"
	tap_is "$? $(column Ops)" "0 64" "$1: and all complete once it keeps none"
	keep "$KEPT_MS"
}

# 128 outstanding when time is over: none is issued after that, all are waited for and counted.
test_time_limit() {
	xdd -dio -ioengine "$1" -op read -targets 1 /dev/mapper/slow -blocksize 512 -reqsize 8 -seek none \
		-queuedepth 128 -timelimit 1
	tap_status_is 0 "$1: a time limit with 128 outstanding"
	ops=$(column Ops)
	tap_check "$1: a time limit with 128 outstanding: $ops operations" test "$ops" -ge 128 -a "$ops" -le 768
	tap_is "$(column Bytes_Xfered)" $((ops * 4096)) "$1: a time limit with 128 outstanding: bytes"
}

# SIGINT with 128 outstanding: xdd issues no more, waits for them, and writes the results.
test_interrupt() {
	"$XDD" -dio -ioengine "$1" -op read -targets 1 /dev/mapper/kept -blocksize 512 -reqsize 8 -seek none \
		-queuedepth 128 -timelimit 600 >"$tap_out" 2>"$tap_err" &
	pid=$!
	wait_for_reads 128
	kill -INT "$pid"
	wait_for 60 grep -q "SIGINT" "$tap_err"
	keep 0
	wait "$pid"
	tap_is "$? $(column Ops) $(column Bytes_Xfered)" "5 128 $((128 * 4096))" "$1: SIGINT with 128 outstanding"
	keep "$KEPT_MS"
}

setup() {
	memory_device nullb0 && wait_for 10 test -b /dev/nullb0 && load dm_flakey && load dm_delay &&
		map bad "0 1000 linear /dev/nullb0 0
1000 24 error
1024 576 linear /dev/nullb0 1024
1600 8 error
1608 2488 linear /dev/nullb0 1608
4096 8 error
4104 $((SECTORS - 4104)) linear /dev/nullb0 4104" &&
		map flakey "0 $SECTORS flakey /dev/nullb0 0 0 3600 1 error_writes" &&
		map slow "0 $SECTORS delay /dev/nullb0 0 200" && map kept "0 $SECTORS delay /dev/nullb0 0 $KEPT_MS"
}

setup || give_up "the devices"

for engine in $ENGINES; do
	tap_check "$engine is here" have_engine "$engine" || continue
	for name in error_target error_inside limits_of_errors flakey delay time_limit interrupt; do
		"test_$name" "$engine"
	done
done
tap_done
