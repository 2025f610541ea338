/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entry of the program, under all its names (xdd, xdd.Linux, timeserver, gettime): prepares the
 * process and selects the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/status.h"
#include "xdd/commands/command.h"
#include "xdd/report/jvalue.h"
#include "xdd/run/run.h"
#include "xdd/sys/clock.h"

_Noreturn static void no_stream(void)
{
	log_error("cannot open /dev/null in place of a standard stream that is closed: %s",
		  strerror(errno));
	_exit(XDD_INIT_FAILED);
}

/*
 * If the caller closed a standard stream, the next file opened would get its number, and results or
 * messages would end up in a target. Every access to the substitute fails.
 */
static void occupy_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			no_stream();
	}
}

int main(int argc, char **argv)
{
	int words;
	const struct command *command = command_of(argc, argv, &words);

	signals_block_progress();
	clock_start();
	jvalue_start();
	occupy_standard_streams();
	/* The parent may ignore the ends of its children; this process waits for its own. */
	signal(SIGCHLD, SIG_DFL);
	/* A reader that goes away is an error of a write, to be reported, not a reason to die. */
	signal(SIGPIPE, SIG_IGN);
	/*
	 * A file that reaches the limit on its size is an error as well: the write of the target or
	 * output fails with EFBIG.
	 */
	signal(SIGXFSZ, SIG_IGN);
	if (hold_start())
		return XDD_BAD_ARGUMENT;
	return command->main(argc - words, argv + words);
}
