/*
 * xdd compare: what differs between documents of -jsonout.
 */
#ifndef XDD_REPORT_COMPARE_H
#define XDD_REPORT_COMPARE_H

/* Exit statuses; the first three are those of diff(1). */
enum compare_status {
	COMPARE_SAME = 0,      /* no real difference between the results; no limit is exceeded */
	COMPARE_DIFFERENT = 1, /* a real difference; not with -failif */
	COMPARE_TROUBLE = 2,   /* bad arguments or documents: one line was given to log_error() */
	COMPARE_INCOMPARABLE = 3, /* too few passes to say; a limit of -failif cannot be judged */
	COMPARE_LIMIT = 4,	  /* a limit of -failif is exceeded */
};

/*
 * The whole command: `argv[0]` is the word compare, options and files follow. Writes to standard
 * output. Returns the exit status. Called by main, while there are no other threads.
 */
enum compare_status compare_main(int argc, char **argv);

#endif
