/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small SCSI disk for unit tests, whose answers a test chooses. A program with scsi_disk.c has an
 * ioctl that drives this disk, whatever file it is called for.
 */
#ifndef TESTS_UNIT_SCSI_DISK_H
#define TESTS_UNIT_SCSI_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BLOCK 512
#define BLOCKS 64

/* The answer to a command, instead of its execution. */
struct disk_step {
	int refuse;	/* errno of the ioctl */
	uint8_t status; /* SCSI_CHECK_CONDITION: with `sense` */
	uint16_t host;
	uint32_t resid;
	bool moves; /* the data goes all the same */
	const uint8_t *sense;
	uint8_t sense_size;
};

struct disk {
	uint64_t last; /* block */
	uint32_t block;
	bool only_16;		       /* no READ CAPACITY (10) */
	const uint8_t *capacity_sense; /* 18 bytes: the next READ CAPACITY commands fail with it */
	unsigned capacity_failures;
	bool no_version;
	unsigned short sectors; /* BLKSECTGET; 0: not known */
	uint32_t refuse_above;	/* bytes; the kernel takes no more */
	uint8_t mode;		/* device-specific parameter of MODE SENSE; 0: not supported */
	bool mode_empty;	/* MODE SENSE moves no bytes */

	const struct disk_step *steps;
	size_t n_steps;

	/* the commands that it got */
	unsigned commands; /* reads and writes */
	uint8_t cdb[16];
	uint8_t cdb_size;
	int reserved;
	uint8_t data[BLOCKS * BLOCK];
};

extern struct disk disk;

/* Sense data. */
extern const uint8_t no_opcode[18], attention[18], no_medium[18];
extern const uint8_t medium_5[18]; /* unrecovered read error at block 5 */

/* For the setup of a test: a disk that answers all commands. */
int new_disk(void **state);

/* Answer the next `n` reads and writes with `steps`, which must stay valid. */
void script(const struct disk_step *steps, size_t n);

#endif
