/*
 * How large a SCSI disk is, asked from the device itself: /dev/sg* has no size of its own. No
 * state; any thread.
 */
#ifndef XDD_SYS_SCSI_CAPACITY_H
#define XDD_SYS_SCSI_CAPACITY_H

#include <stdint.h>

/*
 * Ask for the capacity in bytes and the size of a block. `path` is opened for reading, without
 * waiting for a medium, and closed again; nothing is changed. Returns 0 or -errno, among them
 *
 *	-ENOTTY      not a SCSI device
 *	-EOPNOTSUPP  a SCSI device that is no disk: it has no capacity
 *	-ENOMEDIUM   no medium, or not ready
 *	-EACCES, -EPERM  no permission to open it, to send it commands
 */
int scsi_capacity(const char *path, uint64_t *bytes, uint32_t *block);

/* As scsi_capacity(), for an open device. */
int scsi_capacity_fd(int fd, uint64_t *bytes, uint32_t *block);

#endif
