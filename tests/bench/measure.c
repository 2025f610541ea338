/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure REPORT COMMAND [ARGUMENT...]: run a command and write its cost to the file REPORT, as one
 * line:
 *
 * 	<wall s> <user s> <system s> <max RSS KiB> <voluntary switches> <involuntary switches>
 *
 * It is a small process of its own, because a child counts as large as the process that forked it,
 * and because no interpreter adds to the time. The status is that of the command; 127 when it
 * could not be run.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage u;
	double start, end;
	int status;
	pid_t pid;
	FILE *f;

	if (argc < 3)
		return 127;
	start = now_s();
	pid = fork();
	if (pid == 0) {
		/* The command ends when this process is killed. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
		return 127;
	end = now_s();
	f = fopen(argv[1], "w");
	if (!f)
		return 127;
	fprintf(f, "%.6f %.6f %.6f %ld %ld %ld\n", end - start, seconds(&u.ru_utime),
		seconds(&u.ru_stime), u.ru_maxrss, u.ru_nvcsw, u.ru_nivcsw);
	if (fclose(f))
		return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
