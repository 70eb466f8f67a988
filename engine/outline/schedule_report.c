#include "outline/schedule_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "outline/proof.h"
#include "report/output.h"
#include "timing/metrics.h"
#include "ir/plan_json.h"
#include "ir/text.h"
#include "timing/walk_trace.h"
#include "report/schedule_picture.h"
#include "report/table.h"

#define MAX_NOTE 600
#define STEPS 1000.0     /* trace times are integers: the shortest instruction has at least this many of them, */
#define MOST_TIME 1e15   /* unless the whole then had more than this */

/* A line for people about the plan and the costs of its order; "" if there is nothing to report. */
static const char *note_of(const mr_schedule_job *job, char *text, size_t size)
{
	int n = 0;

	*text = 0;
	if (job->identity)
		n = snprintf(text, size, "plan %016" PRIx64, job->identity);
	if (job->ordered_for)
		snprintf(text + n, size - (size_t)n, "%sordered for %s", n ? ", " : "", job->ordered_for);
	return text;
}

static mr_status put_text(const mr_schedule_job *job, FILE *out)
{
	char note[MAX_NOTE];

	if (*note_of(job, note, sizeof(note)))
		fprintf(out, "# %s\n", note);
	if (*mr_proof_text(&job->proof, 1, "", note, sizeof(note)))
		fprintf(out, "# %s\n", note);
	return mr_text_write(job->plan, out);
}

static mr_status put_json(const mr_schedule_job *job, const mr_metrics *m, FILE *out)
{
	char identity[20];
	mr_json_writer w;

	snprintf(identity, sizeof(identity), "%016" PRIx64, job->identity);
	w = mr_json_begin(out, true);
	MR_TRY(mr_plan_json_put(&w, job->plan));
	if (job->identity) {
		mr_json_field_string(&w, "identity", identity);
	}
	if (job->ordered_for) {
		mr_json_field_string(&w, "ordered_for", job->ordered_for);
	}
	mr_proof_put(&w, &job->proof);
	mr_json_key(&w, "simulation");
	mr_sim_options_put(job->options, &w);
	mr_json_key(&w, "metrics");
	mr_metrics_put(&w, m);
	return mr_json_finish(&w);
}

/* Trace times a unit of the costs: a power of ten. */
static double scale_of(const mr_walk *walk)
{
	double shortest = INFINITY, scale = STEPS;

	for (size_t i = 0; i < walk->first[walk->n_workers]; i++) {
		double d = walk->at[i].end - walk->at[i].begin;

		if (d > 0 && d < shortest)
			shortest = d;
	}
	while (isfinite(shortest) && shortest * scale < STEPS && walk->makespan * scale * 10 < MOST_TIME)
		scale *= 10;
	return scale;
}

static void title_of(const mr_schedule_job *job, char *text, size_t size)
{
	const mr_plan *p = job->plan;
	uint32_t n = job->n_bodies;

	snprintf(text, size, "%s, %u worker%s, %u stage%s, %u micro-batch%s", p->system, p->n_workers,
		 p->n_workers == 1 ? "" : "s", p->n_stages, p->n_stages == 1 ? "" : "s", p->n_micro,
		 p->n_micro == 1 ? "" : "es");
	if (n > 1)
		snprintf(text + strlen(text), size - strlen(text), ", %u iterations", n);
}

static void times_of(const mr_metrics *m, char *text, size_t size)
{
	int n = snprintf(text, size, "makespan %g", m->makespan);

	if (!isnan(m->period))
		n += snprintf(text + n, size - (size_t)n, ", period %g%s", m->period,
			      m->steals ? " with the barrier that stealing needs" : "");
	n += snprintf(text + n, size - (size_t)n, ", bubble %.1f%%", 100 * m->bubble_flush);
	if (!isnan(m->period))
		snprintf(text + n, size - (size_t)n, " of the makespan, %.1f%% of the period", 100 * m->bubble_period);
}

