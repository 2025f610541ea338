#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The sg engine on a simulated SCSI disk: transfers, commands as the disk got them, capacity, errors.
#
# vm: modules scsi_debug sg sd_mod
# Functions are called by name:
# shellcheck disable=SC2317
#
# shellcheck source=tests/vm/lib.sh
. /guest/lib.sh

DEBUG=/sys/bus/pseudo/drivers/scsi_debug
MIB=$((1024 * 1024))
SIZE_MIB=16

# The disk answers according to scsi_debug's options; 1: it also logs each command.
disk_opts() {
	echo "$1" >"$DEBUG/opts"
}

disk_ready() {
	test -b /dev/sda && test -c /dev/sg0
}

new_disk() {
	if [ -d /sys/module/scsi_debug ]; then
		rmmod scsi_debug
	fi
	load scsi_debug dev_size_mb=$SIZE_MIB ndelay=1 "$@" && wait_for 10 disk_ready
}

# commands: the first bytes of the reads and writes that the disk logged since dmesg -c.
commands() {
	dmesg | sed -n 's/.*cmd \([28][8a] .*[0-9a-f]\) *$/\1/p'
}

# region FILE: the first MiB of the disk, past the page cache.
region() {
	dd if=/dev/sda of="$1" bs=1M count=1 iflag=direct 2>/dev/null
}

prefill() {
	dd if=/tmp/pattern of=/dev/sda bs=1M oflag=direct 2>/dev/null
}

# ---- transfers ----

test_reads() {
	xdd -sgio -op read -targets 1 "$1" -blocksize 512 -reqsize 128
	tap_status_is 0 "$1: reads of the whole disk"
	counts_are $((SIZE_MIB * 16)) $((SIZE_MIB * MIB)) "$1: the capacity is the disk's"
	xdd -ioengine sg -op read -targets 1 "$1" -blocksize 512 -reqsize 8 -numreqs 400 -seek random \
		-seek range $((SIZE_MIB * 2048)) -queuedepth 4
	tap_status_is 0 "$1: random reads, depth 4"
	counts_are 400 $((400 * 4096)) "$1: random reads, counts"
}

# changed BLOCK BLOCKS: "yes" where sg has written something else there than the disk held before.
changed() {
	for of in pattern by-sg; do
		dd if="/tmp/$of" of="/tmp/part-$of" bs=512 skip="$1" count="$2" 2>/dev/null
	done
	if cmp -s /tmp/part-pattern /tmp/part-by-sg; then echo no; else echo yes; fi
}

# sg writes the same as psync, and touches nothing else.
test_writes() {
	prefill
	xdd -sgio -op write -targets 1 "$1" -blocksize 512 -reqsize 128 -startoffset 512 -numreqs 4
	tap_status_is 0 "$1: writes"
	counts_are 4 262144 "$1: writes, counts"
	region /tmp/by-sg
	prefill
	xdd -dio -op write -targets 1 /dev/sda -blocksize 512 -reqsize 128 -startoffset 512 -numreqs 4
	region /tmp/by-psync
	tap_check "$1: the disk holds what psync would have written" cmp /tmp/by-sg /tmp/by-psync
	tap_is "$(changed 0 512) $(changed 512 1) $(changed 1023 1) $(changed 1024 1024)" "no yes yes no" \
		"$1: and that alone is changed"
}

# An opening of /dev/sg takes 16 commands at a time.
test_depth() {
	xdd -sgio -op read -rwratio 50 -targets 1 "$1" -blocksize 512 -reqsize 8 -bytes $((2 * MIB)) -queuedepth 64
	tap_status_is 0 "$1: mixed, depth 64"
	counts_are 512 $((2 * MIB)) "$1: mixed, depth 64, counts"
}

test_large_requests() {
	disk_opts 1
	dmesg -c >/dev/null
	xdd -sgio -op read -targets 1 "$1" -blocksize 512 -reqsize 4096 -numreqs 2
	tap_status_is 0 "$1: requests larger than a command"
	counts_are 2 $((4 * MIB)) "$1: requests larger than a command, counts"
	tap_is "$(commands | cut -d' ' -f1,3-9 | tr '\n' ,)" \
		"$(for i in 00 04 08 0c 10 14 18 1c; do printf '28 00 00 %s 00 00 04 00,' "$i"; done)" \
		"$1: they are split into commands of 512 KiB"
	disk_opts 0
}

# verified BY DEVICE PATTERN: the contents of the disk verify, in requests larger than a command too.
verified() {
	# shellcheck disable=SC2086
	xdd $1 -op read -targets 1 "$2" -blocksize 512 -reqsize 2048 -bytes $((2 * MIB)) -queuedepth 2 \
		-datapattern "$3" -verify contents
	tap_status_is 0 "$2: $3: $1 finds right what was written"
}

