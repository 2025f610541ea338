/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers started through ssh, for which scripts stand in: src/copy/link/ssh*.c, ssh.c,
 * src/sys/child.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "copy/link/link.h"
#include "net_rig.h"
#include "xdd/base/err.h"
#include "xdd/base/memory.h"
#include "xdd/sys/child.h"
#include "xdd/sys/clock.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define BANNER COPY_BANNER " " TEXT(COPY_PROTOCOL)

/* The bytes of STARTED, as a file for cat. */
static char answer[] = "/tmp/test_copy_ssh.XXXXXX";

/* The program that stands in for ssh, and the name of xdd on the other host. */
static const char *ssh_program = "/bin/sh", *remote_xdd = "xdd";

static const struct copy_place place = { .user = "me", .host = "there", .path = "x" };

static void write_answer(void)
{
	struct copy_started started = { .software = "xdd 8", .host = "there.example" };
	uint8_t raw[WIRE_HEADER_BYTES], body[1024];
	struct wire_header h = { .type = WIRE_COPY_STARTED, .connection = WIRE_NO_CONNECTION };
	int fd = mkstemp(answer);

	assert_true(fd >= 0);
	h.length = copy_encode_started(&started, body, sizeof(body));
	h.digest = digest_data(body, h.length);
	wire_encode(&h, NULL, raw);
	assert_int_equal(write(fd, raw, sizeof(raw)), sizeof(raw));
	assert_int_equal(write(fd, body, h.length), h.length);
	close(fd);
}

/*
 * Start a server with a script in the place of ssh. `timeout_ns` is the limit of its channel,
 * `answer_ns` that of its first answer.
 */
static int run_for(struct ssh *s, const char *script, uint64_t timeout_ns, uint64_t answer_ns,
		   struct err *why)
{
	const char *words[] = { ssh_program, "-c", script, NULL };
	struct copy_request request = { .ssh = words,
					.remote_xdd = remote_xdd,
					.answer_ns = answer_ns };
	const char *sources[] = { "x" };
	struct copy_start start = {
		.role = COPY_SOURCE,
		.settings = { .connections = 1,
			      .block_bytes = 1u << 20,
			      .size_bytes = UINT64_MAX,
			      .timeout_ns = timeout_ns },
		.destination = "y",
		.own_host = "there",
		.peer_host = "here",
		.sources = sources,
		.n_sources = 1,
	};
	int status;

	err_clear(why);
	status = ssh_start(s, &request, &place, &start, why);
	return status ? status : ssh_await_start(s, why);
}

static int run(struct ssh *s, const char *script, struct err *why)
{
	return run_for(s, script, 20 * SECOND_NS, 0, why);
}

static void starts(const char *before)
{
	struct ssh s = { 0 };
	char script[512];
	struct err why;
	int status;

	snprintf(script, sizeof(script), "%s cat %s; exec cat > /dev/null", before, answer);
	status = run(&s, script, &why);
	if (status)
		fail_msg("%s: %d, %s", before, status, why.text);
	assert_string_equal(s.started.host, "there.example");
	assert_true(s.pid > 0);
	assert_int_equal(ssh_end(&s, 5 * SECOND_NS), 0);
	assert_int_equal(s.pid, -1);
	assert_int_equal(ssh_end(&s, 5 * SECOND_NS), 0);
}

TEST(test_starts)
{
	starts("echo '" BANNER " 8.0.0';");
	starts("printf '" BANNER " 8.0.0\\r\\n';");
	starts("printf 'Welcome\\n\\nto this\\0host\\n'; echo '" BANNER " 8.0.0';");
	starts("printf '\\033]0;title\\007" BANNER " 8.0.0\\n';");
	starts("head -c 60000 /dev/zero; echo; echo '" BANNER " 8.0.0';");
}

static void fails(const char *script, int expected, const char *text)
{
	struct ssh s = { 0 };
	struct err why;
	int status = run(&s, script, &why);

	if (status != expected || strcmp(why.text, text))
		fail_msg("%s: %d, \"%s\", not %d, \"%s\"", script, status, why.text, expected,
			 text);
	ssh_end(&s, 0);
	assert_true(s.pid <= 0);
	assert_null(s.channel);
}

