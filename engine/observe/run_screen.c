/* run_screen.c - a status as a screen of text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/printable.h"
#include "observe/run_status.h"
#include "report/progress.h"

enum { STEP_BAR = 40, BUSY_BAR = 12 };

#define LONGEST_LINE 2048

/* A page that is filled line by line; lines beyond the last are not printed, and longer ones are cut. */
typedef struct page {
	unsigned columns, left; /* lines that still fit */
	FILE *out;
} page;

static void put_line(page *p, const char *line)
{
	char text[LONGEST_LINE];
	size_t n;

	if (!p->left)
		return;
	snprintf(text, sizeof(text), "%s", line);
	n = strlen(mr_printable(text)); /* it has texts of status.json, which anybody may have written */
	while (n && text[n - 1] == ' ')
		n--;
	fprintf(p->out, "%.*s\n", (int)(n < p->columns ? n : p->columns), text);
	p->left--;
}

static void bar(double part, unsigned width, char *to)
{
	unsigned full = part > 0 ? (unsigned)(fmin(part, 1) * width + 0.5) : 0;

	memset(to, '#', full);
	memset(to + full, '.', width - full);
	to[width] = 0;
}

static void put_head(page *p, const mr_run_status *s)
{
	double age = fmax(0, (double)time(NULL) - s->row.updated);
	char line[512], when[32] = "";

	if (age >= 3)
		snprintf(when, sizeof(when), ", %.0f s ago", age);
	snprintf(line, sizeof(line), "%s   %s under %s   pid %llu on %s", s->row.name, s->row.model, s->row.system,
		 (unsigned long long)s->row.pid, s->row.host);
	put_line(p, line);
	if (!strcmp(s->row.state, "failed"))
		snprintf(line, sizeof(line), "failed: %.480s", s->row.error);
	else if (mr_run_status_over(s) && strcmp(s->row.state, "ended") && strcmp(s->row.state, "stopped"))
		snprintf(line, sizeof(line), "gone: its process was killed, %.0f s after its last word or less", age);
	else
		snprintf(line, sizeof(line), "%s%s", s->row.state, when);
	put_line(p, line);
}

static void put_steps(page *p, const mr_run_status *s)
{
	const mr_figures *x = &s->now;
	double steps = x->steps > 0 ? x->steps : 0;
	char line[512], done[STEP_BAR + 1], time[2][32] = {"", ""};
	int n;

	bar(steps > 0 ? (double)x->step / steps : 0, p->columns < 2 * STEP_BAR ? p->columns / 4 : STEP_BAR, done);
	if (!isnan(x->seconds))
		mr_figure_text(MR_FIGURE_seconds, x->seconds, MR_DIGITS_LINE, time[0]);
	if (!isnan(x->eta_seconds) && !mr_run_status_over(s))
		mr_figure_text(MR_FIGURE_eta_seconds, x->eta_seconds, MR_DIGITS_LINE, time[1]);
	n = snprintf(line, sizeof(line), "[%s] step %llu of %.0f  %s", done, (unsigned long long)x->step, steps,
		     time[0]);
	if (*time[1] && (size_t)n + strlen(", to go ") + strlen(time[1]) <= p->columns)
		snprintf(line + n, sizeof(line) - (size_t)n, ", to go %s", time[1]);
	put_line(p, line);
}

/* The progress line without its steps and its ETA, which stand above. */
static void put_figures(page *p, const mr_run_status *s)
{
	mr_figures x = s->now;
	char line[512];

	x.eta_seconds = NAN;
	mr_progress_without_step(&x, s->row.rate_name, p->columns, line);
	put_line(p, *line ? line : "no step yet");
}

static void put_memory(page *p, const mr_run_status *s)
{
	const mr_figures *x = &s->now;
	char line[256], now[32], peak[32], predicted[32];

	snprintf(line, sizeof(line), "memory %s, peak %s, predicted %s",
		 mr_figure_text(MR_FIGURE_resident_bytes, x->resident_bytes, MR_DIGITS_LINE, now),
		 mr_figure_text(MR_FIGURE_peak_bytes, x->peak_bytes, MR_DIGITS_LINE, peak),
		 mr_figure_text(MR_FIGURE_predicted_bytes, x->predicted_bytes, MR_DIGITS_LINE, predicted));
	put_line(p, line);
}

