/*
 * SCSI devices: src/io/engine_sg.c, src/io/scsi.c where it talks to one, src/sys/scsi_command.c,
 * src/sys/scsi_capacity.c.
 *
 * ioctl is this file's own: it drives a small disk whose answers the tests choose.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engines.h"
#include "io/scsi.h"
#include "xdd/io/engine.h"
#include "xdd/sys/scsi_capacity.h"
#include "xdd/sys/scsi_command.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BLOCK 512
#define BLOCKS 64

/* ---- the disk ---- */

/* The answer to a command, instead of its execution. */
struct step {
	int refuse;	/* errno of the ioctl */
	uint8_t status; /* SCSI_CHECK_CONDITION: with `sense` */
	uint16_t host;
	uint32_t resid;
	bool moves; /* the data goes all the same */
	const uint8_t *sense;
	uint8_t sense_size;
};

static struct disk {
	uint64_t last; /* block */
	uint32_t block;
	bool only_16; /* no READ CAPACITY (10) */
	bool no_version;
	unsigned short sectors; /* BLKSECTGET; 0: not known */
	uint32_t refuse_above;	/* bytes; the kernel takes no more */
	uint8_t mode;		/* device-specific parameter of MODE SENSE; 0: not supported */

	const struct step *steps;
	size_t n_steps;

	/* the commands that it got */
	unsigned commands; /* reads and writes */
	uint8_t cdb[16];
	uint8_t cdb_size;
	int reserved;
	uint8_t data[BLOCKS * BLOCK];
} disk;

static const uint8_t no_opcode[18] = { 0x70, [2] = 5, [7] = 10, [12] = 0x20 };
static const uint8_t attention[18] = { 0x70, [2] = 6, [7] = 10, [12] = 0x29 };
static const uint8_t no_medium[18] = { 0x70, [2] = 2, [7] = 10, [12] = 0x3a };

/* Unrecovered read error at block 5 */
static const uint8_t medium_5[18] = { 0xf0, [2] = 3, [6] = 5, [7] = 10, [12] = 0x11 };

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
	put_be(data, 8, disk.last);
	put_be(data + 8, 4, disk.block);
	answer(hdr, data, sizeof(data));
	return 0;
}

static int do_mode_sense(struct sg_io_hdr *hdr)
{
	uint8_t data[4] = { 3, 0, disk.mode, 0 };

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
	const struct step *step = disk.n_steps ? disk.steps : NULL;

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
		return do_capacity_10(hdr);
	case 0x9e:
		return do_capacity_16(hdr);
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

static int new_disk(void **state)
{
	(void)state;
	disk = (struct disk){ .last = BLOCKS - 1, .block = BLOCK, .sectors = 1024 };
	for (size_t i = 0; i < sizeof(disk.data); i++)
		disk.data[i] = (uint8_t)(i / BLOCK * 7 + i);
	return 0;
}

static void script(const struct step *steps, size_t n)
{
	disk.steps = steps;
	disk.n_steps = n;
}

/* ---- capacity ---- */

static void test_capacity(void **state)
{
	uint64_t bytes;
	uint32_t block;

	(void)state;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), 0);
	assert_int_equal(bytes, BLOCKS * BLOCK);
	assert_int_equal(block, BLOCK);

	/* the largest that READ CAPACITY (10) can tell, and one more */
	disk.last = 0xfffffffe;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), 0);
	assert_int_equal(bytes, 0xffffffffull * BLOCK);
	disk.last = 0xffffffff;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), 0);
	assert_int_equal(bytes, 0x100000000ull * BLOCK);

	disk.last = 0x123456789aull;
	disk.block = 4096;
	disk.only_16 = true;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), 0);
	assert_int_equal(bytes, 0x123456789bull * 4096);
	assert_int_equal(block, 4096);
}

static void test_capacity_fails(void **state)
{
	uint64_t bytes;
	uint32_t block;

	(void)state;
	disk.block = 0;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), -ENOMEDIUM);
	disk.block = BLOCK;
	disk.last = UINT64_MAX;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), -EOVERFLOW);
	disk.last = UINT64_MAX / 2;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), -EOVERFLOW);
	disk.no_version = true;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), -ENOTTY);
	assert_int_equal(scsi_capacity("/dev/null", &bytes, &block), -ENOTTY);
	assert_int_equal(scsi_capacity("/nonexistent/sg", &bytes, &block), -ENOENT);
}

/* ---- the engine ---- */