# Each engine verifies the data of the other, and both find a wrong byte.
test_data() {
	pattern=tagged
	xdd -sgio -op write -targets 1 "$1" -blocksize 512 -reqsize 2048 -bytes $((2 * MIB)) -queuedepth 2 \
		-datapattern "$pattern" -force "$1"
	tap_status_is 0 "$1: $pattern: -sgio writes"
	verified -sgio "$1" "$pattern"
	verified -dio /dev/sda "$pattern"
	xdd -dio -op write -targets 1 /dev/sda -blocksize 512 -reqsize 2048 -bytes $((2 * MIB)) -queuedepth 2 \
		-datapattern "$pattern" -force /dev/sda
	verified -sgio "$1" "$pattern"
	dd if=/tmp/pattern of=/dev/sda bs=512 count=1 seek=3001 conv=notrunc oflag=direct 2>/dev/null
	xdd -sgio -op read -targets 1 "$1" -blocksize 512 -reqsize 2048 -bytes $((2 * MIB)) -queuedepth 2 \
		-datapattern "$pattern" -verify contents
	tap_status_is 7 "$1: $pattern: -sgio finds what is wrong"
	tap_is "$(grep -c 'DATA MISCOMPARE.* operation 1 of pass 1: .* at offset 153651[23] ' "$tap_err")" 1 \
		"$1: $pattern: and says where" || tap_show_run
	xdd -sgio -rwratio 50 -targets 1 "$1" -blocksize 512 -reqsize 8 -numreqs 400 -seek random -seek range 1024 \
		-queuedepth 4 -datapattern tagged -verify contents -force "$1"
	tap_status_is 0 "$1: reads and writes, verified"
	counts_are 400 $((400 * 4096)) "$1: reads and writes, verified, counts"
	# Sectors that cannot be read are no miscompares, and the others are verified.
	xdd -sgio -op write -targets 1 "$1" -blocksize 512 -reqsize 8 -startoffset 4096 -bytes "$MIB" \
		-datapattern tagged -force "$1"
	disk_opts 2
	xdd -sgio -op read -targets 1 "$1" -blocksize 512 -reqsize 8 -startoffset 4096 -bytes "$MIB" \
		-datapattern tagged -verify contents
	tap_status_is 6 "$1: a medium error while verifying"
	tap_is "$(grep -c 'I/O ERROR' "$tap_err") $(grep -c MISCOMPARE "$tap_err")" "2 0" \
		"$1: a medium error is no miscompare" || tap_show_run
	disk_opts 0
}

# flushes: the number of commands to empty the cache of the disk since dmesg -c.
flushes() {
	dmesg | grep -c 'cmd 35 00 '
}

test_flush() {
	disk_opts 1
	dmesg -c >/dev/null
	xdd -sgio -op write -targets 1 "$1" -blocksize 512 -reqsize 8 -numreqs 9 -passes 2 -flushwrite 4 -force "$1" \
		-outputformat add +FLUSHES
	tap_is "$tap_status $(flushes) $(column Flushes)" "0 4 4" "$1: -flushwrite 4: two in each pass of 9 operations"
	dmesg -c >/dev/null
	xdd -sgio -op write -targets 1 "$1" -blocksize 512 -reqsize 8 -numreqs 9 -passes 2 -syncwrite -force "$1" \
		-outputformat add +FLUSHES
	tap_is "$tap_status $(flushes) $(column Flushes)" "0 2 2" "$1: -syncwrite: one in each pass"
	disk_opts 0
}

# With -force the contents of the disk are not examined, and all commands are those of the engine.
test_cache_bits() {
	for words in fua:08 dpo:10 "fua dpo:18"; do
		disk_opts 1
		dmesg -c >/dev/null
		# shellcheck disable=SC2086
		xdd -ioengine sg ${words%:*} -op write -targets 1 "$1" -blocksize 512 -reqsize 8 -numreqs 1 -force "$1"
		tap_status_is 0 "$1: ${words%:*} is taken"
		tap_is "$(commands | cut -d' ' -f1-9)" "2a ${words#*:} 00 00 00 00 00 00 08" "$1: and reaches the disk"
		disk_opts 0
	done
}

# ---- errors ----

# The disk cannot read its blocks 0x1234 to 0x123d: of requests of 8 blocks, two fail; it moves nothing of those.
test_medium_error() {
	disk_opts 2
	xdd -sgio -op read -targets 1 "$1" -blocksize 512 -reqsize 8 -startoffset 4096 -bytes "$MIB" -queuedepth 4
	tap_status_is 6 "$1: a medium error: status 6"
	counts_are 254 $((254 * 4096)) "$1: a medium error, counts"
	tap_stderr_like 'medium error, unrecovered read error \(3/11/00\) at LBA 4660' "$1: the sense data is decoded"
	tap_is "$(grep -c 'I/O ERROR' "$tap_err")" 2 "$1: two errors are reported"
	# One at a time: the block layer makes one command of neighbours, which then fail together.
	xdd -dio -op read -targets 1 /dev/sda -blocksize 512 -reqsize 8 -startoffset 4096 -bytes "$MIB"
	counts_are 254 $((254 * 4096)) "$1: a medium error, counts of psync"
	disk_opts 0
	xdd -sgio -op read -targets 1 "$1" -blocksize 512 -reqsize 8 -startoffset 4096 -bytes "$MIB" -queuedepth 4
	tap_status_is 0 "$1: no error once the disk is well"
}

