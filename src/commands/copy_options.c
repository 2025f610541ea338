/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of xdd copy, values for them, words of scp, rsync, bbcp and cp, and words of a
 * command. Called by copy_words.c; the help, the manual page and the completion have the same rows
 * of options.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "commands/copy_line.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

/*
 * Words of a command, as a shell splits them.
 */

/* Copy one word to `*to`, without its quotes; returns what follows it, or NULL: an open quote. */
static const char *one_word(const char *text, char **to)
{
	char quote = '\0';

	for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
		if (quote ? *text == quote : *text == '\'' || *text == '"')
			quote = quote ? '\0' : *text;
		else if (*text == '\\' && quote != '\'' && text[1] &&
			 (!quote || strchr("\"\\$`", text[1])))
			*(*to)++ = *++text;
		else
			*(*to)++ = *text;
	}
	*(*to)++ = '\0';
	return quote ? NULL : text;
}

int copy_split(struct arena *arena, const char *text, const char *const **words)
{
	const size_t size = strlen(text) + 1;
	const char **list = xarena_alloc(arena, sizeof(*list) * (size / 2 + 2));
	char *to = xarena_alloc(arena, size + 1);
	size_t n = 0;

	while (*(text += strspn(text, " \t\n"))) {
		list[n++] = to;
		text = one_word(text, &to);
		if (!text)
			return -EINVAL;
	}
	*words = list;
	return n && *list[0] ? 0 : -ENODATA;
}

/*
 * Words of scp, rsync, bbcp and cp on the command line of xdd copy: they are refused, with the
 * words to say instead.
 */

/* A word of other tools. */
struct foreign_word {
	const char *words; /* separated by blanks */
	const char *tool;

	/* Words of xddcp; "": none are necessary; NULL: there is nothing like it. */
	const char *say;
	const char *note; /* the reason */
};

static const struct foreign_word rows[] = {
	{ "-z --compress --compress-level --zc -C", "rsync and scp", "",
	  "the data are not compressed" },
	{ "--archive", "rsync", "-r -P", "times and links are always copied, devices never" },
	{ "--progress --info --stats --human-readable", "rsync", "",
	  "progress and a summary are always shown" },
	{ "--partial --partial-dir --append --append-verify", "rsync", "-R",
	  "it keeps and continues parts of files" },
	{ "--checksum --ignore-times -I", "rsync", "-c", "contents are compared" },
	{ "--list-only", "rsync", "-r -n", "a file that would be copied has a line" },
	{ "--mkpath --mkdir", "rsync", "", "directories that lead to the destination are created" },
	{ "--fsync", "rsync", "", "files are flushed before they get names" },
	{ "--dry-run", "rsync", "-n", "nothing is changed" },
	{ "--rsh", "rsync", "-S <command>", "such as -S 'ssh -p 2222'" },
	{ "--rsync-path", "rsync", "-b <path>", "xdd on the other host" },
	{ "--files-from", "rsync", "-F <list>", "the list is the source" },
	{ "--from0", "rsync", "-0", "with -F" },
	{ "--log-file", "rsync", "-v -log <file>", "the log has all files" },
	{ "--times --links --hard-links -H --sparse --whole-file -W", "rsync", "",
	  "xddcp always does that" },
	{ "--perms --owner --group -g --acls -A --xattrs -X", "rsync", "-P",
	  "permissions, owners, ACLs and extended attributes" },
	{ "--numeric-ids", "rsync", NULL,
	  "-P finds owners by name, or by number where there is no such name" },
	{ "--devices --specials --copy-devices --write-devices -D", "rsync", NULL,
	  "devices, FIFOs and sockets in a tree are named, and not copied" },
	{ "--update -u --delete --delete-before --delete-after --delete-excluded --ignore-existing "
	  "--existing --size-only --backup --backup-dir --suffix --link-dest --remove-source-files "
	  "--no-clobber --sync --mirror --move",
	  "rsync and cp", NULL, "files that differ are replaced, and others stay" },
	{ "--exclude --exclude-from --include --include-from --filter --max-size --min-size "
	  "--one-file-system -x --prune-empty-dirs -m",
	  "rsync", "-F -0 <list>",
	  "find <from> -type f ! -name '*.o' -print0 | xddcp -F -0 - <to>" },
	{ "--bwlimit --limit", "rsync", NULL, "a copy is as fast as it can be" },
	{ "--chmod --chown", "rsync", "-P", "permissions and owners of the source" },
	{ "--no-perms --no-owner --no-group", "rsync", "", "without -P they are not copied" },
	{ "--copy-links --dereference -L", "rsync and cp", NULL,
	  "symbolic links in a tree are copied as links" },
	{ "--keep-dirlinks -K", "rsync", NULL,
	  "a symbolic link in the place of a directory of the tree is never followed" },
	{ "--executability -E", "rsync", "-P", "all permissions" },
	{ "--reflink", "cp", NULL, "the data are always copied" },
	{ "--itemize-changes", "rsync", "-v", "the log has all files" },
	{ "--temp-dir -T", "rsync", "",
	  "a file has a temporary name in its directory until it is complete" },
	{ "--parents --relative", "rsync and cp", "-F <list>",
	  "names in a list keep their directories" },
	{ "-4 -6", "scp", "-S <command>", "options of ssh are a part of it, such as -S 'ssh -4'" },
	{ "-B", "scp", "-S 'ssh -o BatchMode=yes'", "options of ssh are a part of its command" },
	{ "-3", "scp", "", "the data of two other hosts move between them where they can" },
	{ "-vv -vvv", "rsync", "-v", "a log and time stamps of all files" },
	{ "-dio", "a run of xdd", "-d -s", "direct I/O at the destination and the source" },
	{ "-j --jobs --parallel --transfers --streams", "rclone and parallel", "-t <number>",
	  "data connections, each with a thread on both sides" },
	{ "-Z", "bbcp", "-p <port>", "the first of the ports" },
	{ "-y", "bbcp", "", "each block is checked, and files are flushed before they get names" },
};