extern const struct engine engine_sg;

static struct target_plan target;
static void *ctx;
static uint8_t buf[BLOCKS * BLOCK];
static int fd = -1;

static void start_on(int file)
{
	struct engine_params params = {
		.target = &target,
		.fd = file,
		.depth = 1,
	};

	fd = file;
	assert_true(fd >= 0);
	target.req_bytes = sizeof(buf);
	if (!target.engine_options)
		target.engine_options = engine_options("sg", "");
	assert_int_equal(engine_sg.init(&ctx, &params), 0);
	disk.commands = 0;
	memset(buf, 0, sizeof(buf));
}

/* As on a block device. */
static void start(void)
{
	start_on(memfd_create("disk", MFD_CLOEXEC));
}

static int end(void **state)
{
	(void)state;
	engine_sg.fini(ctx);
	ctx = NULL;
	if (fd >= 0)
		close(fd);
	fd = -1;
	target = (struct target_plan){ 0 };
	return 0;
}

/* One request by blocks; the result is in it. */
static struct io_request submit(enum op_dir dir, uint64_t block, uint64_t blocks)
{
	struct io_request req = {
		.dir = dir,
		.buf = buf,
		.offset = block * BLOCK,
		.size = blocks * BLOCK,
	};

	assert_int_equal(engine_sg.submit(ctx, &req), 0);
	return req;
}

static void assert_result(const struct io_request *req, uint64_t blocks, int error)
{
	assert_int_equal(req->done, blocks * BLOCK);
	assert_int_equal(req->error, error);
}

static void assert_explained(const struct io_request *req, const char *wanted)
{
	char text[96] = "?";

	engine_sg.explain(ctx, req, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static void test_transfers(void **state)
{
	struct io_request req;

	(void)state;
	start();
	req = submit(DIR_READ, 3, 7);
	assert_result(&req, 7, 0);
	assert_memory_equal(buf, disk.data + 3 * BLOCK, 7 * BLOCK);
	assert_int_equal(disk.cdb[0], 0x28);
	assert_int_equal(disk.commands, 1);

	memset(buf, 0xa5, sizeof(buf));
	req = submit(DIR_WRITE, 60, 4);
	assert_result(&req, 4, 0);
	assert_memory_equal(buf, disk.data + 60 * BLOCK, 4 * BLOCK);

	req = submit(DIR_NOOP, 0, 4);
	assert_result(&req, 4, 0);
	assert_int_equal(disk.commands, 2);
}

static void test_large_address(void **state)
{
	struct io_request req;

	(void)state;
	disk.last = 0x1ffffffff;
	target.engine_options = engine_options("sg", "fua dpo");
	start();
	req = submit(DIR_WRITE, 0xffffffff, 1);
	assert_result(&req, 1, 0);
	assert_int_equal(disk.cdb_size, 10);
	req = submit(DIR_WRITE, 0x100000000, 1);
	assert_result(&req, 1, 0);
	assert_int_equal(disk.cdb_size, 16);
	assert_int_equal(disk.cdb[0], 0x8a);
	assert_int_equal(disk.cdb[1], 0x18);
}

static void test_split(void **state)
{
	struct io_request req;

	(void)state;
	disk.sectors = 10;
	start();
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_memory_equal(buf, disk.data, sizeof(buf));
	assert_int_equal(disk.commands, 7);
}

/* The kernel says it takes more than it does: halves are tried, and remembered. */
static void test_split_when_refused(void **state)
{
	struct io_request req;

	(void)state;
	disk.refuse_above = 20 * BLOCK;
	start();
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_memory_equal(buf, disk.data, sizeof(buf));
	assert_int_equal(disk.commands, 2 + 4);
	disk.commands = 0;
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 4);

	/* Not even one block: that is the error. */
	disk.refuse_above = BLOCK - 1;
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 0, -EINVAL);
	assert_explained(&req, "");
}

/*
 * EINVAL has other causes than the size, such as a buffer that is not aligned: later commands are
 * as large as before.
 */
static void test_refused_for_another_reason(void **state)
{
	static const struct step refused[] = {
		{ .refuse = EINVAL }, { .refuse = EINVAL }, { .refuse = EINVAL },
		{ .refuse = EINVAL }, { .refuse = EINVAL }, { .refuse = EINVAL },
		{ .refuse = EINVAL },
	};
	static const struct step once[] = { { .refuse = EINVAL } };
	static const struct step short_of_memory[] = { { .refuse = ENOMEM } };
	struct io_request req;

	(void)state;
	start();
	script(refused, COUNT(refused));
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 0, -EINVAL);
	assert_int_equal(disk.n_steps, 0);
	disk.commands = 0;
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 1);

	/* commands of that size have been accepted */
	script(once, COUNT(once));
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 1 + 3);
	script(short_of_memory, COUNT(short_of_memory));
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 1 + 3 + 3);
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 1 + 3 + 3 + 1);
}

