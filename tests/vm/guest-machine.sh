#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The machine itself has the properties that tests of placement and of devices need.
#
# vm: modules loop
# shellcheck source=tests/vm/lib.sh
. /guest/lib.sh

tap_is "$(cat /sys/devices/system/node/online)" 0-1 "two NUMA nodes"
for node in 0 1; do
	tap_is "$(cat /sys/devices/system/node/node$node/cpulist)" $node "node $node has a processor"
	tap_check "node $node has memory" grep -Eq 'MemTotal: +[1-9]' /sys/devices/system/node/node$node/meminfo
done
xdd -targets 1 null -op read -reqsize 1 -numreqs 1000 -queuedepth 2
tap_status_is 0 "the binary runs"
for engine in psync libaio io_uring sg mmap null; do
	tap_check "$engine is here" have_engine $engine
done
tap_done
