/*
 * Running gnuplot, and its pictures; see the header. Called by page.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/page/plot.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/report/outfile.h"
#include "xdd/sys/child.h"
#include "xdd/sys/clock.h"

#define PICTURES_MAX_BYTES (256u << 20)
#define READ_BYTES 65536
#define END_WAIT_NS NS_PER_SEC
#define PATH_BYTES 4096

#define SVG_TERMINAL "set terminal svg size 860,380 dynamic noenhanced font 'sans-serif,13'\n"
#define PNG_TERMINAL "set terminal pngcairo size 1290,570 noenhanced font 'sans-serif,14'\n"

/* ---- gnuplot ---- */

/* A gnuplot with its script and what it prints. */
struct drawing {
	struct child child;
	const char *script;
	size_t size, written;
	struct memstream out;
	uint64_t until_ns;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Returns false at the end of the stream; without `f` the text is dropped. */
static bool take(int fd, FILE *f)
{
	char buf[READ_BYTES];
	const ssize_t n = read(fd, buf, sizeof(buf));

	if (n > 0 && f)
		fwrite(buf, 1, (size_t)n, f);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void give(struct drawing *d)
{
	const ssize_t n = write(d->child.write_fd, d->script + d->written, d->size - d->written);

	if (n > 0)
		d->written += (size_t)n;
	/* gnuplot has ended. */
	if ((n < 0 && errno != EAGAIN && errno != EINTR) || d->written == d->size)
		close_fd(&d->child.write_fd);
}

/* One wait for the streams of the child; false: it takes too long, or prints too much. */
static bool step(struct drawing *d)
{
	struct pollfd p[] = { { d->child.read_fd, POLLIN, 0 },
			      { d->child.error_fd, POLLIN, 0 },
			      { d->child.write_fd, POLLOUT, 0 } };
	const uint64_t now_ns = clock_now_ns();

	if (now_ns >= d->until_ns || ftell(d->out.f) > (long)PICTURES_MAX_BYTES)
		return false;
	poll(p, 3, (int)((d->until_ns - now_ns) / NS_PER_MS) + 1);
	if (p[0].revents && !take(d->child.read_fd, d->out.f))
		close_fd(&d->child.read_fd);
	if (p[1].revents && !take(d->child.error_fd, NULL))
		close_fd(&d->child.error_fd);
	if (p[2].revents)
		give(d);
	return true;
}

/*
 * Run gnuplot with a script. Returns 0 with what it printed in `out`, to be freed; -ETIMEDOUT; -EIO
 * where it fails; or another -errno, which is that of starting it.
 */
static int run_gnuplot(const char *script, size_t size, struct memstream *out)
{
	/* -d: without the start-up files of the user, which may change anything. */
	static char *const argv[] = { (char *)"gnuplot", (char *)"-d", NULL };
	struct drawing d = { .script = script, .size = size };
	int err, status;

	out->text = NULL;
	if (!memstream_open(&d.out))
		return -ENOMEM;
	err = child_start(&d.child, argv, CHILD_ERRORS);
	if (err) {
		memstream_discard(&d.out);
		return err;
	}
	d.until_ns = clock_now_ns() + PLOT_WAIT_NS;
	while (!err && (d.child.read_fd >= 0 || d.child.error_fd >= 0))
		err = step(&d) ? 0 : -ETIMEDOUT;
	close_fd(&d.child.read_fd);
	close_fd(&d.child.error_fd);
	close_fd(&d.child.write_fd);
	status = child_wait(d.child.pid, err ? 0 : END_WAIT_NS);
	if (memstream_close(&d.out))
		return -ENOMEM;
	*out = d.out;
	return err ? err : status ? -EIO : 0;
}

/* ---- all plots at once ---- */

static int write_scripts(const struct plots *plots, struct memstream *m)
{
	char source[32];

	if (!memstream_open(m))
		return -ENOMEM;
	for (size_t i = 0; i < plots->n; i++) {
		if (!plot_is_drawn(plots->list[i]))
			continue;
		snprintf(source, sizeof(source), "$d%zu", i);
		fprintf(m->f, "reset\n%s << XDDEND\n", source);
		plot_write_data(m->f, plots->list[i]);
		fputs("XDDEND\n" SVG_TERMINAL, m->f);
		plot_write_commands(m->f, plots->list[i], source);
		fputs("set output\n", m->f);
	}
	return memstream_close(m);
}

/* Each plot gets the next picture. */
static void share(struct plots *plots, const char *pictures)
{
	static const char end[] = "</svg>";

	for (size_t i = 0; i < plots->n && pictures; i++) {
		const char *from = strstr(pictures, "<svg"), *to = from ? strstr(from, end) : NULL;

		if (!plot_is_drawn(plots->list[i]))
			continue;
		if (to)
			plots->list[i]->svg = strndup(from, (size_t)(to - from) + sizeof(end) - 1);
		pictures = to;
	}
}

void plots_draw(struct plots *plots)
{
	struct memstream script, out = { 0 };
	int err = write_scripts(plots, &script);

	if (!err && script.size)
		err = run_gnuplot(script.text, script.size, &out);
	if (out.text)
		share(plots, out.text);
	if (err)
		plots->why = err == -ENOENT    ? "gnuplot is not installed" :
			     err == -ETIMEDOUT ? "gnuplot took too long" :
			     err == -EIO       ? "gnuplot failed" :
						 "gnuplot cannot be started";
	free(out.text);
	free(script.text);
}

/* ---- the picture as an element ---- */

/*
 * All ids of gnuplot, and references to them, get the number of the plot. They are in tags, where
 * nothing comes from a document.
 */
void plot_write_svg(FILE *f, const struct plot *plot, size_t number)
{
	static const char *const marks[] = { "id='", "id=\"", "href='#", "href=\"#", "url(#" };
	const char *at = plot->svg + strlen("<svg");
	bool tag = true;

	fprintf(f, "<svg role=\"img\" aria-label=\"%s\"", plot->title);
	while (*at) {
		size_t length = 0;

		tag = *at == '<' || (tag && *at != '>');
		for (size_t i = 0; tag && i < sizeof(marks) / sizeof(marks[0]) && !length; i++) {
			if (strncmp(at, marks[i], strlen(marks[i])) == 0)
				length = strlen(marks[i]);
		}
		fwrite(at, 1, length ? length : 1, f);
		if (length)
			fprintf(f, "p%zu", number);
		at += length ? length : 1;
	}
	fputc('\n', f);
}

/* ---- files ---- */

/* The path of a file of a plot in `path`. False: it does not fit. */
static bool file_path(char path[PATH_BYTES], const char *directory, const char *name,
		      const char *suffix)
{
	return snprintf(path, PATH_BYTES, "%s/%s.%s", directory, name, suffix) < PATH_BYTES;
}

static int save(const char *directory, const char *name, const char *suffix, const char *text,
		size_t size)
{
	char path[PATH_BYTES];
	struct newfile f;
	int err;

	if (!file_path(path, directory, name, suffix))
		return -ENAMETOOLONG;
	err = newfile_open(&f, path);
	if (!err) {
		fwrite(text, 1, size, f.f);
		err = newfile_close(&f, 0);
	}
	if (err)
		log_error("report -plots %s: %s", path, output_strerror(err));
	return err;
}

/* The script that makes NAME.svg and NAME.png of NAME.dat in its directory. */
static int save_script(const struct plot *plot, const char *directory)
{
	char source[PLOT_LABEL_SIZE + 8];
	struct memstream m;
	int err;

	if (!memstream_open(&m))
		return -ENOMEM;
	snprintf(source, sizeof(source), "'%s.dat'", plot->name);
	fprintf(m.f, "# %s: gnuplot %s.gnuplot\n" SVG_TERMINAL "set output '%s.svg'\n", plot->title,
		plot->name, plot->name);
	plot_write_commands(m.f, plot, source);
	fprintf(m.f, PNG_TERMINAL "set output '%s.png'\nreplot\n", plot->name);
	err = memstream_close(&m);
	err = err ? err : save(directory, plot->name, "gnuplot", m.text, m.size);
	free(m.text);
	return err;
}

static int save_data(const struct plot *plot, const char *directory)
{
	struct memstream m;
	int err;

	if (!memstream_open(&m))
		return -ENOMEM;
	plot_write_data(m.f, plot);
	err = memstream_close(&m);
	err = err ? err : save(directory, plot->name, "dat", m.text, m.size);
	free(m.text);
	return err;
}

static int save_png(const struct plot *plot, const char *directory)
{
	struct memstream script, out = { 0 };
	int err;

	if (!memstream_open(&script))
		return -ENOMEM;
	fputs("$d << XDDEND\n", script.f);
	plot_write_data(script.f, plot);
	fputs("XDDEND\n" PNG_TERMINAL, script.f);
	plot_write_commands(script.f, plot, "$d");
	err = memstream_close(&script);
	err = err ? err : run_gnuplot(script.text, script.size, &out);
	if (!err && out.size)
		err = save(directory, plot->name, "png", out.text, out.size);
	else
		log_warning("report -plots %s: gnuplot made no PNG of %s", directory, plot->name);
	free(out.text);
	free(script.text);
	return err == -EIO ? 0 : err;
}

bool plots_replace(const struct plots *plots, const char *directory, const char *file)
{
	static const char *const suffixes[] = { "dat", "gnuplot", "svg", "png" };
	const size_t n_suffixes = sizeof(suffixes) / sizeof(suffixes[0]);
	struct outfile_id ours, id;
	char path[PATH_BYTES];

	outfile_identify(&id, file);
	for (size_t i = 0; i < plots->n * n_suffixes; i++) {
		const struct plot *plot = plots->list[i / n_suffixes];

		if (!plot_is_drawn(plot) ||
		    !file_path(path, directory, plot->name, suffixes[i % n_suffixes]))
			continue;
		outfile_identify(&ours, path);
		if (outfile_is_same(&ours, &id))
			return true;
	}
	return false;
}

int plots_save(const struct plots *plots, const char *directory)
{
	int err = 0;

	if (mkdir(directory, 0777) && errno != EEXIST) {
		err = -errno;
		log_error("report -plots %s: %s", directory, strerror(-err));
		return err;
	}
	for (size_t i = 0; i < plots->n && !err; i++) {
		const struct plot *plot = plots->list[i];

		if (!plot_is_drawn(plot))
			continue;
		err = save_data(plot, directory);
		err = err ? err : save_script(plot, directory);
		if (!err && plot->svg)
			err = save(directory, plot->name, "svg", plot->svg, strlen(plot->svg));
		if (!err && plot->svg)
			err = save_png(plot, directory);
	}
	return err;
}
