#include "page/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/str.h"
#include "report/curves.h"
#include "page/page_internal.h"
#include "report/progress.h"
#include "report/roofline.h"

static const char style[] =
	":root{color-scheme:light dark;--ink:#1b222a;--soft:#4d5864;--line:#dfe3e8;--page:#fff;--box:#f5f6f8}\n"
	"@media screen and (prefers-color-scheme:dark){:root{--ink:#e6eaee;--soft:#a7b1bc;--line:#2f3842;"
	"--page:#14181d;--box:#1e242b}}\n"
	"body{font:15px/1.5 'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;color:var(--ink);"
	"background:var(--page);max-width:1040px;margin:2em auto;padding:0 1.2em}\n"
	"h1{font-size:1.7em}h2{margin-top:2.2em;border-bottom:1px solid var(--line);padding-bottom:.2em}"
	"h3{margin:1.6em 0 .4em}h4{margin:1.3em 0 .3em}ul{margin:.4em 0;padding-left:1.3em}li{margin:.3em 0}"
	"p{margin:.5em 0}.note{color:var(--soft)}\n"
	"table{border-collapse:collapse;font-size:.92em;margin:.6em 0}th,td{padding:.25em .9em .25em 0;"
	"text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}td.r,th.r{text-align:right}\n"
	"figure{margin:1em 0;overflow-x:auto}figure svg,figure img{max-width:100%;height:auto;display:block}\n"
	"figure.wide svg{max-width:none}\n"
	".charts{display:flex;flex-wrap:wrap;gap:0 1.5em}.charts figure{margin:.5em 0}\n"
	"td.r{white-space:nowrap}.scroll{overflow-x:auto}.scroll td{white-space:nowrap}"
	".scroll table{font-size:.85em}.pictures{display:flex;flex-wrap:wrap;gap:1.2em;margin:1em 0}"
	".pictures figure{margin:0;width:116px;overflow:visible}"
	".pictures img{width:96px;image-rendering:pixelated}"
	".pictures figcaption{font-size:.85em;line-height:1.35;overflow-wrap:anywhere}\n"
	"pre.text{max-width:46em;-webkit-print-color-adjust:exact;print-color-adjust:exact}"
	".m1{background:rgba(230,130,30,.18)}.m2{background:rgba(230,130,30,.36)}.m3{background:rgba(230,110,30,.6)}\n"
	"pre{background:var(--box);padding:.8em 1em;font-size:.85em;overflow-x:auto;white-space:pre-wrap;"
	"overflow-wrap:anywhere;tab-size:4}\n"
	"@media screen and (max-width:640px){body{margin:1em auto;padding:0 .8em}h1{font-size:1.4em}"
	"table{display:block;overflow-x:auto}figure svg{max-width:none}"
	".charts svg{max-width:100%}.broad{display:none}}\n"
	"@media print,screen and (min-width:641px){.narrow{display:none}}\n"
	"@media print{@page{margin:14mm}body{max-width:none;margin:0;font-size:10.5pt}"
	"figure.wide svg{max-width:100%}figure,table{break-inside:avoid}h2,h3,h3+p,p.note{break-after:avoid}"
	"pre{font-size:7.5pt;columns:2}pre.text{columns:1}.scroll td{white-space:normal}}\n";

mr_svg mr_page_picture(mr_page *p, bool wide)
{
	fputs(wide ? "<figure class=\"wide\">" : "<figure>", p->out);
	snprintf(p->scope, sizeof(p->scope), "p%u", ++p->n_pictures);
	return mr_svg_inside(p->out, p->scope);
}

mr_status mr_page_end_picture(mr_page *p, mr_status st)
{
	fputs("</figure>\n", p->out);
	return st;
}

void mr_page_say(mr_page *p, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs("<p>", p->out);
	mr_svg_escape(p->out, text);
	fputs("</p>\n", p->out);
}

void mr_page_heading(mr_page *p, int level, const char *text)
{
	fprintf(p->out, "<h%d>", level);
	mr_svg_escape(p->out, text);
	fprintf(p->out, "</h%d>\n", level);
}