static void test_short_transfer(void **state)
{
	static const struct step steps[] = {
		{ .resid = 3 * BLOCK, .moves = true },
		{ .resid = BLOCK + 100, .moves = true },
	};
	static const struct step nothing[] = { { .resid = 8 * BLOCK } };
	struct io_request req;

	(void)state;
	start();
	script(steps, COUNT(steps));
	req = submit(DIR_READ, 8, 8);
	assert_result(&req, 8, 0);
	assert_memory_equal(buf, disk.data + 8 * BLOCK, 8 * BLOCK);
	assert_int_equal(disk.commands, 3);

	script(nothing, COUNT(nothing));
	req = submit(DIR_READ, 8, 8);
	assert_result(&req, 0, -EIO);
	assert_explained(&req, "the device moved nothing and gave no reason");
}

static void test_end_of_device(void **state)
{
	struct io_request req;

	(void)state;
	start();
	req = submit(DIR_READ, 60, 8);
	assert_result(&req, 4, -ENODATA);
	assert_explained(&req, "");
	req = submit(DIR_WRITE, 60, 8);
	assert_result(&req, 4, -ENOSPC);
	req = submit(DIR_READ, 64, 1);
	assert_result(&req, 0, -ENODATA);
	req = submit(DIR_READ, UINT64_MAX / BLOCK, 1);
	assert_result(&req, 0, -ENODATA);
}

static void test_attention(void **state)
{
	static const struct step twice[] = {
		{ .sense = attention, .sense_size = sizeof(attention) },
		{ .sense = attention, .sense_size = sizeof(attention) },
	};
	struct step always[16];
	struct io_request req;

	(void)state;
	start();
	script(twice, COUNT(twice));
	req = submit(DIR_READ, 0, 4);
	assert_result(&req, 4, 0);
	assert_int_equal(disk.commands, 3);

	for (size_t i = 0; i < COUNT(always); i++)
		always[i] = twice[0];
	script(always, COUNT(always));
	disk.commands = 0;
	req = submit(DIR_READ, 0, 4);
	assert_result(&req, 0, -EAGAIN);
	assert_int_equal(disk.commands, 4);
	assert_explained(&req, "unit attention, power on, reset, or bus device reset occurred "
			       "(6/29/00)");
}

static void test_errors(void **state)
{
	static const struct step medium[] = {
		{ .sense = medium_5, .sense_size = sizeof(medium_5), .moves = true },
	};
	static const struct step not_there[] = {
		{ .sense = no_medium, .sense_size = sizeof(no_medium) },
	};
	static const struct step timeout[] = { { .host = 0x03 } };
	static const struct step refused[] = { { .refuse = EPERM } };
	struct io_request req;

	(void)state;
	start();
	script(medium, COUNT(medium));
	req = submit(DIR_READ, 2, 8);
	assert_result(&req, 3, -EIO);
	assert_memory_equal(buf, disk.data + 2 * BLOCK, 3 * BLOCK);
	assert_explained(&req, "medium error, unrecovered read error (3/11/00) at LBA 5");

	script(not_there, COUNT(not_there));
	req = submit(DIR_READ, 0, 8);
	assert_result(&req, 0, -ENOMEDIUM);
	script(timeout, COUNT(timeout));
	req = submit(DIR_READ, 0, 8);
	assert_result(&req, 0, -ETIMEDOUT);
	script(refused, COUNT(refused));
	req = submit(DIR_READ, 0, 8);
	assert_result(&req, 0, -EPERM);
	assert_explained(&req, "");

	/* It goes on after all that. */
	req = submit(DIR_READ, 0, 8);
	assert_result(&req, 8, 0);
}

static void test_unaligned(void **state)
{
	struct io_request req = { .dir = DIR_READ, .buf = buf, .offset = 100, .size = BLOCK };

	(void)state;
	start();
	assert_int_equal(engine_sg.submit(ctx, &req), 0);
	assert_result(&req, 0, -EINVAL);
	assert_explained(&req, "not whole blocks of the device");
	req = (struct io_request){ .dir = DIR_READ, .buf = buf, .size = BLOCK + 1 };
	assert_int_equal(engine_sg.submit(ctx, &req), 0);
	assert_result(&req, 0, -EINVAL);
	assert_int_equal(disk.commands, 0);
}

