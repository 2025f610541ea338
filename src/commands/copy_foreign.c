/*
 * Words of scp, rsync, bbcp and cp on the command line of xdd copy: they are refused, with the
 * words to say instead. Called by copy_words.c.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "commands/copy_line.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"

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
	{ "--checksum", "rsync", "-c", "contents are compared" },
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
	  "owners of -P are those of the same name, or without one of the same number" },
	{ "--devices --specials --copy-devices --write-devices -D", "rsync", NULL,
	  "devices, FIFOs and sockets in a tree are named, and not copied" },
	{ "--update -u --delete --delete-before --delete-after --delete-excluded --ignore-existing "
	  "--existing --size-only --backup --remove-source-files --no-clobber",
	  "rsync and cp", NULL, "files that differ are replaced, and others stay" },
	{ "--exclude --exclude-from --include --filter --max-size --min-size --one-file-system -x",
	  "rsync", "-F -0 <list>", "a list of find -print0" },
	{ "--bwlimit", "rsync", NULL, "a copy is as fast as it can be" },
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
	{ "-Z", "bbcp", "-p <port>", "the first of the ports" },
	{ "-y", "bbcp", "", "each block is checked, and files are flushed before they get names" },
};

static bool list_has(const char *list, const char *word, size_t len)
{
	for (; *list; list += strspn(list, " ")) {
		size_t n = strcspn(list, " ");

		if (n == len && strncmp(list, word, n) == 0)
			return true;
		list += n;
	}
	return false;
}

static const struct foreign_word *find(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (list_has(rows[i].words, word, len))
			return &rows[i];
	}
	return NULL;
}

/* A word without its value. Names of several letters have one dash or two, as those of xddcp. */
static const struct foreign_word *find_word(const char *word)
{
	const size_t len = strcspn(word, "=");
	const struct foreign_word *row = find(word, len);
	char name[64];

	if (row || word[1] == '-' || len < 3 || len + 2 > sizeof(name))
		return row;
	snprintf(name, sizeof(name), "-%.*s", (int)len, word);
	return find(name, len + 1);
}

bool copy_foreign_name(const char *letters)
{
	char word[64];

	if (!letters[1] || strlen(letters) + 2 > sizeof(word))
		return false;
	snprintf(word, sizeof(word), "-%s", letters);
	return find_word(word) != NULL;
}

static void report(const char *word, const struct foreign_word *row)
{
	if (!row->say)
		log_error("copy %.128s: is a word of %s; xddcp has nothing like it: %s", word,
			  row->tool, row->note);
	else if (!*row->say)
		log_error("copy %.128s: is a word of %s; leave it out: %s", word, row->tool,
			  row->note);
	else
		log_error("copy %.128s: is a word of %s; say %s: %s", word, row->tool, row->say,
			  row->note);
}

/* -avz: what xddcp calls that. Letters that it does not know have no words here. */
static void report_archive(const char *word)
{
	log_error("copy %.128s: is a word of rsync; say -r -P%s%s%s: times and links are always "
		  "copied, devices never",
		  word, strchr(word, 'n') ? " -n" : "", strchr(word, 'c') ? " -c" : "",
		  strchr(word, 'v') ? " -v" : "");
}

static bool exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static bool is_setting(const char *text)
{
	const size_t n = strcspn(text, "= ");

	return isupper((unsigned char)*text) && text[n] && !exists(text) &&
	       n == strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

bool copy_foreign_option(const char *word)
{
	static const char archive[] = "avzhrnPHAXxuSWcglptoDELKi0q";
	const struct foreign_word *row = find_word(word);

	if (row) {
		report(word, row);
		return true;
	}
	if (word[1] == 'o' && is_setting(word + 2)) {
		log_error("copy %.128s: is a setting of ssh; say -S 'ssh %.128s'", word, word);
		return true;
	}
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

		if (*c == 'h') {
			log_error("copy %.128s: -h is the help here and stands alone; leave it "
				  "out: figures are always readable",
				  word);
			return true;
		}
		if (option_find(&copy_options, letter + 1))
			continue;
		row = isalnum((unsigned char)*c) ? find(letter, 2) : NULL;
		if (row)
			report(word, row);
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
	       !exists(text);
}

/* A private key of ssh: a source by mistake, if -i were taken as it is here. */
static bool is_identity(struct arena *arena, const char *name)
{
	const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
	const char *public = arena_printf(arena, "%s.pub", name);

	return strncmp(last, "id_", 3) == 0 || ends_with(name, ".pem") || ends_with(name, ".key") ||
	       strstr(name, "/.ssh/") || (public && exists(public));
}

static bool is_cipher(const char *text)
{
	return (strncmp(text, "aes", 3) == 0 || strncmp(text, "chacha20", 8) == 0 ||
		strncmp(text, "3des", 4) == 0) &&
	       !exists(text);
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
	       !exists(text);
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
		return !exists(next) && !strchr(next, ':') ?
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