void mr_page_note(mr_page *p, const char *text)
{
	fputs("<p class=\"note\">", p->out);
	mr_svg_escape(p->out, text);
	fputs("</p>\n", p->out);
}

void mr_page_lines(mr_page *p, const char *text)
{
	char line[1024];

	while (*text) {
		size_t len = strcspn(text, "\n\t"), part = len < sizeof(line) - 1 ? len : sizeof(line) - 1;

		memcpy(line, text, part);
		line[part] = '\0';
		mr_svg_escape(p->out, line);
		text += part;
		if (*text == '\n' || *text == '\t')
			fputc(*text++, p->out);
	}
}

const char *mr_page_number(double x, char out[32])
{
	snprintf(out, 32, fabs(x) >= 1000 && fabs(x) < 1e15 ? "%.0f" : "%.4g", x);
	return out;
}

const char *mr_page_visible(const char *text, char *out, size_t size)
{
	size_t at = 0;

	if (*text && !text[strcspn(text, " \n\t\r")])
		return text;
	out[at++] = '"';
	for (; *text && at + 4 < size; text++) {
		if (*text == '\n' || *text == '\t' || *text == '\r')
			out[at++] = '\\';
		out[at++] = *text == '\n' ? 'n' : *text == '\t' ? 't' : *text == '\r' ? 'r' : *text;
	}
	out[at++] = '"';
	out[at] = '\0';
	return out;
}

/* The object's strings as a table of two columns. */
bool mr_page_is_alone(const mr_run_folder *r)
{
	return mr_json_size(mr_json_get(r->facts, "workers")) == 1;
}

static void put_pairs(mr_page *p, const mr_json *pairs)
{
	fputs("<table>\n", p->out);
	for (const char *key = NULL; (key = mr_json_next_key(pairs, key));) {
		const char *text = mr_json_string(mr_json_get(pairs, key));

		if (!strcmp(key, "plan") && p->run && mr_page_is_alone(p->run))
			continue;
		fputs("<tr><th>", p->out);
		mr_svg_escape(p->out, key);
		fputs("</th><td>", p->out);
		mr_svg_escape(p->out, text ? text : "");
		fputs("</td></tr>\n", p->out);
	}
	fputs("</table>\n", p->out);
}

/* --- all runs --- */

/* A run in the table of runs. */
typedef struct mr_run_summary {
	mr_figures f; /* of all its steps; what no step has, as run.json says */
	double best;  /* the lowest validation loss; NAN: none */
} mr_run_summary;

static mr_run_summary summary_of(const mr_run_folder *r)
{
	mr_figures_sum sum = {.last = {.step = 0}};
	mr_run_summary s = {.best = NAN};
	mr_figures end;

	for (size_t i = 0; i < r->n_rows; i++) {
		mr_figures_add(&sum, &r->rows[i]);
		s.best = fmin(s.best, r->rows[i].val_loss); /* of a NAN and a number, the number */
	}
	s.f = mr_figures_folded(&sum);
	mr_figures_get(mr_json_get(r->facts, "figures"), NAN, &end);
	for (int f = 0; f < MR_N_FIGURES; f++)
		s.f.at[f] = isnan(s.f.at[f]) ? end.at[f] : s.f.at[f];
	return s;
}

static void put_summary_row(mr_table *t, const char *name, const mr_run_summary *s, const bool *shown)
{
	char text[32];

	mr_table_put(t, "%s", name);
	mr_table_put(t, "%llu", (unsigned long long)s->f.step);
	for (int f = 0; f < MR_N_FIGURES; f++) {
		double x = s->f.at[f];

		if (shown[f])
			mr_table_put(t, "%s", isnan(x) ? "" : mr_figure_text((mr_figure)f, x, MR_DIGITS_RESULT, text));
		if (shown[f] && f == MR_FIGURE_val_loss)
			mr_table_put(t, "%s", isnan(s->best) ? "" : mr_loss_text(s->best, text));
	}
}

