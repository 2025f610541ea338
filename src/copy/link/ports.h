/*
 * Programs that have TCP ports of this host, found through /proc. For data_listen.c.
 */
#ifndef COPY_LINK_PORTS_H
#define COPY_LINK_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#define PORT_OWNER_SIZE 64

/*
 * Describe the program that listens on `port`: "process 1234 (nginx)". False: there is none, or it
 * cannot be seen, as those of other users. Any thread.
 */
bool port_owner(uint16_t port, char text[PORT_OWNER_SIZE]);

/*
 * Send SIGTERM to the other xdd processes of this user that listen on `n` ports from `first` on.
 * Returns how many these are. Any thread.
 */
unsigned ports_end_own(uint16_t first, unsigned n);

#endif
