/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of questions and answers. Called by the help, and by mkdoc.
 */
#include "xdd/commands/question.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const struct question questions[] = {
	{ .word = "engine",
	  .also = "engines,which engine,io_uring or psync,psync or io_uring",
	  .heading = "Which engine, and why?",
	  .answer =
		  "psync is the default of a run, and -ioengine chooses another one. Its figures "
		  "depend on no permission and on no version of the kernel, it is the fastest "
		  "engine through the page cache, and each request has a QThread, which -processor, "
		  "-ordering and -qthreadinfo are about. Each result names its engine, and says \"by "
		  "default\" where no -ioengine named it.\n"
		  "xdd check takes io_uring for direct I/O where the kernel allows it, else libaio, "
		  "else psync, and prints the -ioengine that gives a run the same. A run with "
		  "-ioengine io_uring is refused where the kernel refuses io_uring, so that a figure never comes from another engine than was named.\n"
		  "  your run                             engine\n"
		  "  through the page cache (no -dio)     psync\n"
		  "  -dio, depth 1                        psync\n"
		  "  -dio, depth above the processors     io_uring: less CPU time per request\n"
		  "  the same, and io_uring is refused    libaio\n"
		  "  fread(), or a mapped file            stdio, mmap\n"
		  "  SCSI commands                        sg\n"
		  "  only what xdd itself costs           any, with -target null\n"
		  "Measured on a virtual machine with 2 processors, which others used too (Linux 6.18, "
		  "random reads of 4 KiB, medians of 4 or 5 rounds): thousands of IOPS, which "
		  "scattered by half, and processor time of a request:\n"
		  "                        depth      psync         libaio         io_uring\n"
		  "  tmpfs, no -dio            1   620   0.9 us    439   1.3 us    375   1.1 us\n"
		  "                           32   634   0.9 us    618   1.0 us    419   0.8 us\n"
		  "                          128   563   0.9 us    522   1.0 us    408   0.6 us\n"
		  "  file on a disk, -dio      1    14  20.7 us     13  23.5 us     11  24.1 us\n"
		  "                           32   114   3.3 us     88   2.5 us     90   2.4 us\n"
		  "                          128   120   5.9 us    145   1.5 us    138   1.7 us\n"
		  "  loop device, -dio         1     3  12.1 us      9  15.1 us     10   8.9 us\n"
		  "                           32    74   2.5 us     75   1.3 us     32   1.3 us\n"
		  "                          128    69   4.4 us     89   1.1 us     82   0.8 us\n"
		  "At depth 128 io_uring and libaio take a third of the processor time of psync, or "
		  "less. Their rate is higher where processors are the limit. Through the page cache "
		  "psync is ahead.\n"
		  "xdd -ioengine list prints what this kernel allows. What the engine changes on your "
		  "device:\n"
		  "  xdd sweep -op read -target /dev/sdb -dio -reqsize 4k -seek random \\\n"
		  "      -timelimit 5 -ioengine psync,io_uring -queuedepth 1,8,32\n" },
	{ .word = "how long",
	  .also = "long enough,run time,how many passes",
	  .heading = "How long must a run be?",
	  .answer =
		  "Until the answer no longer depends on the time. The longest of these limits "
		  "counts:\n"
		  "  p99, p99.9           1000 and 10,000 requests: xdd prints - for fewer\n"
		  "  the mean             -passes until 2 repeats until it is known to 2 %\n"
		  "  reads of a device    10 s for each pass\n"
		  "  writes to flash      until it was written twice: its rate falls first\n"
		  "  a cloud volume       until its credits for bursts are used up\n"
		  "-warmup leaves the start of each pass out of all figures, and -intervals shows "
		  "whether the rate is steady:\n"
		  "  xdd -op read -target /dev/sdb -dio -reqsize 4k -seek random \\\n"
		  "      -queuedepth 32 -warmup 2 -timelimit 10 -passes 5\n"
		  "  xdd -op read -target /dev/sdb -dio -reqsize 1M -queuedepth 8 \\\n"
		  "      -timelimit 60 -intervals 1\n" },
	{ .word = "how large",
	  .also = "file size,size of the file,how big",
	  .heading = "How large must the file be?",
	  .answer =
		  "Larger than every cache that you do not mean to measure. With -dio the page cache "
		  "is out of the way, and the caches of controllers and devices remain: ten times "
		  "their size, or the whole device. Without -dio, twice the memory of the machine, "
		  "or any size with -dropcache.\n"
		  "As large as the data of your application, if the question is about it: random "
		  "reads of 1 GB on a disk of 10 TB hardly move its arm, and a small file of a "
		  "solid-state disk may be in its fast cells.\n"
		  "Written completely, and not with zeros: holes and zeros may be answered without "
		  "the medium.\n"
		  "  xdd -op write -target /data/file -bytes 64G -dio -reqsize 1M \\\n"
		  "      -queuedepth 8 -datapattern random -syncwrite\n"
		  "  xdd -op read -target /data/file -dio -reqsize 4k -seek random \\\n"
		  "      -queuedepth 32 -timelimit 10\n" },
	{ .word = "depth",
	  .also = "queue depth,ncq,io depth",
	  .heading = "What does depth mean for my device?",
	  .answer =
		  "-queuedepth is how many requests xdd keeps in flight on each target. What devices "
		  "do with them:\n"
		  "  SATA (NCQ)        32 at most; more than that waits in the kernel\n"
		  "  SAS               often 64 to 254\n"
		  "  NVMe              a queue for each processor, often of 1023 requests\n"
		  "  hard disk         sorts them by the way of its arm: a few times the IOPS\n"
		  "                    of depth 1, at a latency that grows with the depth\n"
		  "  solid-state disk  more IOPS until its channels are busy, often at 32 to 256\n"
		  "  RAID              its members share them: depth 8 on 8 disks is 1 each\n"
		  "  cloud volume      a limit of IOPS: more depth is more waiting\n"
		  "The mean latency times the IOPS is the depth, always. Beyond what the device can "
		  "take, the latency grows and the IOPS do not. "
		  "/sys/block/sdb/device/queue_depth has the queue of a SATA or SAS device, and "
		  "/sys/block/sdb/queue/nr_requests what the kernel queues for a device. A sweep "
		  "shows what it does:\n"
		  "  xdd sweep -op read -target /dev/sdb -dio -ioengine io_uring -reqsize 4k \\\n"
		  "      -seek random -timelimit 3 -queuedepth 1..64x2\n"
		  "xdd curve finds the load at which a response time is still met, which users "
		  "feel.\n" },
	{ .word = "stop",
	  .also = "ctrl-c,interrupt,cancel,abort,kill,may i stop,can i stop",
	  .heading = "May I stop it?",
	  .answer =
		  "Yes. After Ctrl-C, SIGTERM or SIGHUP xdd issues no further request, waits for "
		  "those in flight, 3 seconds at most, and writes all outputs with what it has "
		  "measured. The status is 5, the result says \"partial\", and its rates are right "
		  "for the time that it had. A second Ctrl-C ends xdd at once, without results. "
		  "SIGUSR1 prints the progress and changes nothing.\n"
		  "  a check           shows the measurements so far\n"
		  "  a sweep, a curve  keeps the finished runs in its journal; -resume continues\n"
		  "  a copy (xddcp)    keeps what is durable; -R continues\n"
		  "  a write           leaves the file or device half written\n"
		  "A script stops a run in the same way:\n"
		  "  timeout --preserve-status -s INT 30 xdd -op read -target /dev/sdb \\\n"
		  "      -dio -reqsize 4k -seek random -runtime 60\n" },
	{ .word = "cite",
	  .also = "publish,citation,reproduce,licence of results,license of results",
	  .heading = "How do I cite a run?",
	  .answer =
		  "By its document: -jsonout writes one file that anyone can compare with theirs "
		  "(xdd compare) or look at (xdd report). State what it has:\n"
		  "  the program      xdd, environment.build\n"
		  "  the command      command_line\n"
		  "  the machine      environment: host, kernel, processors, memory\n"
		  "  the device       environment.targets: device, file system, mount options\n"
		  "  how it was used  plan.targets[].resolved: engine, queue_depth, direct_io\n"
		  "  the answer       statistics: mean and confidence interval of the passes\n"
		  "  disturbances     messages\n"
		  "  when, which      start_time, and run_id, which -runid sets\n"
		  "In a sentence: \"xdd 8.0.0, random reads of 4 KiB, depth 32, direct, io_uring, 5 "
		  "passes of 10 s: 77.7 k IOPS +-1.2 %, p99 2.20 ms\".\n"
		  "Results are yours: the licence of xdd (GPL 2 or later) is about the program, not "
		  "about the figures that it writes.\n"
		  "  xdd -op read -target /dev/sdb -dio -ioengine io_uring -reqsize 4k \\\n"
		  "      -seek random -queuedepth 32 -timelimit 10 -passes 5 \\\n"
		  "      -runid figure-3 -jsonout figure-3.json\n" },
	{ .word = "nightly",
	  .also = "every night,every day,cron,timer,regression,monitor",
	  .heading = "How do I run it every night, and hear only of changes?",
	  .answer =
		  "xdd-nightly runs a setup file, keeps the documents, and compares each with the last good "
		  "one. It prints nothing and ends with 0 if nothing changed; otherwise it prints the "
		  "comparison and ends with 4. A run that failed or was disturbed is never the last good one.\n"
		  "  xdd-nightly -failif bandwidth-10%,p50+20% -- -setup nightly.xdd\n"
		  "The comparison needs passes: -passes 5 at least. xdd-nightly(1) has a line for cron and the "
		  "timer of systemd.\n" },
};

