#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The overwrite guard on devices that other machines may not have: disks held by the device mapper, and the
# disks of /dev/sg*.
#
# vm: modules null_blk dm-mod scsi_debug sg sd_mod
# vm: programs dmsetup
# Functions are called by name:
# shellcheck disable=SC2317
#
# shellcheck source=tests/vm/lib.sh
. /guest/lib.sh

WORK="-op write -blocksize 4096 -reqsize 1 -numreqs 4"
NEVER="not written to, not even with -force"

disk_ready() {
	test -b /dev/sda && test -c /dev/sg0
}

# sum DEVICE: the checksum of its contents.
sum() {
	dd if="$1" bs=1M iflag=direct 2>/dev/null | md5sum
}

# held UUID ERE: with a mapping of that UUID over the disk, the refusal of the disk matches ERE.
held() {
	dmsetup create held --uuid "$1" --noudevsync --table "0 2048 linear /dev/nullb0 0" || tap_fail "$1: dmsetup"
	dmsetup mknodes held
	for force in "" "-force /dev/nullb0"; do
		# Words:
		# shellcheck disable=SC2086
		xdd $WORK -targets 1 /dev/nullb0 $force
		refused 4 "it is part of the $2.*$NEVER" "a disk held by $1${force:+, -force}"
	done
	# shellcheck disable=SC2086
	xdd $WORK -targets 1 /dev/mapper/held
	tap_status_is 0 "what holds it may be written to: $1"
	dmsetup remove --noudevsync held
}

memory_device nullb0 || give_up "null_blk"
load dm_mod || give_up "dm-mod"
held mpath-3600 'multipath device held \(dm-0\)'
held LVM-0123 'LVM volume held \(dm-0\)'
held CRYPT-LUKS2-0123-held 'LUKS device held \(dm-0\)'
held other 'device-mapper device held \(dm-0\)'
# shellcheck disable=SC2086
xdd $WORK -targets 1 /dev/nullb0
tap_status_is 0 "a disk that nothing holds any more"

if ! load sg || ! load sd_mod || ! load scsi_debug dev_size_mb=16 ndelay=1 || ! wait_for 10 disk_ready; then
	give_up "scsi_debug"
fi
for engine in "-sgio" "-ioengine sg"; do
	# shellcheck disable=SC2086
	xdd $engine $WORK -blocksize 512 -targets 1 /dev/sg0
	tap_status_is 0 "$engine: a blank disk"
	mkswap /dev/sda >/dev/null
	before=$(sum /dev/sda)
	# shellcheck disable=SC2086
	xdd $engine $WORK -blocksize 512 -targets 1 /dev/sg0
	refused 4 "it carries swap space.*-force /dev/sg0" "$engine: swap space on its disk"
	tap_is "$(sum /dev/sda)" "$before" "$engine: not a byte has changed"
	# shellcheck disable=SC2086
	xdd $engine $WORK -blocksize 512 -targets 1 /dev/sg0 -force /dev/sda -flushwrite 2 -syncwrite
	tap_status_is 0 "$engine: -force by the name of the disk"
	mkswap /dev/sda >/dev/null
	swapon /dev/sda
	# shellcheck disable=SC2086
	xdd $engine $WORK -blocksize 512 -targets 1 /dev/sg0 -force /dev/sg0
	refused 4 "it is in use as swap space.*$NEVER" "$engine: swap in use"
	swapoff /dev/sda
	dd if=/dev/zero of=/dev/sda bs=1M oflag=direct 2>/dev/null
done

# Without its driver the disk has no block device, and cannot be checked.
device=$(basename "$(readlink /sys/class/scsi_generic/sg0/device)")
if echo "$device" >/sys/bus/scsi/drivers/sd/unbind; then
	for force in "" "-force /dev/sg0"; do
		# shellcheck disable=SC2086
		xdd -sgio $WORK -blocksize 512 -targets 1 /dev/sg0 $force
		refused 4 "the kernel does not name its disk" "a disk without a driver${force:+, -force}"
	done
	xdd -sgio -op read -blocksize 512 -reqsize 1 -numreqs 4 -targets 1 /dev/sg0
	tap_status_is 0 "a disk without a driver may be read"
	echo "$device" >/sys/bus/scsi/drivers/sd/bind
else
	tap_skip "a disk without a driver" "sd cannot be unbound"
fi
tap_done