/* A column for each figure with a title that any run has. */
static mr_status put_summary_table(mr_page *p, const mr_run_folder *runs, size_t n)
{
	mr_table_column columns[MR_N_FIGURES + 3] = {{"run", false}, {"steps", true}};
	mr_run_summary s[MR_RUN_FOLDERS_MAX];
	bool shown[MR_N_FIGURES] = {false};
	uint32_t n_columns = 2;
	mr_table *t;

	for (size_t i = 0; i < n; i++)
		s[i] = summary_of(&runs[i]);
	for (int f = 0; f < MR_N_FIGURES; f++) {
		for (size_t i = 0; i < n; i++)
			shown[f] |= mr_figure_table[f].title && !isnan(s[i].f.at[f]) &&
				    (f != MR_FIGURE_bubble || !mr_page_is_alone(&runs[i]));
		if (shown[f])
			columns[n_columns++] = (mr_table_column){mr_figure_table[f].title, true};
		if (shown[f] && f == MR_FIGURE_val_loss)
			columns[n_columns++] = (mr_table_column){"best", true};
	}
	MR_TRY(mr_table_create(columns, n_columns, &t));
	for (size_t i = 0; i < n; i++)
		put_summary_row(t, runs[i].name, &s[i], shown);
	MR_TRY(mr_table_finish_html(t, p->out));
	fputs("<p class=\"note\">Losses and scores are the last ones; ", p->out);
	fputs(shown[MR_FIGURE_bubble] ? "GFLOP/s and bubble (idle part of all workers' time) are means over the run."
				      : "GFLOP/s is the mean over the run.", p->out);
	fputs("</p>\n", p->out);
	return MR_OK;
}

static mr_status put_summary(mr_page *p, const mr_run_folder *runs, size_t n)
{
	mr_curve curves[MR_RUN_FOLDERS_MAX];
	bool finite = false;
	mr_status st = MR_OK;

	MR_TRY(put_summary_table(p, runs, n));
	for (size_t i = 0; i < n; i++) {
		curves[i] = (mr_curve){runs[i].name, runs[i].rows, runs[i].n_rows};
		for (size_t k = 0; k < runs[i].n_rows; k++)
			finite |= isfinite(runs[i].rows[k].loss) || isfinite(runs[i].rows[k].val_loss);
	}
	if (finite) {
		mr_svg v;

		fputs("<div class=\"broad\">", p->out);
		v = mr_page_picture(p, false);
		st = mr_page_end_picture(p, mr_curves_put(curves, n, NULL, &v));
		fputs("</div>\n<div class=\"narrow\">", p->out);
		st = st == MR_OK ? mr_page_loss(p, runs, n) : st;
		fputs("</div>\n", p->out);
	} else {
		mr_page_say(p, "No run has a finite loss to draw.");
	}
	return st;
}

/* --- one run --- */

/* A picture that is a file of its own, with its own style: as an image, in base64. */
static mr_status put_image(mr_page *p, const char *svg, const char *label)
{
	mr_strbuf text = {0};
	mr_status st;

	mr_base64(svg, strlen(svg), &text);
	fputs("<figure><img alt=\"", p->out);
	mr_svg_escape(p->out, label);
	fprintf(p->out, "\" src=\"data:image/svg+xml;base64,%s\"></figure>\n", mr_strbuf_text(&text));
	st = text.failed ? mr_fail(MR_ERESOURCE, "no memory for a picture") : MR_OK;
	mr_strbuf_fini(&text);
	return st;
}

/* Of the training itself, and what a profile of its layers has left in the folder. */
static mr_status put_roofline(mr_page *p)
{
	bool known = false;
	mr_status st = MR_OK;
	mr_roofline r;

	mr_page_heading(p, 3, "Roofline");
	if (mr_roofline_read(mr_json_get(p->run->facts, "roofline"), &r)) {
		mr_svg v;

		for (size_t i = 0; i < MR_ROOFLINE_LEVELS; i++)
			known = known || r.level[i].rate > 0;
		mr_page_say(p,
			    "What the instructions of each worker reached on the average, by the least bytes that "
			    "their layers move.%s",
			    known ? "" : " Bandwidths are measured at the end of trainings of half a minute and more, "
					 "and by --counters.");
		v = mr_page_picture(p, false);
		st = mr_page_end_picture(p, mr_roofline_put(&r, NULL, &v));
		if (*r.of.note)
			mr_page_say(p, "Of the lines: %s.", r.of.note);
	}
	if (p->run->roofline && st == MR_OK)
		st = put_image(p, p->run->roofline, "roofline of a profile");
	else if (!r.n)
		mr_page_say(p, "There is none: no training has ended here in order, and millrace profile has drawn "
			       "none (--roofline FOLDER/roofline.svg).");
	return st;
}