/* The text after `begin`, where the other side ended with status `n`. */
#define NOT_ANSWERED(begin, n, noise)                                                               \
	begin " ended with status " #n " before it answered" noise                                  \
	      "; it may be of another version, or a login script ended it: install " PACKAGE_STRING \
	      " on both, or give its path with -b"
#define OTHER_VERSION                                       \
	"; this is " PACKAGE_STRING ", with version " TEXT( \
		COPY_PROTOCOL) "; install the same on both, or give the path of another one with -b"
#define NOISY(noise)                                                                         \
	"sends output that is not xdd's" noise "; its login scripts must print nothing for " \
	"commands"
#define NOT_FOUND "cannot start \"xdd\" there; install xdd there, or give its path with -b"

TEST(test_failures)
{
	fails("exit 255", COPY_SSH_ENDED,
	      "ssh cannot reach it, or is not let in (its own message is above)");
	fails("kill -9 $$", COPY_SSH_ENDED, "ssh was ended by signal 9");
	fails("exit 128", COPY_BAD_VERSION, NOT_ANSWERED("\"xdd\"", 128, ""));
	fails("exit 127", COPY_NO_XDD, NOT_FOUND);
	fails("echo usage; exit 127", COPY_NO_XDD, NOT_FOUND);
	fails("exit 126", COPY_NO_XDD,
	      "there is no program \"xdd\" there, only a directory or a file of that name that "
	      "cannot be executed; install xdd there, or give its path with -b");
	fails("exit 1", COPY_NO_XDD,
	      "\"/bin/sh\" ended with status 1 before xdd answered; install xdd there, or give "
	      "its path with -b, or a program that takes the options of ssh with -S");
	fails("echo usage; exit 3", COPY_BAD_VERSION, NOT_ANSWERED("\"xdd\"", 3, ": \"usage\""));
	fails("echo usage; printf ' \\t\\r\\n'; exit 1", COPY_BAD_VERSION,
	      NOT_ANSWERED("\"xdd\"", 1, ": \"usage\""));
	fails("printf '\\033[2J'; exit 1", COPY_BAD_VERSION,
	      NOT_ANSWERED("\"xdd\"", 1, ": \"\\x1b[2J\""));
	fails("echo 'XDD-COPY 99 9.1'; cat", COPY_BAD_VERSION,
	      "has xdd 9.1, with version 99 of the protocol" OTHER_VERSION);
	fails("echo " BANNER "; exit 0", COPY_BAD_VERSION,
	      NOT_ANSWERED("\"xdd\"", 0, ": \"" BANNER "\""));
	fails("echo '" BANNER " '; exit 0", COPY_BAD_VERSION,
	      NOT_ANSWERED("\"xdd\"", 0, ": \"" BANNER " \""));
	fails("echo '" BANNER " 8 8'; exit 0", COPY_BAD_VERSION,
	      NOT_ANSWERED("\"xdd\"", 0, ": \"" BANNER " 8 8\""));
	fails("echo 'XDD-COPY -1 8'; exit 0", COPY_BAD_VERSION,
	      NOT_ANSWERED("\"xdd\"", 0, ": \"XDD-COPY -1 8\""));
	fails("exec yes hello", COPY_BAD_VERSION, NOISY(": \"hello\""));
	fails("exec head -c 100000 /dev/zero", COPY_BAD_VERSION, NOISY(", which is no text"));
	fails("echo '" BANNER " 8'; exec cat >/dev/null", COPY_SSH_ENDED,
	      "the other side has closed the connection");
	fails("exec 0<&-; echo '" BANNER " 8'; exec sleep 100", COPY_SSH_ENDED,
	      "the connection was lost (Connection reset by peer)");
	fails("exec 0<&-; echo '" BANNER " 8'; exec head -c 200 /dev/zero", COPY_FAILED,
	      "the other side sent bytes that are no message of xdd");
	fails("echo '" BANNER " 8'; head -c 200 /dev/zero; exec cat >/dev/null", COPY_FAILED,
	      "the other side sent bytes that are no message of xdd");
}

