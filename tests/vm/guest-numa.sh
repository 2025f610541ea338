#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Two NUMA nodes of one processor each: where threads run and where their buffers lie; cpusets; explicit huge pages.
#
# vm: memory 1024
# vm: programs setpriv
# shellcheck source=tests/vm/lib.sh
. /guest/lib.sh

FILE=/tmp/file
KIB=1500 # of a request
PAGES=375
as= # how to start xdd

# rest ARGUMENT...: start an xdd, $pid, and wait until it has done its first pass and waits for the next.
rest() {
	rm -f /tmp/out
	# shellcheck disable=SC2086
	$as "$XDD" -ioengine psync -op read -reqsize $KIB -numreqs 2 "$@" -verbose -passes 2 -passdelay 1000 \
		>/tmp/out 2>/tmp/err </dev/null &
	pid=$!
	wait_for 30 grep -q TARGET_PASS /tmp/out && ! grep -q . /tmp/err && return
	tap_fail "it runs: $*"
	tap_diag "$(cat /tmp/out /tmp/err)"
}

end() {
	kill -9 $pid
	wait $pid 2>/dev/null
}

# pages NODE: the number of pages of its shared memory on that node.
pages() {
	awk -v node="N$1" '/SYSV/ { for (i = 3; i <= NF; i++) { split($i, a, "="); if (a[1] == node) n += a[2] } }
		END { print n + 0 }' /proc/$pid/numa_maps
}

# placed PAGES0 PAGES1 DESCRIPTION
placed() {
	tap_is "$(pages 0) $(pages 1)" "$1 $2" "$3" || tap_diag "$(cat /proc/$pid/numa_maps)"
}

