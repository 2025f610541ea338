/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on copies: src/report/endtoend.c, with the shares of set-ups whose limit is known.
 */
#include "unit.h"

#include "xdd/report/endtoend.h"

/* Percents. */
static struct copy_shares shares(double storage, double network, double waiting, double checking,
				 double processor)
{
	return (struct copy_shares){
		.storage = storage / 100,
		.network = network / 100,
		.waiting = waiting / 100,
		.checking = checking / 100,
		.processor = processor / 100,
	};
}

static struct copy_shares paced(double pace)
{
	struct copy_shares s = shares(0.2, 0.4, 99 - pace, 0.1, 0.8);

	s.pace = pace / 100;
	return s;
}

static void assert_text(const char *text, struct copy_shares s, struct copy_shares d, bool names)
{
	struct copy_verdict v = copy_limit_judge(&s, &d, names);
	char buf[COPY_VERDICT_SIZE];

	assert_string_equal(copy_verdict_text(&v, buf), text);
}

static void assert_limit(const char *name, struct copy_shares s, struct copy_shares d)
{
	struct copy_verdict v = copy_limit_judge(&s, &d, false);

	assert_string_equal(copy_verdict_name(&v), name);
}

static void assert_unclear(const char *a, const char *b, struct copy_shares s, struct copy_shares d)
{
	struct copy_verdict v = copy_limit_judge(&s, &d, false);

	assert_string_equal(copy_verdict_name(&v), "unclear");
	assert_string_equal(copy_limit_name(v.limit), a);
	assert_string_equal(copy_limit_name(v.other), b);
}

TEST(test_storage)
{
	struct copy_shares d = shares(10, 5, 20, 0, 10);

	assert_limit("source-storage", shares(98, 2, 0, 0, 2), shares(1, 1, 98, 0, 2));
	assert_limit("destination-storage", shares(1, 98, 0, 0, 2), shares(98, 1, 1, 0, 2));
	/* The first of two disks of 20 and 24 MB/s is the limit, at either side. */
	assert_limit("source-storage", shares(98, 2, 0, 0, 2), shares(82, 1, 17, 0, 2));
	assert_limit("destination-storage", shares(82, 17, 0, 0, 2), shares(99, 1, 0, 0, 1));
	/* A source that has sent all into buffers, and then waits for the destination. */
	assert_limit("destination-storage", shares(2, 3, 0, 1, 3), shares(95, 1, 1, 0, 2));
	/* The files are there at once, and durable later. */
	d.flush = 0.7;
	assert_limit("destination-storage", shares(5, 30, 5, 5, 20), d);
}

TEST(test_network)
{
	struct copy_shares s = shares(1, 98, 0, 0, 1), d = shares(74, 10, 15, 0, 1);

	/* The destination waits between blocks, or within them. */
	assert_limit("network", shares(1, 98, 0, 0, 1), shares(1, 1, 98, 0, 1));
	assert_limit("network", shares(1, 98, 0, 0, 1), shares(1, 98, 1, 0, 1));
	/* Through ssh, where the destination does not tell how long it waits. */
	assert_limit("network", shares(1, 98, 0, 0, 1), shares(1, 0, 0, 0, 1));
	/* A source of 24 MB/s before a network of 12: it reads half of the time. */
	assert_limit("network", shares(52, 48, 0, 0, 1), shares(1, 98, 1, 0, 2));
	/* A destination of 24 MB/s that follows such a network: it writes half of the time. */
	s.transit = 0.99;
	assert_limit("network", s, shares(51, 48, 1, 0, 1));
	/* Where the kernel does not know that, as packets wait in its queues. */
	s.transit = 0.3;
	assert_limit("network", s, shares(54, 45, 1, 0, 1));
	/* Connections that end apart starve a slow destination a little. */
	assert_limit("destination-storage", s, shares(88, 2, 10, 0, 1));
	d.flush = 0.11;
	assert_limit("destination-storage", s, d);
	/* A destination of 13 MB/s: close. */
	s.transit = 0.99;
	assert_unclear("network", "destination-storage", s, shares(93, 7, 0, 0, 1));
	/* One of 10 MB/s: data is on its way until its buffers are full. */
	s.transit = 0.3;
	assert_limit("destination-storage", s, shares(98, 1, 1, 0, 1));
	/* Nothing waits to be sent on a long way. */
	s = shares(97, 2, 0, 1, 2);
	s.transit = 1;
	assert_limit("source-storage", s, shares(1, 1, 98, 0, 1));
	/* One of 11 MB/s before a network of 12: blocks are on their way half of the time. */
	assert_limit("source-storage", shares(99, 1, 0, 0, 1), shares(1, 47, 52, 0, 2));
}