/* OpenSSH itself says why it fails; the path of xdd is what the user gave. */
TEST(test_failures_of_openssh)
{
	char directory[] = "/tmp/test_copy_ssh.XXXXXX", ssh[64];

	assert_non_null(mkdtemp(directory));
	snprintf(ssh, sizeof(ssh), "%s/ssh", directory);
	assert_int_equal(symlink("/bin/sh", ssh), 0);
	ssh_program = ssh;
	fails("exit 1", COPY_NO_XDD, NOT_FOUND);
	fails("echo usage; exit 1", COPY_BAD_VERSION, NOT_ANSWERED("\"xdd\"", 1, ": \"usage\""));
	remote_xdd = "/opt/xdd";
	fails("exit 126", COPY_NO_XDD,
	      "cannot execute \"/opt/xdd\" there; expected xdd, or its directory with a slash at "
	      "its end (-b)");
	fails("exit 2", COPY_BAD_VERSION, NOT_ANSWERED("\"/opt/xdd\"", 2, ""));
	remote_xdd = "a\nb";
	fails("exit 2", COPY_BAD_NAMES, "the path of xdd (-b) must not have control characters");
	remote_xdd = "xdd";
	ssh_program = "/bin/sh";
	unlink(ssh);
	rmdir(directory);
}

/* One that answered, and then says why it cannot start, or something else. */
static void fails_with(const struct wire_header *h, const uint8_t *body, int expected,
		       const char *text)
{
	struct wire_header header = *h;
	uint8_t raw[WIRE_HEADER_BYTES];
	char name[] = "/tmp/test_copy_ssh.XXXXXX", script[256];
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	header.connection = WIRE_NO_CONNECTION;
	header.digest = digest_data(body, header.length);
	wire_encode(&header, NULL, raw);
	assert_int_equal(write(fd, raw, sizeof(raw)), sizeof(raw));
	assert_int_equal(write(fd, body, header.length), header.length);
	close(fd);
	snprintf(script, sizeof(script), "echo '" BANNER " 8'; cat %s; exec cat >/dev/null", name);
	fails(script, expected, text);
	unlink(name);
}

TEST(test_answers)
{
	static const uint32_t statuses[] = { XDD_BAD_ARGUMENT, COPY_FAILED, COPY_NOT_WRITABLE };
	uint8_t body[WIRE_MAX_ERROR_BYTES] = { 0 };
	struct wire_header h = { .type = WIRE_ERROR };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		struct wire_error e = { .status = statuses[i], .text = "no disk" };

		h.length = wire_encode_error(&e, body);
		fails_with(&h, body, (int)statuses[i], "no disk");
	}
	/* Without a status, or without what a server says of itself. */
	memset(body, 0, sizeof(body));
	h.length = 100;
	fails_with(&h, body, COPY_FAILED, "sent a malformed message");
	h.type = WIRE_COPY_STARTED;
	fails_with(&h, body, COPY_FAILED, "sent a message that was not expected");
	h.type = WIRE_COPY_START;
	fails_with(&h, body, COPY_FAILED, "sent a message that was not expected");
}

TEST(test_no_program)
{
	const char *words[] = { "no-such-program", NULL };
	struct copy_request request = { .ssh = words, .remote_xdd = "xdd" };
	struct copy_start start = { .settings.timeout_ns = SECOND_NS };
	struct ssh s = { 0 };
	struct err why;

	assert_int_equal(ssh_start(&s, &request, &place, &start, &why), COPY_NO_SSH);
	assert_string_equal(why.text,
			    "cannot find the program \"no-such-program\"; install OpenSSH, "
			    "or give another one with -S");
	request.ssh_by_variable = true;
	assert_int_equal(ssh_start(&s, &request, &place, &start, &why), COPY_NO_SSH);
	assert_string_equal(why.text, "cannot find the program \"no-such-program\" of the variable "
				      "XDDCP_SSH; install OpenSSH, or give another one with -S");
	words[0] = "/dev/null";
	assert_int_equal(ssh_start(&s, &request, &place, &start, &why), COPY_NO_SSH);
	assert_string_equal(why.text, "cannot start \"/dev/null\" of the variable XDDCP_SSH "
				      "(Permission denied); give another program with -S");
}

/* ---- an end by a signal ---- */

static void *cut_soon(void *arg)
{
	usleep(100 * 1000);
	ssh_cut(arg);
	return NULL;
}

