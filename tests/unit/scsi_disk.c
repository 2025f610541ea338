/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SCSI disk of the unit tests. ioctl is this file's own.
 */
#include "unit.h"

#include <errno.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "io/scsi.h"
#include "scsi_disk.h"
#include "xdd/sys/blockdev.h"

struct disk disk;

const uint8_t no_opcode[18] = { 0x70, [2] = 5, [7] = 10, [12] = 0x20 };
const uint8_t attention[18] = { 0x70, [2] = 6, [7] = 10, [12] = 0x29 };
const uint8_t no_medium[18] = { 0x70, [2] = 2, [7] = 10, [12] = 0x3a };

/* Unrecovered read error at block 5 */
const uint8_t medium_5[18] = { 0xf0, [2] = 3, [6] = 5, [7] = 10, [12] = 0x11 };

static void put_be(uint8_t *p, unsigned n, uint64_t v)
{
	while (n--) {
		p[n] = (uint8_t)v;
		v >>= 8;
	}
}

static void answer(const struct sg_io_hdr *hdr, const uint8_t *data, size_t size)
{
	memcpy(hdr->dxferp, data, size < hdr->dxfer_len ? size : hdr->dxfer_len);
}

static int give_sense(struct sg_io_hdr *hdr, const uint8_t *sense, uint8_t size)
{
	hdr->status = SCSI_CHECK_CONDITION;
	hdr->sb_len_wr = size;
	memcpy(hdr->sbp, sense, size);
	hdr->resid = (int)hdr->dxfer_len;
	return 0;
}

static int do_capacity_10(struct sg_io_hdr *hdr)
{
	uint8_t data[8];

	if (disk.only_16)
		return give_sense(hdr, no_opcode, sizeof(no_opcode));
	put_be(data, 4, disk.last > UINT32_MAX ? UINT32_MAX : disk.last);
	put_be(data + 4, 4, disk.block);
	answer(hdr, data, sizeof(data));
	return 0;
}

static int do_capacity_16(struct sg_io_hdr *hdr)
{
	uint8_t data[32] = { 0 };

	assert_int_equal(hdr->cmdp[1], 0x10);
	assert_int_equal(scsi_get_be32(hdr->cmdp + 10), hdr->dxfer_len);
	put_be(data, 8, disk.last);
	put_be(data + 8, 4, disk.block);
	answer(hdr, data, sizeof(data));
	return 0;
}

static int do_mode_sense(struct sg_io_hdr *hdr)
{
	uint8_t data[4] = { 3, 0, disk.mode, 0 };

	assert_int_equal(hdr->cmdp[4], hdr->dxfer_len);
	if (disk.mode_empty)
		return 0;
	if (!disk.mode)
		return give_sense(hdr, no_opcode, sizeof(no_opcode));
	answer(hdr, data, sizeof(data));
	return 0;
}

static void move(const struct sg_io_hdr *hdr, uint32_t bytes)
{
	bool wide = hdr->cmd_len == 16;
	uint64_t lba = wide ? scsi_get_be64(hdr->cmdp + 2) : scsi_get_be32(hdr->cmdp + 2);

	if (!bytes || lba >= BLOCKS)
		return;
	assert_true(lba * BLOCK + bytes <= sizeof(disk.data));
	if (hdr->dxfer_direction == SG_DXFER_FROM_DEV)
		memcpy(hdr->dxferp, disk.data + lba * BLOCK, bytes);
	else
		memcpy(disk.data + lba * BLOCK, hdr->dxferp, bytes);
}

static int do_transfer(struct sg_io_hdr *hdr)
{
	const struct disk_step *step = disk.n_steps ? disk.steps : NULL;

	disk.commands++;
	disk.cdb_size = hdr->cmd_len;
	memcpy(disk.cdb, hdr->cmdp, hdr->cmd_len);
	if (disk.refuse_above && hdr->dxfer_len > disk.refuse_above) {
		errno = EINVAL;
		return -1;
	}
	if (!step) {
		move(hdr, hdr->dxfer_len);
		return 0;
	}
	disk.steps++;
	disk.n_steps--;
	if (step->refuse) {
		errno = step->refuse;
		return -1;
	}
	if (step->sense)
		give_sense(hdr, step->sense, step->sense_size);
	else
		hdr->status = step->status;
	hdr->host_status = step->host;
	hdr->resid = (int)step->resid;
	if (step->moves)
		move(hdr, hdr->dxfer_len - step->resid);
	return 0;
}

static int do_command(struct sg_io_hdr *hdr)
{
	assert_int_equal(hdr->interface_id, 'S');
	assert_true(hdr->timeout > 0);
	switch (hdr->cmdp[0]) {
	case 0x25:
	case 0x9e:
		if (disk.capacity_failures) {
			disk.capacity_failures--;
			return give_sense(hdr, disk.capacity_sense, sizeof(attention));
		}
		return hdr->cmdp[0] == 0x25 ? do_capacity_10(hdr) : do_capacity_16(hdr);
	case 0x1a:
		return do_mode_sense(hdr);
	default:
		return do_transfer(hdr);
	}
}

static bool is_char(int file)
{
	struct stat st;

	return fstat(file, &st) == 0 && S_ISCHR(st.st_mode);
}

int ioctl(int file, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	switch (request) {
	case SG_IO:
		return do_command(arg);
	case SG_GET_VERSION_NUM:
		if (disk.no_version)
			break;
		*(int *)arg = 30536;
		return 0;
	case BLKSECTGET:
		if (!disk.sectors)
			break;
		if (is_char(file))
			*(int *)arg = disk.sectors * 512;
		else
			*(unsigned short *)arg = disk.sectors;
		return 0;
	case SG_SET_RESERVED_SIZE:
		disk.reserved = *(int *)arg;
		return 0;
	}
	errno = ENOTTY;
	return -1;
}

int new_disk(void **state)
{
	disk = (struct disk){ .last = BLOCKS - 1, .block = BLOCK, .sectors = 1024 };
	for (size_t i = 0; i < sizeof(disk.data); i++)
		disk.data[i] = (uint8_t)(i / BLOCK * 7 + i);
	return 0;
}

void script(const struct disk_step *steps, size_t n)
{
	disk.steps = steps;
	disk.n_steps = n;
}