/* Storage and network in memory take all of the time, and none of it is a wait. */
TEST(test_processor)
{
	struct copy_shares s = shares(30, 60, 0, 7, 97), d = shares(1, 1, 96, 0, 3);

	assert_limit("source-processor", s, d);
	assert_text("the processor of the source", s, d, false);
	assert_limit("destination-processor", shares(3, 92, 0, 0, 7), shares(57, 35, 1, 0, 92));
	/* Digests are work of a processor, also where the kernel does not tell. */
	assert_limit("source-processor", shares(5, 5, 0, 90, 0), shares(1, 1, 98, 0, 0));
	/* A part of the processor time explains a part of the storage only. */
	assert_limit("source-storage", shares(80, 10, 0, 10, 20), shares(1, 1, 98, 0, 2));
	s.quota = 0.9;
	assert_text("the processor of the source, which a CPU quota stopped", s, d, false);
	d.quota = 0.03;
	assert_text("the network", shares(1, 98, 0, 0, 1), d, false);
}

/* The data threads wait for other threads of a process that a quota stops. */
TEST(test_quota)
{
	struct copy_shares s = shares(0, 86, 6, 0, 1), d = shares(7, 57, 23, 1, 70);
	const char *by_quota = "the processor of the destination, which a CPU quota stopped";

	/* Without knowledge of a quota, that may also be a destination without data. */
	assert_text("unclear: the processor of the destination, or the network", s, d, true);
	/* On idle processors, and beside other work that leaves the group less to be stopped. */
	d.quota = 0.97;
	assert_text(by_quota, s, d, true);
	d.quota = 0.7;
	assert_text(by_quota, s, d, true);
	assert_text("the processor of the source, which a CPU quota stopped", d,
		    shares(1, 1, 98, 0, 1), true);
	/* Most of the time passes in waits for threads that are stopped. */
	d = shares(5, 40, 45, 0, 50);
	d.quota = 0.95;
	assert_text(by_quota, s, d, true);
	/* Other processes of the group used the quota up while this one waited for data. */
	d = shares(1, 1, 96, 0, 10);
	d.quota = 0.95;
	assert_text("the network", shares(1, 98, 0, 0, 1), d, false);
	/* A quota takes a part, and the network the rest. */
	d = shares(5, 30, 60, 0, 32);
	d.quota = 0.3;
	assert_text("the network", shares(1, 98, 0, 0, 1), d, false);
}

TEST(test_pace)
{
	assert_limit("source-pace", paced(98), shares(1, 1, 98, 0, 1));
	assert_text("the pace requested at the source", paced(98), shares(1, 1, 98, 0, 1), false);
	assert_limit("destination-pace", shares(1, 70, 0, 0, 2), paced(98));
	assert_text("the pace requested at the destination", shares(1, 70, 0, 0, 2), paced(98),
		    false);
	/* The pace asks for more than the network carries. */
	assert_limit("network", paced(20), shares(1, 98, 1, 0, 1));
}

TEST(test_files)
{
	struct copy_shares d = shares(5, 1, 10, 0, 5);

	assert_text("finding or creating files", shares(5, 5, 90, 0, 5), shares(10, 0, 90, 0, 5),
		    true);
	assert_text("finding or creating files", shares(5, 5, 90, 0, 5), shares(5, 0, 0, 0, 5),
		    true);
	/* All is sent, and is being flushed. */
	d.flush = 0.85;
	assert_text("the storage of the destination", shares(5, 5, 80, 0, 5), d, true);
	/* The source of an end-to-end copy waits for a turn of its own threads. */
	assert_limit("network", shares(5, 5, 90, 0, 5), shares(5, 5, 90, 0, 5));
}

TEST(test_unclear)
{
	assert_unclear("source-storage", "destination-storage", shares(99, 1, 0, 0, 1),
		       shares(95, 1, 4, 0, 1));
	assert_unclear("network", "source-storage", shares(94, 6, 0, 0, 1), shares(1, 97, 2, 0, 2));
	assert_unclear("source-processor", "destination-processor", shares(20, 70, 0, 10, 75),
		       shares(30, 50, 15, 5, 72));
	assert_unclear("source-pace", "destination-storage", paced(96), shares(93, 1, 6, 0, 1));
	assert_text("unclear: the storage of the source, or the storage of the destination",
		    shares(99, 1, 0, 0, 1), shares(95, 1, 4, 0, 1), false);
	/* Nothing takes much of the time. */
	assert_unclear("source-storage", "destination-storage", shares(38, 20, 42, 0, 1),
		       shares(35, 2, 63, 0, 1));
}

/* More than there can be, as counts of threads end at other moments. */
TEST(test_too_much)
{
	struct copy_shares d = shares(100, 0, 0, 0, 0), s = shares(0, 100, 0, 0, 0);

	d.flush = 3;
	assert_limit("destination-storage", s, d);
	s = shares(100, 100, 100, 100, 300);
	assert_limit("source-processor", s, shares(0, 0, 100, 0, 0));
}

TEST(test_no_verdict)
{
	struct copy_verdict v = { 0 };
	char buf[COPY_VERDICT_SIZE];

	assert_null(copy_verdict_name(&v));
	assert_null(copy_verdict_text(&v, buf));
	assert_null(copy_limit_name(COPY_LIMIT_UNKNOWN));
	assert_int_equal(copy_limit_named("unclear"), COPY_LIMIT_UNKNOWN);
	for (enum copy_limit i = COPY_LIMIT_SOURCE_STORAGE; i < COPY_LIMITS; i++)
		assert_int_equal(copy_limit_named(copy_limit_name(i)), i);
}

RUN_TESTS(NULL, NULL)