static void cuts(const char *script)
{
	uint64_t start_ns = clock_now_ns();
	struct ssh s = { 0 };
	pthread_t thread;
	struct err why;

	assert_int_equal(pthread_create(&thread, NULL, cut_soon, &s), 0);
	assert_int_equal(run(&s, script, &why), XDD_CANCELED);
	assert_string_equal(why.text, "was interrupted before it answered");
	pthread_join(thread, NULL);
	ssh_end(&s, 0);
	assert_true(clock_now_ns() - start_ns < 30 * SECOND_NS);
	/* No child is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(test_cut)
{
	cuts("exec sleep 100");
	cuts("echo '" BANNER " 8'; exec sleep 100");
}

/* One that does not end by itself is ended. */
TEST(test_stubborn)
{
	struct child c;
	char *argv[] = { "/bin/sh", "-c", "exec sleep 100", NULL };
	char *deaf[] = { "/bin/sh", "-c", "trap '' TERM; echo; exec sleep 100", NULL };
	uint64_t start_ns = clock_now_ns();
	char byte;

	assert_int_equal(child_start(&c, argv, CHILD_PLAIN), 0);
	close(c.read_fd);
	close(c.write_fd);
	assert_int_equal(child_wait(c.pid, 50 * MS_NS), 128 + SIGTERM);
	assert_int_equal(child_start(&c, deaf, CHILD_PLAIN), 0);
	while (read(c.read_fd, &byte, 1) < 0)
		usleep(1000);
	close(c.read_fd);
	close(c.write_fd);
	assert_int_equal(child_wait(c.pid, 50 * MS_NS), 128 + SIGKILL);
	assert_true(clock_now_ns() - start_ns < 20 * SECOND_NS);
}

/* One that is stopped ends by SIGTERM too. */
TEST(test_stopped)
{
	char *argv[] = { "/bin/sh", "-c", "exec sleep 100", NULL };
	struct child c;
	int status;

	assert_int_equal(child_start(&c, argv, CHILD_PLAIN), 0);
	close(c.read_fd);
	close(c.write_fd);
	kill(c.pid, SIGSTOP);
	assert_int_equal(waitpid(c.pid, &status, WUNTRACED), c.pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(child_wait(c.pid, 0), 128 + SIGTERM);
}

/* One that was silent for the time limit gets no more time for its end. */
TEST(test_silent)
{
	struct ssh s = { 0 };
	uint64_t start_ns;
	struct err why;

	assert_int_equal(run_for(&s, "echo '" BANNER " 8'; exec sleep 100", 100 * MS_NS, 0, &why),
			 COPY_SSH_ENDED);
	assert_non_null(strstr(why.text, "nothing came from the other side for 0.1 s"));
	start_ns = clock_now_ns();
	assert_int_equal(ssh_end(&s, 60 * SECOND_NS), 128 + SIGTERM);
	assert_true(clock_now_ns() - start_ns < 30 * SECOND_NS);
}

/* The limit that the user named holds before the first answer; without it there is none. */
TEST(test_no_answer)
{
	static const char *const silent[] = { "exec sleep 100", "echo Welcome; exec sleep 100",
					      "printf XDD-COPY; kill -STOP $$" };
	struct ssh s = { 0 };
	struct err why;

	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
		uint64_t start_ns = clock_now_ns();

		assert_int_equal(run_for(&s, silent[i], 5 * SECOND_NS, 1500 * MS_NS, &why),
				 COPY_SSH_ENDED);
		assert_string_equal(why.text, "did not answer within 1.5 s; give it more time with "
					      "-timeout");
		assert_true(clock_now_ns() - start_ns >= 1500 * MS_NS);
		assert_int_equal(ssh_end(&s, 60 * SECOND_NS), 128 + SIGTERM);
		assert_true(clock_now_ns() - start_ns < 30 * SECOND_NS);
	}
	/* It holds for the answer only, and one in time is taken. */
	fails("sleep 0.3; echo 'XDD-COPY 99 9.1'; cat", COPY_BAD_VERSION,
	      "has xdd 9.1, with version 99 of the protocol" OTHER_VERSION);
	assert_int_equal(run_for(&s, "sleep 0.3; echo 'XDD-COPY 99 9.1'; cat", 5 * SECOND_NS,
				 30 * SECOND_NS, &why),
			 COPY_BAD_VERSION);
	ssh_end(&s, 0);
}

/* SIGINT is for the process that the user started; all other signals are as usual. */
TEST(test_signals)
{
	struct child c;
	char *argv[] = { "/bin/sh", "-c", "grep -h Sig /proc/self/status", NULL };
	char text[1024];
	unsigned long long ignored, blocked;
	size_t n = 0;
	ssize_t got;
	sigset_t set, old;
	char *at;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	assert_int_equal(child_start(&c, argv, CHILD_PLAIN), 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	assert_int_equal(child_wait(c.pid, 10 * SECOND_NS), 0);
	while (n < sizeof(text) - 1 && (got = read(c.read_fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	at = strstr(text, "SigIgn:");
	assert_non_null(at);
	ignored = strtoull(at + 7, NULL, 16);
	at = strstr(text, "SigBlk:");
	assert_non_null(at);
	blocked = strtoull(at + 7, NULL, 16);
	assert_int_equal(blocked, 0);
	assert_true(ignored & 1ull << (SIGINT - 1));
	assert_false(ignored & 1ull << (SIGPIPE - 1));
	close(c.read_fd);
	close(c.write_fd);
}

/* ---- the command line ---- */

static void expect_words(const struct copy_request *request, const struct copy_place *at,
			 const char *expected)
{
	struct arena *arena = arena_new();
	char all[1024] = "";
	struct err why = { 0 };
	char **words = ssh_command(arena, request, at, &why);

	if (!words)
		fail_msg("%s", why.text);
	for (; *words; words++) {
		strcat(all, *words);
		strcat(all, "|");
	}
	assert_string_equal(all, expected);
	arena_free(arena);
}

TEST(test_words)
{
	const char *plain[] = { "ssh", "-p", "2222", NULL }, *other[] = { "/opt/bin/rsh", NULL };
	struct copy_request request = { .ssh = plain, .remote_xdd = "xdd" };
	struct copy_place at = { .host = "there", .path = "" };

	expect_words(&request, &at,
		     "ssh|-p|2222|-T|-x|-a|-oClearAllForwardings=yes|--|there|"
		     "exec xdd copy -server|");
	at.user = "me@domain";
	at.host = "fe80::1%eth0";
	request.remote_tty = true;
	request.remote_xdd = "~/it's/xdd";
	request.ssh = other;
	expect_words(&request, &at,
		     "/opt/bin/rsh|-tt|-e|none|--|me@domain@fe80::1%eth0|"
		     "exec ~/'it'\\''s/xdd' copy -server|");
}

static void refused(const char *user, const char *host, const char *xdd)
{
	const char *plain[] = { "ssh", NULL };
	struct copy_request request = { .ssh = plain, .remote_xdd = xdd };
	struct copy_place at = { .user = user, .host = host, .path = "" };
	struct arena *arena = arena_new();
	struct err why = { 0 };

	assert_null(ssh_command(arena, &request, &at, &why));
	assert_true(err_is_set(&why));
	arena_free(arena);
}

TEST(test_refused_words)
{
	refused(NULL, "-oProxyCommand=id", "xdd");
	refused(NULL, "", "xdd");
	refused(NULL, "a b", "xdd");
	refused(NULL, "a\nb", "xdd");
	refused(NULL, "$(id)", "xdd");
	refused(NULL, "a`id`", "xdd");
	refused("-l", "there", "xdd");
	refused("", "there", "xdd");
	refused("a;b", "there", "xdd");
	refused("me", "there", "a\nb");
}

/* Shells read the words as they were. */
TEST(test_quote)
{
	static const char *const words[] = { "/a b/xdd", "it's", "a\\b",    "$HOME", "`id`", "a!b",
					     "*",	 "~x",	 "a'\\!'b", "",	     "-n",   "\"" };
	struct arena *arena = arena_new();

	assert_string_equal(ssh_quote(arena, "/opt/xdd-8.0/bin/xdd"), "/opt/xdd-8.0/bin/xdd");
	assert_string_equal(ssh_quote(arena, "~/x"), "'~/x'");
	assert_string_equal(ssh_quote(arena, ""), "''");
	assert_string_equal(ssh_quote_path(arena, "~/bin/a b"), "~/'bin/a b'");
	assert_string_equal(ssh_quote_path(arena, "~/"), "~/");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char command[256], got[256] = "";
		FILE *f;

		snprintf(command, sizeof(command), "printf %%s. %s", ssh_quote(arena, words[i]));
		f = popen(command, "r");
		assert_non_null(f);
		assert_non_null(fgets(got, sizeof(got), f));
		pclose(f);
		assert_int_equal(strlen(got), strlen(words[i]) + 1);
		assert_memory_equal(got, words[i], strlen(words[i]));
	}
	arena_free(arena);
}

/* ---- banners ---- */

/* The banner of this program, over a terminal, which would change bytes if it were not raw. */
TEST(test_terminal)
{
	static const uint8_t bytes[] = { 3, 4, 10, 13, 17, 19, 26, 28, 127, 255, 0, 21 };
	uint8_t offer[sizeof(bytes)];
	struct err why = { 0 };
	struct termios modes, after;
	struct link *here, *there;
	atomic_int cut = 0;
	struct wire_header h;
	struct banner b;
	int master, slave, back;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	back = dup(slave);
	assert_int_equal(tcgetattr(slave, &modes), 0);
	there = link_on_fds(slave, dup(slave), 5 * SECOND_NS);
	assert_int_equal(banner_send(there), 0);
	fcntl(master, F_SETFL, O_NONBLOCK);
	assert_int_equal(banner_await(master, &b, 0, &cut), BANNER_FOUND);
	assert_int_equal(b.protocol, COPY_PROTOCOL);
	here = link_on_fds(master, dup(master), 5 * SECOND_NS);
	for (unsigned i = 0; i < 2; i++) {
		struct link *from = i ? here : there, *to = i ? there : here;

		assert_int_equal(link_send_body(from, WIRE_COPY_OFFER, bytes, sizeof(bytes)), 0);
		if (link_receive(to, 0, &h, &why) != 0)
			fail_msg("%s", why.text);
		assert_int_equal(h.length, sizeof(bytes));
		assert_int_equal(link_receive_body(to, &h, offer, NULL, &why), 0);
		assert_memory_equal(offer, bytes, sizeof(bytes));
	}
	link_close(there);
	assert_int_equal(tcgetattr(back, &after), 0);
	assert_int_equal(after.c_lflag, modes.c_lflag);
	close(back);
	assert_int_equal(link_receive(here, 0, &h, &why), -ECONNRESET);
	link_close(here);
}

/* Looks for a banner in `output`, after which the channel ends. */
static enum banner_end find(const char *output, struct banner *b)
{
	atomic_int cut = 0;
	enum banner_end end;
	int ends[2];

	*b = (struct banner){ .protocol = 0 };
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], output, strlen(output)), strlen(output));
	close(ends[1]);
	end = banner_await(ends[0], b, 0, &cut);
	close(ends[0]);
	return end;
}

/* A banner has a protocol and a version of up to 31 characters, and nothing after them. */
TEST(test_banners)
{
	static const struct {
		const char *output;
		enum banner_end end;
	} cases[] = {
		{ "XDD-COPY 7 1234567890123456789012345678901\n", BANNER_FOUND },
		{ "XDD-COPY 7 1234567890123456789012345678901\r\n", BANNER_FOUND },
		{ "no line end XDD-COPY 7 1234567890123456789012345678901\n", BANNER_FOUND },
		{ "XDD-COPY 7 12345678901234567890123456789012\n", BANNER_CLOSED },
		{ "XDD-COPY 7 \n", BANNER_CLOSED },
		{ "XDD-COPY 7\n", BANNER_CLOSED },
		{ "XDD-COPY x 1\n", BANNER_CLOSED },
		{ "XDD-COPY 7 1 2\n", BANNER_CLOSED },
		{ "XDD-COPY 7 1\r2\n", BANNER_CLOSED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct banner b;

		assert_int_equal(find(cases[i].output, &b), cases[i].end);
		if (cases[i].end == BANNER_FOUND) {
			assert_int_equal(b.protocol, 7);
			assert_string_equal(b.version, "1234567890123456789012345678901");
		}
	}
}

int main(void)
{
	const char *why;
	int failed;

	if (!digest_available(&why) || !net_key_available(&why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	signal(SIGPIPE, SIG_IGN);
	write_answer();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(answer);
	return failed;
}
