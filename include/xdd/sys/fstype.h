/*
 * Names of file systems by the number that statfs(2) gives. Any thread; no state.
 */
#ifndef XDD_SYS_FSTYPE_H
#define XDD_SYS_FSTYPE_H

#define FSTYPE_SIZE 24

/* The name, or the number in hexadecimal where no name is known, in `buf`. Returns `buf`. */
const char *fstype_name(unsigned long magic, char buf[FSTYPE_SIZE]);

#endif
