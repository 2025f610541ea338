#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The engines on a block device in memory: the same bytes and counts from each, and the keywords of io_uring that
# need a device of the right kind.
#
# vm: modules null_blk loop
# vm: memory 1024
# shellcheck source=tests/vm/lib.sh
. /guest/lib.sh

SIZE_MIB=8
ENGINES="psync libaio io_uring"

prefill() {
	dd if=/tmp/pattern of=/dev/nullb0 bs=1M oflag=direct 2>/dev/null
}

test_counts() {
	for op in read write; do
		for depth in 1 32; do
			xdd -dio -ioengine "$1" -op "$op" -targets 1 /dev/nullb0 -blocksize 512 -reqsize 8 \
				-bytes 2097152 -queuedepth "$depth"
			tap_status_is 0 "$1: ${op}s the device, depth $depth"
			counts_are 512 2097152 "$1: ${op}s the device, depth $depth, counts"
		done
	done
	xdd -dio -ioengine "$1" -op read -rwratio 30 -targets 1 /dev/nullb0 -blocksize 512 -reqsize 128 -numreqs 200 \
		-seek random -seek range $((SIZE_MIB * 2048)) -queuedepth 16
	tap_status_is 0 "$1: mixed and random"
	counts_are 200 13107200 "$1: mixed and random, counts"
}

# Every other 64 KiB of the first MiB: the contents afterwards are the same with each engine.
test_data() {
	prefill
	xdd -dio -ioengine "$1" -op write -targets 1 /dev/nullb0 -blocksize 512 -reqsize 128 -numreqs 8 \
		-seek interleave 2 -queuedepth 4
	tap_status_is 0 "$1: writes with gaps"
	dd if=/dev/nullb0 of="/tmp/by-$1" bs=1M count=1 iflag=direct 2>/dev/null
	tap_check "$1: something is written" test "$(cmp /tmp/pattern "/tmp/by-$1")"
	tap_check "$1: the same as by psync" cmp /tmp/by-psync "/tmp/by-$1"
}

test_end() {
	xdd -dio -ioengine "$1" -op read -targets 1 /dev/nullb0 -blocksize 512 -reqsize 128 \
		-startoffset $((SIZE_MIB * 2048 - 256)) -numreqs 4 -queuedepth 4
	refused 2 "the device has $SIZE_MIB MiB" "$1: past the end"
}

test_threads() {
	xdd -dio -ioengine "$1" -threads 2 -op read -targets 1 /dev/nullb0 -blocksize 512 -reqsize 8 -numreqs 1000 \
		-queuedepth 32
	tap_status_is 0 "$1: two threads"
	counts_are 1000 4096000 "$1: two threads, counts"
	xdd -dio -ioengine "$1" batch 8 -op read -targets 1 /dev/nullb0 -blocksize 512 -reqsize 8 -numreqs 1000 \
		-queuedepth 32
	tap_status_is 0 "$1: batches"
	counts_are 1000 4096000 "$1: batches, counts"
}

# One device has queues that can be polled, the other has none.
test_uring_keywords() {
	for words in fixedbufs fixedfiles "fixedbufs fixedfiles" sqpoll "iopoll" "fixedbufs fixedfiles iopoll batch 4"; do
		# shellcheck disable=SC2086
		xdd -dio -ioengine io_uring $words -op read -targets 1 /dev/nullb1 -blocksize 512 -reqsize 8 \
			-numreqs 400 -queuedepth 16
		tap_status_is 0 "io_uring $words"
		counts_are 400 1638400 "io_uring $words, counts"
	done
	xdd -dio -ioengine io_uring iopoll -op read -targets 1 /dev/nullb0 -blocksize 512 -reqsize 8 -numreqs 1
	refused 2 'iopoll|poll' "iopoll on a device without such queues"
}

# An extent that cannot be read: of 512 requests of 4 KiB the same two fail with each engine.
test_bad_blocks() {
	for engine in $ENGINES; do
		xdd -dio -ioengine "$engine" -op read -targets 1 /dev/nullb2 -blocksize 512 -reqsize 8 \
			-bytes $((2 * 1048576)) -queuedepth 32 -maxerrorstoprint 10
		tap_status_is 6 "$engine: bad blocks: status 6"
		counts_are 510 $((510 * 4096)) "$engine: bad blocks, counts"
		tap_is "$(sed -n 's/.*at offset \([0-9]*\) of.*Input.output error.*/\1/p' "$tap_err" | sort -n | tr '\n' ' ')" \
			"409600 413696 " "$engine: bad blocks, where"
	done
}

setup() {
	memory_device nullb0 size=$SIZE_MIB poll_queues=0 && memory_device nullb1 poll_queues=1 submit_queues=2 &&
		memory_device nullb2 badblocks=+800-815 && wait_for 10 test -b /dev/nullb2
}

setup || give_up "devices in memory"
dd if=/dev/urandom of=/tmp/pattern bs=1M count=1 2>/dev/null

for engine in $ENGINES; do
	tap_check "$engine is here" have_engine "$engine" || continue
	test_counts "$engine"
	test_data "$engine"
	test_end "$engine"
done
for engine in libaio io_uring; do
	test_threads "$engine"
done
test_uring_keywords
test_bad_blocks
tap_done