static void test_describe(void **state)
{
	char text[96];

	(void)state;
	start();
	engine_sg.describe(ctx, text, sizeof(text));
	assert_string_equal(text, "64 blocks of 512 bytes, at most 512 KiB in one command");
}

/* A character device is opened again for each context, and a command's worth of memory reserved. */
static void test_char_device(void **state)
{
	struct io_request req;

	(void)state;
	disk.sectors = 10;
	start_on(open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_int_equal(disk.reserved, 10 * 512);
	/* The context does not need the first opening. */
	close(fd);
	fd = -1;
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 7);
}

/* /dev/null stands for the device. */
static int check(const char *path, const char **why)
{
	target.path = path;
	if (!target.engine_options)
		target.engine_options = engine_options("sg", "");
	target.req_bytes = target.last_op_bytes = target.block_size = BLOCK;
	*why = NULL;
	return engine_sg.check(&target, why);
}

static void test_check(void **state)
{
	const char *why;

	(void)state;
	target.op = OP_READ;
	assert_int_equal(check("/dev/null", &why), 0);
	assert_int_equal(check("/nonexistent/sg0", &why), -ENOENT);
	assert_non_null(strstr(why, "no such device"));
	assert_int_equal(check("/proc/self/exe", &why), -ENOTBLK);
	assert_non_null(strstr(why, "wants a SCSI device"));

	target.start_bytes = 100;
	assert_int_equal(check("/dev/null", &why), -EINVAL);
	assert_non_null(strstr(why, "whole blocks"));
	target.start_bytes = 0;

	disk.no_version = true;
	assert_int_equal(check("/dev/null", &why), -ENOTTY);
	assert_non_null(strstr(why, "takes no SCSI commands"));
	disk.no_version = false;
	disk.block = 0;
	assert_int_equal(check("/dev/null", &why), -ENOMEDIUM);
	assert_non_null(strstr(why, "no medium"));
}

static void test_check_abilities(void **state)
{
	const char *why;

	(void)state;
	target.op = OP_WRITE;
	disk.mode = 0x80;
	assert_int_equal(check("/dev/null", &why), -EROFS);
	assert_string_equal(why, "the device is write-protected");
	target.op = OP_READ;
	assert_int_equal(check("/dev/null", &why), 0);
	target.engine_options = engine_options("sg", "fua");
	assert_int_equal(check("/dev/null", &why), -EOPNOTSUPP);
	assert_non_null(strstr(why, "fua"));
	disk.mode = 0x10;
	assert_int_equal(check("/dev/null", &why), 0);
	/* A device that does not say is tried. */
	disk.mode = 0;
	assert_int_equal(check("/dev/null", &why), 0);
}

static void test_sync_cache(void **state)
{
	static const struct step unknown[] = {
		{ .sense = no_opcode, .sense_size = sizeof(no_opcode) },
	};
	static const struct step failing[] = {
		{ .sense = attention, .sense_size = sizeof(attention) },
		{ .sense = medium_5, .sense_size = sizeof(medium_5) },
	};

	(void)state;
	assert_int_equal(sg_sync_cache(3), 0);
	assert_int_equal(disk.cdb[0], 0x35);
	script(unknown, COUNT(unknown));
	assert_int_equal(sg_sync_cache(3), 0);
	script(failing, COUNT(failing));
	assert_int_equal(sg_sync_cache(3), -EIO);
}

#define DISK_TEST(f) cmocka_unit_test_setup_teardown(f, new_disk, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DISK_TEST(test_capacity),
		DISK_TEST(test_capacity_fails),
		DISK_TEST(test_transfers),
		DISK_TEST(test_large_address),
		DISK_TEST(test_split),
		DISK_TEST(test_split_when_refused),
		DISK_TEST(test_refused_for_another_reason),
		DISK_TEST(test_short_transfer),
		DISK_TEST(test_end_of_device),
		DISK_TEST(test_attention),
		DISK_TEST(test_errors),
		DISK_TEST(test_unaligned),
		DISK_TEST(test_describe),
		DISK_TEST(test_char_device),
		DISK_TEST(test_check),
		DISK_TEST(test_check_abilities),
		DISK_TEST(test_sync_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