/* Figures that the picture does not show, below it. */
static mr_status put_figures(const mr_schedule_job *job, const mr_metrics *m, FILE *out)
{
	static const mr_table_column columns[] = {
		{"worker", false}, {"busy", true}, {"idle", true}, {"activations until W", true}, {"until I", true},
	};
	char bent[400], note[MAX_NOTE];
	mr_table *t;

	fprintf(out, "weights %g cop%s, gradients %g cop%s, staleness at most %u\n", m->weight_copies,
		m->weight_copies == 1 ? "y" : "ies", m->gradient_copies, m->gradient_copies == 1 ? "y" : "ies",
		m->most_stale);
	if (m->steals)
		fprintf(out, "%zu weight gradient%s taken over from another worker\n", m->n_stolen,
			m->n_stolen == 1 ? " is" : "s are");
	if (*mr_proof_text(&job->proof, 1, "", note, sizeof(note)))
		fprintf(out, "%s\n", note);
	if (*mr_sim_options_text(job->options, bent, sizeof(bent)))
		fprintf(out, "%s\n", bent);
	if (*note_of(job, note, sizeof(note)))
		fprintf(out, "%s\n", note);
	fputc('\n', out);
	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (unsigned w = 0; w < m->n_workers; w++) {
		double idle = m->makespan > 0 ? 100 * fmax(0, 1 - m->busy[w] / m->makespan) : 0;

		mr_table_cells(t, "w%u\t%g\t%.1f%%\t%g\t%g", w, m->busy[w], idle, m->peak_until_w[w],
			       m->peak_until_i[w]);
	}
	return mr_table_finish(t, out);
}

static mr_status put_picture(const mr_schedule_job *job, const mr_walk *walk, const mr_metrics *m, bool svg, FILE *out)
{
	char title[160], subtitle[600 + MAX_NOTE], bent[400], note[MAX_NOTE];
	double scale = scale_of(walk);
	mr_schedule_picture p = {
		.n_workers = job->plan->n_workers,
		.unit = scale,
		.title = title,
		.subtitle = subtitle,
		.versions = job->plan->contract.flush == MR_FLUSH_NONE,
	};
	mr_trace_rec *rec;
	mr_status st;

	MR_TRY(mr_walk_trace(job->plan, walk, scale, &rec, &p.n_rec));
	p.rec = rec;
	title_of(job, title, sizeof(title));
	times_of(m, subtitle, sizeof(subtitle));
	if (svg) {
		if (*mr_sim_options_text(job->options, bent, sizeof(bent)))
			snprintf(subtitle + strlen(subtitle), sizeof(subtitle) - strlen(subtitle), "; %s", bent);
		if (*mr_proof_text(&job->proof, 1, "", note, sizeof(note)))
			snprintf(subtitle + strlen(subtitle), sizeof(subtitle) - strlen(subtitle), "; %s", note);
		if (*note_of(job, note, sizeof(note)))
			snprintf(subtitle + strlen(subtitle), sizeof(subtitle) - strlen(subtitle), "; %s", note);
		st = mr_schedule_picture_svg(&p, out);
	} else {
		st = mr_schedule_picture_text(&p, mr_output_columns(out), out);
		fprintf(out, "%s\n", subtitle);
		if (st == MR_OK)
			st = put_figures(job, m, out);
	}
	free(rec);
	return st;
}

mr_status mr_schedule_report(const mr_schedule_job *job, const char *format, FILE *out)
{
	mr_walk *walk = NULL;
	mr_metrics *m = NULL;
	mr_status st;

	if (!strcmp(format, "text"))
		return put_text(job, out);
	st = mr_plan_walk(job->plan, &job->cost, job->n_bodies, &job->params, &walk);
	if (st == MR_EINVAL) /* the command line requested the invalid value */
		st = mr_fail(MR_EUSAGE, "%s", mr_error_text());
	if (st == MR_OK)
		st = mr_metrics_create(job->plan, walk, &m);
	if (st == MR_OK && !strcmp(format, "json"))
		st = put_json(job, m, out);
	else if (st == MR_OK)
		st = put_picture(job, walk, m, !strcmp(format, "svg"), out);
	mr_metrics_destroy(m);
	mr_walk_destroy(walk);
	return st;
}