test_ends() {
	xdd -sgio -op read -targets 1 "$1" -blocksize 512 -reqsize 128 -startoffset $((SIZE_MIB * 2048)) -numreqs 1
	refused 2 "device has $SIZE_MIB MiB" "$1: past the end"
	xdd -sgio -op read -targets 1 "$1" -blocksize 100 -reqsize 1 -numreqs 1
	refused 2 'whole blocks of the device' "$1: no whole blocks"
	xdd -sgio -dio -op read -targets 1 "$1" -blocksize 512 -reqsize 8 -numreqs 1
	tap_status_is 0 "$1: -dio changes nothing"
}

test_delay() {
	echo 20000000 >"$DEBUG/ndelay"
	xdd -sgio -op read -targets 1 "$1" -blocksize 512 -reqsize 8 -numreqs 20 -queuedepth 2
	tap_status_is 0 "$1: a slow disk"
	tap_check "$1: its delay of 20 ms is seen: $(column Latency) ms" \
		awk -v ms="$(column Latency)" 'BEGIN { exit !(ms >= 20 && ms < 1000) }'
	echo 1 >"$DEBUG/ndelay"
}

test_refusals() {
	echo text >/tmp/file
	xdd -sgio -op read -targets 1 /tmp/file -blocksize 1 -reqsize 1 -numreqs 1
	refused 2 'needs a SCSI device' "a plain file"
	xdd -sgio -op read -targets 1 /dev/zero -numreqs 1
	refused 2 'takes no SCSI commands' "a character device of another kind"
	xdd -sgio -op read -targets 1 /dev/sg7 -numreqs 1
	refused 4 'No such file' "a device that is not there"
}

# ---- other disks ----

test_partition() {
	new_disk num_parts=1 && wait_for 5 test -b /dev/sda1
	xdd -sgio -op read -targets 1 /dev/sda1 -blocksize 512 -reqsize 1 -numreqs 1
	refused 2 'is a partition' "a partition"
}

test_large_blocks() {
	new_disk sector_size=4096
	for dev in /dev/sg0 /dev/sda; do
		xdd -sgio -op read -targets 1 "$dev" -blocksize 4096 -reqsize 16
		tap_status_is 0 "$dev: blocks of 4096 bytes"
		counts_are $((SIZE_MIB * 16)) $((SIZE_MIB * MIB)) "$dev: blocks of 4096 bytes, counts"
		xdd -sgio -op read -targets 1 "$dev" -blocksize 512 -reqsize 1 -numreqs 1
		refused 2 'whole blocks of the device' "$dev: requests of 512 bytes on them"
	done
}

test_write_protected() {
	new_disk wp=1
	xdd -sgio -op write -targets 1 /dev/sg0 -blocksize 512 -reqsize 1 -numreqs 1
	refused 2 'write-protected' "a write-protected disk"
	xdd -sgio -op read -targets 1 /dev/sg0 -blocksize 512 -reqsize 1 -numreqs 1
	tap_status_is 0 "a write-protected disk can be read"
}

# 4 TiB, of which little is there: addresses past 32 bits want (16) commands.
test_large_disk() {
	new_disk virtual_gb=4096
	for dev in /dev/sg0 /dev/sda; do
		xdd -sgio -op read -targets 1 "$dev" -blocksize 512 -startoffset $((4096 * 2097152)) -numreqs 1
		refused 2 'device has 4 TiB' "$dev: 4 TiB"
		disk_opts 1
		dmesg -c >/dev/null
		xdd -sgio -op write -targets 1 "$dev" -blocksize 512 -reqsize 1 -startoffset 4294967295 -numreqs 2 \
			-force "$dev"
		xdd -sgio -op read -targets 1 "$dev" -blocksize 512 -reqsize 1 -startoffset 4294967296 -numreqs 1
		disk_opts 0
		tap_is "$(commands | cut -d' ' -f1-16 | tr -s ' \n' ' ,')" \
			"2a 00 ff ff ff ff 00 00 01 00,$(for op in 8a 88; do
				printf '%s 00 00 00 00 01 00 00 00 00 00 00 00 01 00 00,' $op
			done)" "$dev: (10) up to 2 TiB, (16) beyond"
	done
}

setup() {
	load sg && load sd_mod && new_disk
}

setup || give_up "a simulated disk"
dd if=/dev/urandom of=/tmp/pattern bs=1M count=1 2>/dev/null

# One ioctl serves both devices: they differ in how they are opened, in their size and in their largest command.
for name in reads writes depth large_requests data flush cache_bits medium_error ends delay; do
	"test_$name" /dev/sg0
done
for name in reads writes large_requests medium_error ends; do
	"test_$name" /dev/sda
done
test_refusals
test_partition
test_large_blocks
test_write_protected
test_large_disk
tap_done