static void put_configuration(mr_page *p)
{
	const mr_json *environment = mr_json_get(p->run->facts, "environment");

	mr_page_heading(p, 3, "Configuration");
	if (p->run->config) {
		fputs("<pre>", p->out);
		mr_page_lines(p, p->run->config);
		fputs("</pre>\n", p->out);
	} else {
		mr_page_say(p, "The folder has no resolved.cfg.");
	}
	mr_page_heading(p, 3, "Environment");
	if (environment)
		put_pairs(p, environment);
	else
		mr_page_say(p, "The folder has no run.json, which training writes.");
}

/* A run that was resumed: its sessions. The figures below are of all of them. */
static mr_status put_sessions(mr_page *p)
{
	static const mr_table_column columns[] = {{"begun", false}, {"on", false}, {"steps", true},
						  {"time in steps", true}, {"busy", true}};
	const mr_json *sessions = mr_json_get(p->run->facts, "sessions");
	size_t n = mr_json_size(sessions);
	char text[32];
	mr_table *t;

	if (n < 2)
		return MR_OK;
	mr_page_heading(p, 3, "Sessions");
	mr_page_say(p,
		    "The run was resumed: it has %zu sessions. Times of workers and staleness are those of all of them "
		    "that ended in order; machine, memory and environment those of the last.",
		    n);
	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (size_t i = 0; i < n; i++) {
		mr_session_row s;
		bool ended;

		mr_record_get(MR_RECORD_SESSION, mr_json_at(sessions, i), &s);
		ended = !isnan(s.to);
		mr_table_put(t, "%s", s.begun);
		mr_table_put(t, "%s", s.host);
		if (ended)
			mr_table_put(t, "%llu to %.0f", (unsigned long long)s.from + 1, s.to);
		else
			mr_table_put(t, "%llu to %s", (unsigned long long)s.from + 1,
				     i + 1 < n ? "an end by force" : "");
		mr_table_put(t, "%s", ended ? mr_duration_text(s.seconds, text) : "");
		mr_table_put(t, "%s", ended ? mr_figure_text(MR_FIGURE_busy, s.busy, MR_DIGITS_RESULT, text) : "");
	}
	return mr_table_finish_html(t, p->out);
}

static mr_status put_run(mr_page *p)
{
	const mr_json *about = mr_json_get(p->run->facts, "about");

	mr_page_heading(p, 2, p->run->name);
	MR_TRY(mr_page_learned(p));
	MR_TRY(mr_page_errors(p));
	mr_page_advice(p);
	if (about) {
		mr_page_heading(p, 3, "The training");
		put_pairs(p, about);
	}
	MR_TRY(put_sessions(p));
	if (!mr_page_is_alone(p->run)) {
		MR_TRY(mr_page_timeline(p));
		MR_TRY(mr_page_time(p));
		MR_TRY(mr_page_staleness(p));
	}
	MR_TRY(mr_page_memory(p));
	MR_TRY(mr_page_machine(p));
	MR_TRY(put_roofline(p));
	put_configuration(p);
	return MR_OK;
}

mr_status mr_page_write(const mr_run_folder *runs, size_t n, const char *title, FILE *out)
{
	mr_page p = {.out = out};

	if (!title)
		title = n == 1 ? runs[0].name : "Training runs";
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
	      out);
	mr_svg_escape(out, title);
	fputs("</title>\n<style>\n", out);
	fputs(style, out);
	mr_svg_style(out);
	fputs("</style>\n</head>\n<body>\n", out);
	mr_page_heading(&p, 1, title);
	MR_TRY(put_summary(&p, runs, n));
	for (size_t i = 0; i < n; i++) {
		p.run = &runs[i];
		MR_TRY(put_run(&p));
	}
	fputs("</body>\n</html>\n", out);
	return ferror(out) ? mr_fail(MR_EIO, "the report could not be written") : MR_OK;
}