const struct question *question_at(size_t i)
{
	return i < sizeof(questions) / sizeof(questions[0]) ? &questions[i] : NULL;
}

/* True if `words` are this phrase, or have it in them where it has several words. */
static bool has_phrase(const char *words, const char *phrase, size_t length)
{
	const bool several = memchr(phrase, ' ', length);

	if (!several)
		return strlen(words) == length && strncasecmp(words, phrase, length) == 0;
	for (; strlen(words) >= length; words++) {
		if (strncasecmp(words, phrase, length) == 0)
			return true;
	}
	return false;
}

static bool is_about(const struct question *q, const char *words)
{
	const char *also = q->also;

	if (has_phrase(words, q->word, strlen(q->word)))
		return true;
	while (also && *also) {
		const size_t length = strcspn(also, ",");

		if (has_phrase(words, also, length))
			return true;
		also += length + (also[length] == ',');
	}
	return false;
}

const struct question *question_find(const char *words)
{
	const struct question *q;
	size_t i;

	for (i = 0; (q = question_at(i)) && !is_about(q, words); i++)
		;
	return q;
}

static bool is_verbatim(const char *line)
{
	return strncmp(line, "  ", 2) == 0;
}

size_t question_part(const char **answer, const char **part, bool *verbatim)
{
	const char *end = *answer;

	*part = *answer;
	*verbatim = is_verbatim(*answer);
	if (!*end)
		return 0;
	do
		end += strcspn(end, "\n") + 1;
	while (*verbatim && is_verbatim(end));
	*answer = end;
	return (size_t)(end - *part) - 1;
}