static const struct foreign_word *copy_foreign_find(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (list_has(rows[i].words, word, len, strncmp))
			return &rows[i];
	}
	return NULL;
}

/* A word without its value. Names of several letters have one dash or two, as in xddcp. */
static const struct foreign_word *find_word(const char *word)
{
	const size_t len = strcspn(word, "=");
	const struct foreign_word *row = copy_foreign_find(word, len);
	char name[64];

	if (row || word[1] == '-' || len < 3 || len + 2 > sizeof(name))
		return row;
	snprintf(name, sizeof(name), "-%.*s", (int)len, word);
	return copy_foreign_find(name, len + 1);
}

bool copy_foreign_name(const char *letters)
{
	char word[64];

	if (!letters[1] || strlen(letters) + 2 > sizeof(word))
		return false;
	snprintf(word, sizeof(word), "-%s", letters);
	return find_word(word) != NULL;
}

static void copy_foreign_report(const struct copy_line *l, const char *word,
				const struct foreign_word *row)
{
	/* The next try would be refused for it. */
	const bool archive = l->letter_a && !l->request.settings.recursive;
	const char *more = archive ? "; for -a of rsync say -r -P" : "";

	if (!row->say)
		log_error("copy %.128s: is a word of %s; xddcp has nothing like it: %s%s", word,
			  row->tool, row->note, more);
	else if (!*row->say)
		log_error("copy %.128s: is a word of %s; leave it out: %s%s", word, row->tool,
			  row->note, more);
	else
		log_error("copy %.128s: is a word of %s; say %s: %s%s", word, row->tool, row->say,
			  row->note, more);
}

/* -avz: what xddcp calls that. Letters that it does not know have no words here. */
static void report_archive(const char *word)
{
	log_error("copy %.128s: is a word of rsync; say -r -P%s%s%s: times and links are always "
		  "copied, devices never",
		  word, strchr(word, 'n') ? " -n" : "", strchr(word, 'c') ? " -c" : "",
		  strchr(word, 'v') ? " -v" : "");
}