/* The largest wait, "upstream 12%"; "" if there was none worth a mention. */
static void main_wait(const mr_times *part, char *text, size_t size)
{
	double most = 0.005;

	text[0] = 0;
	for (int c = MR_WAIT_UPSTREAM; c < MR_N_WAITS; c++) {
		if (part->at[c] > most)
			snprintf(text, size, "%s %.0f%%", mr_report_wait_name((mr_wait_cause)c), 100 * part->at[c]);
		most = fmax(most, part->at[c]);
	}
}

/* Without the cause, which would be cut. */
static void shorten(char *line, unsigned columns)
{
	char *cause = strstr(line, " waits: ");

	if (cause && strlen(line) > columns)
		memcpy(cause, " waits", sizeof(" waits"));
}

static void put_worker(page *p, const mr_run_status *s, uint32_t i)
{
	const mr_run_status_worker *w = &s->worker[i];
	char line[256], busy[BUSY_BAR + 1], wait[32], share[8] = "-", name[24];

	bar(w->part.row.busy, BUSY_BAR, busy);
	if (!isnan(w->part.row.busy))
		snprintf(share, sizeof(share), "%.0f%%", 100 * w->part.row.busy);
	main_wait(&w->part, wait, sizeof(wait));
	snprintf(line, sizeof(line), "%-5s %-8.8s %-7.7s %s %4s  %-15s %s",
		 mr_report_worker_name(w->row.worker, w->row.share, name), w->row.stages, w->row.cores, busy, share,
		 wait, w->row.doing);
	shorten(line, p->columns);
	put_line(p, line);
}

/* Workers that do not fit are summed up: their number and the range of their busy shares. */
static void put_workers(page *p, const mr_run_status *s)
{
	uint32_t fit = s->n_workers <= p->left ? s->n_workers : p->left - 1;
	double least = INFINITY, most = -INFINITY;
	char line[256], from[24], to[24];
	const mr_worker_row *first, *last;

	if (!p->left)
		return;
	for (uint32_t i = 0; i < fit; i++)
		put_worker(p, s, i);
	if (fit == s->n_workers)
		return;
	for (uint32_t i = fit; i < s->n_workers; i++) {
		least = fmin(least, s->worker[i].part.row.busy);
		most = fmax(most, s->worker[i].part.row.busy);
	}
	first = &s->worker[fit].row;
	last = &s->worker[s->n_workers - 1].row;
	snprintf(line, sizeof(line), "and %s to %s: busy %.0f%% to %.0f%% (--json has each)",
		 mr_report_worker_name(first->worker, first->share, from),
		 mr_report_worker_name(last->worker, last->share, to), 100 * least, 100 * most);
	put_line(p, line);
}

static void put_versions(page *p, const mr_run_status *s)
{
	char line[1024];
	size_t fit = p->columns < sizeof(line) ? p->columns : sizeof(line) - 1;
	int n = snprintf(line, sizeof(line), "versions");

	if (!s->n_stages)
		return;
	for (uint32_t i = 0; i < s->n_stages && n < (int)sizeof(line); i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%s s%u %llu", i ? "," : "", i,
			      (unsigned long long)s->stage[i].version);
	if (n > (int)fit && fit >= 3)
		snprintf(line + fit - 3, 4, "...");
	put_line(p, line);
	snprintf(line, sizeof(line), "staleness at most %u by the plan", s->stage[0].staleness);
	put_line(p, line);
}

mr_status mr_run_status_screen(const mr_run_status *s, unsigned columns, unsigned rows, FILE *out)
{
	page p = {.columns = columns, .left = rows, .out = out};

	put_head(&p, s);
	put_steps(&p, s);
	put_figures(&p, s);
	put_memory(&p, s);
	if (s->n_workers) {
		put_versions(&p, s);
		put_line(&p, "");
		put_line(&p, "worker stages  cores   busy               waits for       now");
		put_workers(&p, s);
	}
	return ferror(out) ? mr_fail(MR_EIO, "cannot write the screen") : MR_OK;
}
