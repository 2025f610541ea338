#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Kernel threads that execute requests of io_uring run on the processors of the QThread, not only on its node.
#
# vm: processors 4
# vm: memory 512
# shellcheck source=tests/vm/lib.sh
. /guest/lib.sh

tap_is "$(cat /sys/devices/system/node/node1/cpulist)" 2-3 "node 1 has two processors"
dd if=/dev/zero of=/tmp/file bs=1k count=4096 2>/dev/null
for processors in 3 0 1-2; do
	rm -f /tmp/out
	"$XDD" -ioengine io_uring -op write -reqsize 256 -numreqs 8 -queuedepth 4 -targets 1 /tmp/file \
		-processor $processors -verbose -passes 2 -passdelay 1000 >/tmp/out 2>/tmp/err </dev/null &
	pid=$!
	wait_for 30 grep -q TARGET_PASS /tmp/out || tap_diag "$(cat /tmp/out /tmp/err)"
	workers=0 strayed=0
	for task in /proc/"$pid"/task/*; do
		grep -q '^iou-wrk' "$task/comm" || continue
		workers=$((workers + 1))
		grep -Eq "^Cpus_allowed_list:[[:space:]]*$processors\$" "$task/status" || strayed=$((strayed + 1))
	done
	tap_check "-processor $processors: the kernel has threads for it" test $workers -gt 0
	tap_is $strayed 0 "-processor $processors: all of them run there"
	kill -9 "$pid"
done
tap_done