static bool copy_foreign_exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static bool is_setting(const char *text)
{
	const size_t n = strcspn(text, "= ");

	return isupper((unsigned char)*text) && text[n] && !copy_foreign_exists(text) &&
	       n == strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

bool copy_foreign_option(const struct copy_line *l, const char *word)
{
	static const char archive[] = "avzhrnPHAXxuSWcglptoDELKi0q";
	const struct foreign_word *row = find_word(word);

	if (row) {
		copy_foreign_report(l, word, row);
		return true;
	}
	if (word[1] == 'o' && is_setting(word + 2))
		return log_fail(true, "copy %.128s: is a setting of ssh; say -S 'ssh %.128s'", word,
				word);
	if (word[1] == '-' || option_suggest(&copy_options, word))
		return false;
	if (strchr(word, 'a') && !word[1 + strspn(word + 1, archive)] && strlen(word) < 12) {
		report_archive(word);
		return true;
	}
	/* A letter among others: -rC. */
	if (strpbrk(word + 1, "-="))
		return false;
	for (const char *c = word + 1; *c; c++) {
		const char letter[3] = { '-', *c, '\0' };

		if (*c == 'h')
			return log_fail(
				true,
				"copy %.128s: -h is the help here and stands alone; leave it "
				"out: figures are always readable",
				word);
		if (option_find(&copy_options, letter + 1))
			continue;
		row = isalnum((unsigned char)*c) ? copy_foreign_find(letter, 2) : NULL;
		if (row)
			copy_foreign_report(l, word, row);
		return row != NULL;
	}
	return false;
}

/* ---- letters with another meaning ---- */

void copy_foreign_notes(const struct copy_line *l)
{
	const struct copy_settings *s = &l->request.settings;

	if (l->letter_a && s->recursive && !s->everything)
		log_notice("copy -a: is -R, which continues an interrupted copy; permissions and "
			   "owners, as with -a of rsync, are copied by -P");
	if (l->kernel_trace)
		log_notice("copy -W: events of the kernel are not traced; it writes what -w does");
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_number(const char *text)
{
	return isdigit((unsigned char)*text) && !text[strspn(text, "0123456789.kKmMgG")] &&
	       !copy_foreign_exists(text);
}

/* A private key of ssh: a source by mistake, if -i were taken as it is here. */
static bool is_identity(struct arena *arena, const char *name)
{
	const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
	const char *public = xarena_printf(arena, "%s.pub", name);

	return strncmp(last, "id_", 3) == 0 || ends_with(name, ".pem") || ends_with(name, ".key") ||
	       strstr(name, "/.ssh/") || copy_foreign_exists(public);
}

static bool is_cipher(const char *text)
{
	return (strncmp(text, "aes", 3) == 0 || strncmp(text, "chacha20", 8) == 0 ||
		strncmp(text, "3des", 4) == 0) &&
	       !copy_foreign_exists(text);
}

/* True if a file begins as a log of a copy does: "2026-11-26 21:45:05.235 command xdd copy". */
static bool is_log(const char *name)
{
	static const char form[] = "0000-00-00 00:00:00.000 command ";
	char line[sizeof(form)] = "";
	FILE *f = fopen(name, "re");

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	for (char *c = line; *c; c++)
		*c = isdigit((unsigned char)*c) ? '0' : *c;
	return strcmp(line, form) == 0;
}

/* A log that would be appended to a file that is to be copied. */
static bool is_file(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISREG(st.st_mode) && st.st_size &&
	       !ends_with(name, ".log") && !is_log(name);
}

static bool is_ssh(const char *text)
{
	return (strcmp(text, "ssh") == 0 || strncmp(text, "ssh ", 4) == 0 ||
		strcmp(text, "rsh") == 0) &&
	       !copy_foreign_exists(text);
}

const char *copy_foreign_value(struct arena *arena, char letter, const char *next)
{
	switch (letter) {
	case 'i':
		return is_identity(arena, next) ?
			       "is an identity of ssh; say -S 'ssh -i <file>'; -inplace writes "
			       "into existing files" :
			       NULL;
	case 'P':
		return is_number(next) ? "is a port of ssh; say -S 'ssh -p <port>'; -P copies "
					 "owners, ACLs and extended attributes" :
					 NULL;
	case 'o':
		return is_setting(next) ? "is a setting of ssh; say -S 'ssh -o <setting>'; -o "
					  "writes in order" :
					  NULL;
	case 'c':
		return is_cipher(next) ? "is a cipher of ssh, and the data do not move by ssh; say "
					 "-e to encrypt them; -c compares contents" :
					 NULL;
	case 'J':
		return !copy_foreign_exists(next) && !strchr(next, ':') ?
			       "is no source; for a host between say -S 'ssh -J <host>'; -J writes "
			       "the results as JSON" :
			       NULL;
	case 'e':
		return is_ssh(next) ? "is a command; say -S <command>; -e encrypts the data" : NULL;
	case 's':
		return is_number(next) ? "is a number of streams; say -t <number>; -s reads the "
					 "source by direct I/O" :
					 NULL;
	case 'l':
		return is_number(next) ? "is a limit of scp, and a copy is as fast as it can be; "
					 "-l is the directory of xdd" :
					 NULL;
	case 'O':
		return is_file(next) ?
			       "is a file that the log would be appended to; say -log to do that; "
			       "the -O of scp is not needed here" :
			       NULL;
	default:
		return NULL;
	}
}

#define LINE_FIELD(field) OPTION_FIELD(struct copy_line, field)
#define FLAG(field) OPTION_FLAG(struct copy_line, request.field)
#define SETTING(field) FLAG(settings.field)

static const struct option what_rows[] = {
	{ .name = "recursive",
	  .aliases = "r",
	  SETTING(recursive),
	  .help = "copy directories with all that is in them",
	  .detail =
		  "A directory becomes one of the same name in a destination that exists; "
		  "otherwise it gets the name of the destination, and directories that lead to it "
		  "are created. A name that ends with a slash, "
		  "dir/, stands for what is in it. Symbolic links are copied as links, and names of "
		  "the same file (hard links) stay that. FIFOs, sockets and devices in a tree are "
		  "refused with a line each.",
	  .example = "xddcp -r results/ storage:results" },
	{ .name = "preserve",
	  .aliases = "P",
	  SETTING(everything),
	  .help = "copy permissions, owners, ACLs and extended attributes too",
	  .detail =
		  "Times are always copied. Without this option new files and directories get the "
		  "permissions of the source that the umask or the default ACL at the destination "
		  "leaves, without set-user-ID bits; those that exist keep theirs. Owners need the "
		  "rights of root at the destination; what could not be set is counted and "
		  "reported once.",
	  .example = "xddcp -r -P /home/ann root@storage:/home/" },
	{ .name = "contents",
	  .aliases = "c",
	  SETTING(compare_contents),
	  .help = "compare contents where size or time agree",
	  .detail = "Without it a file of the same size and modification time is skipped. With it "
		    "both sides read a file of the same size and compare digests, and only files "
		    "that differ are sent. It compares block devices too, which are always copied "
		    "without it.",
	  .example = "xddcp -r -c results/ storage:results" },
	{ .name = "resume",
	  .aliases = "R a",
	  SETTING(resume),
	  .help = "continue an interrupted copy; keep the parts if this one is interrupted",
	  .detail =
		  "The command is repeated as it was. Files that arrived are skipped, and parts of "
		  "large files that were durable at the destination are not sent again if the source "
		  "is unchanged: both sides read them and compare digests, and what differs is sent "
		  "again. Without it an interrupted copy leaves complete files only. A copy to a "
		  "device begins again.",
	  .example = "xddcp -r -R results/ storage:results" },
	{ .name = "trust",
	  SETTING(trust),
	  .help = "with -resume: keep parts without reading them",
	  .detail =
		  "It saves the time that reading them takes on both sides. A part is then kept if "
		  "its source has the inode, the size and the times that it had; bytes of the part "
		  "that have changed since the interruption stay unnoticed, and so do changes of a "
		  "source that is a device: -verify finds both.",
	  .example = "xddcp -R -trust disk.img storage:/vm/" },
	{ .name = "inplace",
	  .aliases = "i",
	  SETTING(in_place),
	  .help = "write into existing files, without temporary names",
	  .detail =
		  "For a destination that must keep its inode or has no room for a second copy of "
		  "a file. A file whose copy was interrupted is incomplete, and is named unless "
		  "the connection to its host was lost. All names of a file (hard links) get the new "
		  "contents; two sources for names of one file are refused. Devices are always "
		  "written in place.",
	  .example = "xddcp -i disk.img storage:/vm/disk.img" },
	{ .name = "size",
	  .arg = "<bytes>",
	  .type = OPT_SIZE,
	  .max = UINT64_MAX - 1,
	  LINE_FIELD(size_bytes),
	  .help = "copy the first <bytes> of the only source",
	  .detail = "The same as a size after the destination. A device whose size is not known "
		    "needs it.",
	  .example = "xddcp -size 10G /dev/zero storage:/dev/null" },
	{ .name = "list",
	  .aliases = "F",
	  SETTING(list),
	  .help = "the source is a file with names, one per line",
	  .detail =
		  "Relative names begin in the current directory, or in the home directory of another "
		  "host, and keep their directories below the destination; absolute names "
		  "lose theirs. Directories that the destination lacks are created. A name with .. is "
		  "refused. The list and its files are on the host of "
		  "the source. - is standard input. A directory in the list is copied without what "
		  "is in it, unless there is -recursive.",
	  .example = "xddcp -F list storage:/data" },
	{ .name = "null",
	  .aliases = "0",
	  SETTING(list_nul),
	  .help = "names in the list end with NUL, not with a newline",
	  .detail = "As find -print0 writes them: a name may have newlines in it.",
	  .example = "find . -name '*.dat' -print0 | xddcp -F -0 - storage:/data" },
	{ .name = "force",
	  SETTING(force),
	  .help = "write to a device that carries data",
	  .detail = "Without it a block device with a file system, a partition table or another "
		    "signature is refused. A device that is in use is always refused.",
	  .example = "xddcp -force disk.img storage:/dev/sdb" },
	{ 0 },
};

static const struct option instead_rows[] = {
	{ .name = "verify",
	  .aliases = "k",
	  SETTING(verify),
	  .help = "copy nothing; compare, and list what differs",
	  .detail =
		  "Both sides read, and digests of blocks are compared, as well as what the copy "
		  "would set: times; with -preserve permissions, owners, ACLs and extended "
		  "attributes. All differences of a file are in one line, with ranges of bytes; the "
		  "exit status is then 7. It is 0 only if the command without -verify would change "
		  "nothing. A directory that the "
		  "destination lacks has one line; what is in it is counted, and listed by -v.",
	  .example = "xddcp -r -k results/ storage:results" },
	{ .name = "dryrun",
	  .aliases = "n",
	  SETTING(dry_run),
	  .help = "change nothing; list what would be copied",
	  .detail =
		  "Both sides compare as in a copy. Files that are the same already are counted "
		  "only. Followed by a number and two names or more, -n is -retries, as in a later "
		  "program, and excludes it.",
	  .example = "xddcp -r -n results/ storage:results" },
	{ 0 },
};

static const struct option how_rows[] = {
	{ .name = "threads",
	  .aliases = "t",
	  OPTION_NUMBER("<#threads>", 1, COPY_MAX_CONNECTIONS),
	  .def = "8 threads; 4 where this host has up to 4 processors",
	  LINE_FIELD(threads),
	  .hint = "times are always copied",
	  .help = "threads of each side, each with a connection",
	  .detail = "All of them take whole small files and blocks of large files from one queue.",
	  .example = "xddcp -t 16 disk.img storage:/vm/" },
	{ .name = "blocksize",
	  OPTION_SIZE("<bytes>", COPY_MIN_BLOCK_BYTES, COPY_MAX_BLOCK_BYTES),
	  .def = "1 MiB",
	  LINE_FIELD(block_bytes),
	  .help = "size of the requests for large files; a multiple of 4 KiB",
	  .example = "xddcp -blocksize 4M disk.img storage:/vm/" },
	{ .name = "directdestination",
	  .aliases = "d",
	  SETTING(direct_destination),
	  .help = "write large files by direct I/O at the destination",
	  .detail =
		  "The page cache of the destination is bypassed. Where the file system cannot do "
		  "that, a note says so. Followed by s, d or b and two names or more it is for the "
		  "source, the destination or both, as in a later program.",
	  .example = "xddcp -d -s disk.img storage:/vm/" },
	{ .name = "directsource",
	  .aliases = "s",
	  SETTING(direct_source),
	  .help = "read large files by direct I/O at the source",
	  .detail =
		  "The page cache of the source is bypassed. Where the file system cannot do that, "
		  "a note says so.",
	  .example = "xddcp -s disk.img storage:/vm/" },
	{ .name = "ordered",
	  .aliases = "o",
	  SETTING(ordered_destination),
	  .help = "write each large file in the order of its offsets",
	  .detail =
		  "Otherwise blocks are written as they arrive. Followed by s, d or b and two names "
		  "or more it is for reading, writing or both, as in a later program.",
	  .example = "xddcp -o disk.img storage:/vm/" },
	{ .name = "encrypt",
	  .aliases = "e",
	  SETTING(encrypt),
	  .help = "encrypt the data connections (TLS 1.3)",
	  .detail =
		  "Otherwise each message of a data connection has a code of the key of this copy, "
		  "and its data have a digest, but others in the network could read the data. Names "
		  "and attributes always move through ssh.",
	  .example = "xddcp -e secret.tar storage:" },
	{ 0 },
};

static const struct option link_rows[] = {
	{ .name = "port",
	  .aliases = "p",
	  OPTION_NUMBER("<port>", 1, 65535),
	  LINE_FIELD(port),
	  .hint = "times are always copied, and -P copies permissions and owners",
	  .help = "listen at this port, or at one of those after it",
	  .detail =
		  "As many ports are tried as there are threads; the first free one takes all "
		  "connections. For a firewall that admits certain ports only. Otherwise the side "
		  "that listens takes the first free port from 40010 on. Where no connection is "
		  "possible in either direction the data move through ssh; a line says so.",
	  .example = "xddcp -p 50000 -t 4 disk.img storage:/vm/" },
	{ .name = "freeports",
	  .aliases = "f",
	  SETTING(free_ports),
	  .help = "end other xdd of this user that use the ports of -p",
	  .detail = "For ports that an earlier copy has left in use. An xdd that waits for "
		    "connections there gets SIGTERM, also one of -e2e. A copy that has its "
		    "connections goes on. Without -p another port is used, and nothing is ended.",
	  .example = "xddcp -f -p 50000 disk.img storage:/vm/" },
	{ .name = "ssh",
	  .aliases = "S",
	  OPTION_TEXT("<command>"),
	  LINE_FIELD(ssh),
	  .help = "command in place of ssh, with its options",
	  .detail =
		  "Words are split as by a shell, with quotes and backslashes; nothing is expanded. "
		  "Without it the command comes from the variable XDDCP_SSH, or is ssh.",
	  .example = "xddcp -S 'ssh -p 2222 -i key' disk.img ann@storage:/vm/" },
	{ .name = "tty",
	  .aliases = "Y",
	  FLAG(remote_tty),
	  .help = "ssh with a terminal on the other side",
	  .detail = "For hosts that refuse commands without one.",
	  .example = "xddcp -Y disk.img storage:/vm/" },
	{ .name = "remotexdd",
	  .aliases = "b",
	  OPTION_TEXT("<path>"),
	  LINE_FIELD(remote_xdd),
	  .help = "xdd on the other hosts: its directory, or the program",
	  .detail = "A path is the program if its last part is xdd or begins with xdd and a dot; "
		    "otherwise, or with a slash at its end, it is the directory.",
	  .example = "xddcp -b /opt/xdd/bin disk.img storage:/vm/" },
	{ .name = "localxdd",
	  .aliases = "l",
	  OPTION_TEXT("<directory>"),
	  LINE_FIELD(local_xdd),
	  .help = "directory of xdd on this host; for the script xddcp",
	  .example = "xddcp -l /opt/xdd/bin disk.img storage:/vm/" },
	{ .name = "timeout",
	  OPTION_TIME("<time>", NS_PER_SEC, 3600 * NS_PER_SEC),
	  .def = "30",
	  .unit = "seconds",
	  LINE_FIELD(timeout_ns),
	  .help = "end after this time without a sign of life of the other side",
	  .detail = "From 1 second to 1 hour. Where it is given, it is also the limit for the time "
		    "until ssh has connected and xdd has answered, with the time for a password; "
		    "otherwise only ssh limits that.",
	  .example = "xddcp -timeout 2min disk.img storage:/vm/" },
	{ .name = "retries",
	  OPTION_NUMBER("<#retries>", 0, 1000),
	  .def = "0",
	  LINE_FIELD(retries),
	  .help = "start again so many times after the connection was lost",
	  .detail = "With -resume each start continues where the one before has ended.",
	  .example = "xddcp -R -retries 5 disk.img storage:/vm/" },
	{ 0 },
};

static const struct option output_rows[] = {
	{ .name = "quiet",
	  .aliases = "q",
	  FLAG(quiet),
	  .help = "neither progress nor summary",
	  .example = "xddcp -q disk.img storage:/vm/" },
	{ .name = "log",
	  .aliases = "O",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(request.log_path),
	  .help = "append a log to <file>; with -verbose it has all files",
	  .detail = "-O takes a new file, one whose name ends with .log, or an older log: for scp "
		    "the word after it is a source.",
	  .example = "xddcp -r -log copy.log results/ storage:results" },
	{ .name = "jsonout",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(request.json_path),
	  .help = "write the results as JSON to <file>; - is standard output",
	  .example = "xddcp -r -jsonout copy.json results/ storage:results" },
	{ .name = "json",
	  .aliases = "J",
	  OPTION_FLAG(struct copy_line, json),
	  .help = "write the results as JSON to standard output",
	  .example = "xddcp -q -J disk.img storage:/vm/" },
	{ .name = "verbose",
	  .aliases = "v V",
	  SETTING(stamps),
	  .help = "a log, and time stamps of all operations on both sides",
	  .example = "xddcp -v disk.img storage:/vm/" },
	{ .name = "dump",
	  .aliases = "w",
	  SETTING(stamps_binary),
	  .help = "the same, and dumps of the time stamps for xdd tsread",
	  .detail = "A number after it, as in a later program, is accepted and changes nothing; -W "
		    "with a number is understood, without the trace of the kernel.",
	  .example = "xddcp -w disk.img storage:/vm/" },
	{ OPTION_HELP, .aliases = "h" },
	{ .name = "version", .type = OPT_ACTION, .help = "the version of xdd" },
	{ 0 },
};

const struct option_table copy_options = {
	OPTION_GROUPS(OPTION_GROUP("Copies", what_rows),
		      OPTION_GROUP("In place of a copy", instead_rows),
		      OPTION_GROUP("Reading, writing and sending", how_rows),
		      OPTION_GROUP("Connections", link_rows), OPTION_GROUP("Output", output_rows)),
};