# threads PROCESSORS: how many threads may run on these and no others.
threads() {
	cat /proc/$pid/task/*/status | awk -v list="$1" '$1 == "Cpus_allowed_list:" && $2 == list { n++ } END { print n + 0 }'
}

dd if=/dev/zero of=$FILE bs=1k count=$((KIB * 4)) 2>/dev/null

# A buffer comes from the node that its thread was bound to.
for node in 0 1; do
	for name in $node node$node; do
		rest -targets 1 $FILE -sharedmemory -processor "$name"
		tap_is "$(threads $node)" 1 "-processor $name: the QThread"
		if [ $node = 1 ]; then
			placed 0 $PAGES "-processor $name: its buffer"
		else
			placed $PAGES 0 "-processor $name: its buffer"
		fi
		end
	done
done
# Memory of a sanitizer may lie beside it and be shown as one.
if [ "${XDD_SANITIZERS:-no}" = no ]; then
	rest -targets 1 $FILE -processor node1
	tap_check "-processor node1: its buffer in ordinary memory" grep -q "anon=$PAGES .*N1=$PAGES" /proc/$pid/numa_maps
	end
fi
rest -targets 1 $FILE -sharedmemory -queuedepth 3 -processor node1
tap_is "$(threads 1)" 3 "-processor node1, depth 3: the QThreads"
placed 0 $((3 * PAGES)) "-processor node1, depth 3: their buffers"
end
rest -targets 2 $FILE $FILE -sharedmemory -processor target 0 node0 -processor target 1 node1
placed $PAGES $PAGES "targets on nodes of their own"
end
rest -targets 1 $FILE -sharedmemory -queuedepth 2 -roundrobin all
tap_is "$(threads 0) $(threads 1)" "1 1" "-roundrobin all: one QThread on each"
placed $PAGES $PAGES "-roundrobin all: and one buffer"
end
rest -targets 1 $FILE -sharedmemory -processor node0-1
tap_is "$(threads 0-1)" "$(find /proc/$pid/task -mindepth 1 -maxdepth 1 | wc -l)" "-processor node0-1: on both"
end

# -numa overrides the node of the thread.
rest -targets 1 $FILE -sharedmemory -processor 0 -numa 1
placed 0 $PAGES "-processor 0 -numa 1"
end
rest -targets 1 $FILE -processor 0 -numa node1
tap_check "-processor 0 -numa node1, ordinary memory" grep -q "bind:1 anon=$PAGES .*N1=$PAGES" /proc/$pid/numa_maps
end
rest -targets 2 $FILE $FILE -sharedmemory -processor 1 -numa target 0 0
placed $PAGES $PAGES "-numa target 0"
end
rest -targets 1 $FILE -sharedmemory -processor 1 -numa local
placed 0 $PAGES "-processor 1 -numa local"
end
rest -targets 1 $FILE -sharedmemory -queuedepth 2 -processor 0 -numa interleave
tap_check "-numa interleave: about half on each" test "$(($(pages 0) - $(pages 1)))" -le 2 -a "$(($(pages 1) - $(pages 0)))" -le 2
tap_is "$(($(pages 0) + $(pages 1)))" $((2 * PAGES)) "-numa interleave: all of it"
end
rest -targets 1 $FILE -sharedmemory -numa interleave:1
placed 0 $PAGES "-numa interleave:1"
end

xdd -op read -targets 1 $FILE -numa 2
refused 2 'cannot use memory of NUMA node 2; this process may use: 0-1' "-numa 2"
xdd -op read -targets 1 $FILE -processor node2
refused 2 'is not a NUMA node; there are: 0-1' "-processor node2"
xdd -op read -targets 1 $FILE -processor 2
refused 2 'cannot run on processor 2; this process may use: 0-1' "-processor 2"

# Explicit huge pages: two on each node.
echo 4 >/proc/sys/vm/nr_hugepages
huge_left() {
	awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo
}
tap_is "$(huge_left)" 4 "huge pages to test with"
rest -targets 1 $FILE -queuedepth 2 -hugepages
tap_is "$(grep -c 'KernelPageSize: *2048 kB' /proc/$pid/smaps) $(huge_left)" "2 2" "-hugepages: a page for each QThread" ||
	tap_diag "$(cat /proc/$pid/smaps)"
tap_check "-hugepages: it is shown" grep -q 'I/O memory buffer is a normal memory buffer in huge pages$' /tmp/out
end
rest -targets 1 $FILE -queuedepth 2 -hugepages -sharedmemory
tap_is "$(awk '/SYSV/ { s = 1 } s && /KernelPageSize: *2048 kB/ { n++; s = 0 } END { print n + 0 }' /proc/$pid/smaps)" 2 \
	"-hugepages -sharedmemory"
end
wait_for 10 test "$(huge_left)" = 4
tap_is "$(huge_left)" 4 "huge pages: all are given back"
rest -targets 1 $FILE -queuedepth 2 -hugepages -numa 1
tap_is "$(grep -c 'bind:1.*huge.*N1=1' /proc/$pid/numa_maps)" 2 "-hugepages -numa 1"
end
xdd -op read -targets 1 $FILE -queuedepth 5 -hugepages
refused 2 'the I/O buffers take 5 of the huge pages of 2 MiB, and there are 4 left' "too few huge pages"
xdd -op read -targets 1 $FILE -queuedepth 3 -hugepages -numa 1
refused 4 'QThread [0-2], 1 of .*not enough of them are left where -numa wants them' "too few huge pages on the node"
echo 0 >/proc/sys/vm/nr_hugepages

# -processlock without a limit; later memory is locked too.
# shellcheck disable=SC3045 # that of busybox has it
ulimit -l unlimited
rest -targets 1 $FILE -processlock
if [ "${XDD_SANITIZERS:-no}" = no ]; then
	tap_is "$(awk '/^[0-9a-f]+-[0-9a-f]+ / { name = $6 } $1 == "VmFlags:" && !/ lo/ && name !~ /^\[v/ { print name }' \
		/proc/$pid/smaps)" "" "-processlock: all is locked"
fi
end

# Without rights, and with a limit that is high enough for all of it. ASan's memory is not.
if [ "${XDD_SANITIZERS:-no}" = no ]; then
	chmod 644 $FILE
	# shellcheck disable=SC3045 # that of busybox has it
	ulimit -l 1048576
	as="/bin/setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all"
	rest -targets 1 $FILE -sharedmemory -queuedepth 4 -processlock
	as=
	tap_is "$(awk '/^[0-9a-f]+-[0-9a-f]+ / { name = $6 } $1 == "VmFlags:" && name ~ "xdd$|SYSV" { print ($0 ~ / lo/ ? "locked" : "not") }' \
		/proc/$pid/smaps | sort | uniq -c | awk '{ print $2, ($1 >= 6) }')" "locked 1" "-processlock within a limit"
	end
fi

# A cpuset leaves one processor and one node.
mkdir -p /tmp/cgroup
if mount -t cgroup2 cgroup /tmp/cgroup && echo +cpuset >/tmp/cgroup/cgroup.subtree_control && mkdir /tmp/cgroup/one &&
	echo 1 >/tmp/cgroup/one/cpuset.cpus && echo 1 >/tmp/cgroup/one/cpuset.mems && echo $$ >/tmp/cgroup/one/cgroup.procs; then
	xdd -op read -targets 1 $FILE -processor 0
	refused 2 'cannot run on processor 0; this process may use: 1 ' "a cpuset and -processor 0"
	xdd -op read -targets 1 $FILE -processor node0
	refused 2 'no processors that this process may use' "a cpuset and -processor node0"
	xdd -op read -targets 1 $FILE -numa 0
	refused 2 'cannot use memory of NUMA node 0; this process may use: 1 ' "a cpuset and -numa 0"
	xdd -op read -targets 1 $FILE -roundrobin 2
	refused 2 '1 to 1, or all; this process may use: 1 ' "a cpuset and -roundrobin 2"
	rest -targets 1 $FILE -sharedmemory -processor all -numa interleave
	placed 0 $PAGES "a cpuset, -processor all -numa interleave"
	end
else
	tap_skip "a cpuset" "this kernel has none"
fi
tap_done
