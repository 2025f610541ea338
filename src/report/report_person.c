/*
 * The block for people as an output of a report. Called by report.c when the run is over.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/person.h"
#include "report/report_internal.h"
#include "report/screen.h"

/* The block, with a blank line between it and other lines; to be freed. NULL: no memory. */
static char *make_block(struct report *r, enum report_end end, size_t *size)
{
	size_t n;
	const struct finding *findings = report_findings(r, &n);
	struct screen screen;
	struct memstream m;
	int err;

	if (!memstream_open(&m))
		return NULL;
	screen_init(&screen, STDOUT_FILENO);
	if (r->begun && !r->plan->output_file)
		fputc('\n', m.f);
	err = person_write(r->person, findings, n, end, &screen, m.f);
	screen_free(&screen);
	/* The lines that follow are the guide's, or those of options that ask for more. */
	if (report_holds(r) && (report_guide(r) || r->table.size))
		fputc('\n', m.f);
	if (memstream_close(&m) || err) {
		free(m.text);
		return NULL;
	}
	*size = m.size;
	return m.text;
}

void report_person_write(struct report *r, enum report_end end)
{
	struct outfile *o = r->plan->output_file ? &r->screen : &r->text;
	size_t size = 0;
	char *text;

	pthread_mutex_lock(&r->text_lock);
	if (r->table.f)
		fflush(r->table.f);
	text = make_block(r, end, &size);
	if (text)
		outfile_write(o, text, size);
	else if (!o->error)
		o->error = ENOMEM;
	free(text);
	report_release_held(r);
	pthread_mutex_unlock(&r->text_lock);
}
