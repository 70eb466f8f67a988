#include "choose/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timing/metrics.h"
#include "timing/walk_trace.h"
#include "costs/cost_model.h"
#include "costs/measured_machine.h"
#include "session/session_forecast.h"

#define EXTRA_SETS 7
#define PICTURE_BODIES 400u /* most iterations in the picture of one system */

/* Shared by all attempts. */
typedef struct base {
	const mr_job *job;
	mr_session s;
	mr_costs costs;
	uint64_t cap;
	uint16_t n_workers;
	uint32_t n_points; /* the largest number of stages that all begin at a single live value */
} base;

/* --- the job of an attempt --- */

static bool is_baseline(const mr_sched_ops *ops)
{
	return ops->workers == 1;
}

/* The user's job with the row's system; if that is the user's own system, with its options. */
static mr_status change_job(const base *b, const mr_compare_row *a, mr_job *j)
{
	if (strcmp(a->system, j->system.name) != 0)
		MR_TRY(mr_job_choose(j, MR_JOB_SYSTEM, a->system));
	j->train.microbatches = a->n_micro;
	if (a->chunks)
		MR_TRY(mr_values_set_int(j->system.values, "chunks", a->chunks));
	if (b->cap) /* a limit of the workers, in place of that of the process */
		j->machine.memory_limit = 0;
	if (a->auto_cut || is_baseline(a->ops))
		j->partition = "auto";
	if (is_baseline(a->ops)) { /* all cores, inside each operator */
		j->machine.workers = 1;
		j->machine.threads = 0;
	}
	j->source = (mr_job_source){0}; /* a mistake of the row is in no line of the user's file */
	return mr_job_check(j);
}

/* The first line of this thread's error text. */
static void take_reason(mr_compare_row *row)
{
	snprintf(row->why, sizeof(row->why), "%.*s", (int)strcspn(mr_error_text(), "\n"), mr_error_text());
}

/* --- figures of an attempt --- */

static mr_status take_metrics(const mr_forecast *f, mr_compare_row *row)
{
	mr_metrics *m;

	row->step_s = f->step_s;
	row->bubble = f->step_s > 0 ? fmax(0, 1 - f->busy_s / f->step_s) : 0;
	row->weight_copies = 1;
	MR_TRY(mr_metrics_create(f->of.plan, f->walk, &m));
	row->weight_copies = m->weight_copies;
	row->staleness = m->most_stale;
	mr_metrics_destroy(m);
	return MR_OK;
}

/* By the function that plan uses: the engine's layout, without touching any of it. */
static mr_status take_memory(const mr_session *s, mr_forecast *f, mr_compare_row *row)
{
	MR_TRY(mr_session_forecast_memory(s, f));
	row->bytes = f->bytes;
	row->worker_bytes = 0;
	for (uint16_t w = 0; w < f->run->n_workers; w++)
		row->worker_bytes = f->run->worker[w].region.bytes > row->worker_bytes ? f->run->worker[w].region.bytes
										       : row->worker_bytes;
	return mr_session_forecast_fits(s, f);
}

/* The first @horizon seconds of @f's plan; later instructions are left out, and the last ones are cut. */
static mr_status take_picture(const mr_forecast *f, double horizon, mr_compare_row *row)
{
	const mr_plan *plan = f->of.plan;
	mr_cost cost = {f->of.partition->n_stages, f->stage};
	uint64_t end = (uint64_t)llround(horizon * 1e9);
	double bodies = ceil(horizon / (f->step_s * mr_plan_steps(plan))) + 1;
	mr_walk *walk;
	mr_status st;
	size_t n = 0;

	MR_TRY(mr_plan_walk(plan, &cost, bodies < PICTURE_BODIES ? (uint32_t)bodies : PICTURE_BODIES,
			    &(mr_walk_opts){.steals = true, .no_period = true}, &walk));
	st = mr_walk_trace(plan, walk, 1e9, &row->rec, &row->n_rec);
	mr_walk_destroy(walk);
	MR_TRY(st);
	for (size_t i = 0; i < row->n_rec; i++)
		if (row->rec[i].begin_ns < end) {
			row->rec[n] = row->rec[i];
			row->rec[n].end_ns = row->rec[n].end_ns < end ? row->rec[n].end_ns : end;
			n++;
		}
	row->n_rec = n;
	return MR_OK;
}

/* @horizon 0: compute the figures; else the picture of a row whose figures are known. */
static mr_status look(const base *b, const mr_session *s, double horizon, mr_compare_row *row)
{
	mr_forecast f = {.of = mr_session_workload(s)};
	mr_status st;

	f.of.costs = b->s.costs; /* whose micro-batches may be of another size */
	st = mr_costs_forecast(&f.of, 0, &f.costs);
	if (st == MR_OK)
		st = mr_forecast_time(&f);
	if (st == MR_OK && horizon > 0)
		st = take_picture(&f, horizon, row);
	row->n_shared = s->place.shared ? s->place.n_cores_used : 0;
	if (st == MR_OK && !(horizon > 0))
		st = take_metrics(&f, row);
	if (st == MR_OK && !(horizon > 0))
		st = take_memory(s, &f, row);
	mr_forecast_fini(&f);
	return st;
}

/* An error becomes the row's reason. */
static bool attempt(mr_compare *c, const base *b, double horizon, mr_compare_row *row)
{
	mr_session s;
	mr_job job;
	mr_status st;

	row->why[0] = 0;
	st = mr_job_copy(b->job, &job);
	if (st == MR_OK)
		st = change_job(b, row, &job);
	if (st == MR_OK)
		st = mr_session_open_beside(&job, &b->s, &s);
	if (st == MR_OK) {
		row->n_workers = (uint16_t)s.place.n_workers;
		c->scaled |= b->costs.measured && s.samples != b->s.samples;
		c->rescaled |= b->costs.measured && b->costs.threads != s.place.worker[0].n_threads;
		st = look(b, &s, horizon, row);
		mr_session_close(&s);
	}
	if (st != MR_OK)
		take_reason(row);
	mr_job_fini(&job);
	return st == MR_OK;
}

static mr_status add_row(mr_compare *c, const base *b, const mr_sched_ops *ops, uint32_t chunks)
{
	mr_compare_row *more = realloc(c->row, (c->n + 1) * sizeof(*c->row)), *row;

	if (!more)
		return mr_fail(MR_ERESOURCE, "no memory for a comparison");
	c->row = more;
	row = &c->row[c->n++];
	*row = (mr_compare_row){.system = ops->name, .ops = ops, .chunks = chunks, .step_s = NAN,
		.bubble = NAN};
	row->n_micro = is_baseline(ops) || (ops->asynchronous && !ops->accumulates) ? 1 : c->n_micro;
	if (ops->step_micro && ops == mr_job_system(b->job)) /* its options are the user's */
		row->n_micro = mr_schedule_step_micro(ops, b->job->system.values);
	snprintf(row->label, sizeof(row->label), chunks ? "%s, chunks %u" : "%s", row->system, chunks);
	if (attempt(c, b, 0, row) || !b->job->n_cut)
		return MR_OK;
	row->auto_cut = true; /* the number of stages that the user named may not fit this system */
	attempt(c, b, 0, row);
	return MR_OK;
}

/* The rows of one system. */
static mr_status add_system(mr_compare *c, const base *b, const mr_sched_ops *ops)
{
	const mr_option *chunks = ops->options ? mr_option_find(ops->options, "chunks") : NULL;
	uint32_t most = b->n_points / b->n_workers;

	MR_TRY(add_row(c, b, ops, 0));
	if (chunks && chunks->min <= 1 && chunks->def && strtoul(chunks->def, NULL, 10) > 1)
		MR_TRY(add_row(c, b, ops, 1)); /* another cut, which may be the better one */
	if (!chunks || most < 2 || most > chunks->max || (chunks->def && strtoul(chunks->def, NULL, 10) == most))
		return MR_OK;
	return add_row(c, b, ops, most);
}

/* --- the whole --- */

static int by_time(const void *x, const void *y)
{
	const mr_compare_row *a = x, *b = y;
	bool a_runs = !*a->why, b_runs = !*b->why;

	if (a_runs != b_runs)
		return a_runs ? -1 : 1;
	if (isnan(a->step_s) != isnan(b->step_s))
		return isnan(a->step_s) ? 1 : -1;
	/* differences of rounding do not order rows */
	if (!isnan(a->step_s) && (float)a->step_s != (float)b->step_s)
		return a->step_s < b->step_s ? -1 : 1;
	return strcmp(a->label, b->label);
}

/* The number of micro-batches into which the configuration cuts a step; if its own system does not cut it, the most
 * into which its batch can be cut, up to two a worker. */
static uint32_t choose_micro(const base *b, int64_t batch)
{
	const mr_sched_ops *own = mr_job_system(b->job);
	uint32_t n = 2u * b->n_workers;

	if (!is_baseline(own) && !(own->asynchronous && !own->accumulates))
		return b->s.n_micro;
	if (b->s.n_micro > 1)
		return b->s.n_micro;
	while (n > 1 && batch % n)
		n--;
	return n;
}

static void set_up(mr_compare *c, base *b)
{
	const mr_sched_ops *own = mr_job_system(b->job);
	int64_t workers = b->job->machine.workers;
	char params[16];

	b->n_workers = !is_baseline(own) || workers > 1 ? (uint16_t)workers : 2;
	b->n_points = mr_graph_narrow_stages(b->s.graph);
	c->batch = b->job->train.batch;
	c->n_micro = choose_micro(b, c->batch);
	snprintf(c->what, sizeof(c->what), "%s (%s parameters), %u worker%s, a step of %lld sample%s",
		 b->job->name, mr_count_text((uint64_t)mr_graph_n_params(b->s.graph), params),
		 b->n_workers, b->n_workers == 1 ? "" : "s", (long long)c->batch, c->batch == 1 ? "" : "s");
	snprintf(c->source, sizeof(c->source), "%s", b->costs.source);
	c->error = b->costs.measured ? b->costs.error : (double)NAN;
	c->spread = b->costs.spread;
	c->less = fmax(c->spread, c->spread - c->error);
	c->more = fmax(c->spread, c->spread + c->error);
	c->cap = b->cap;
	c->limit = (uint64_t)b->job->machine.memory_limit;
}

/* May a step that is predicted to take @a seconds and one of @b seconds be equally long? */
static bool are_alike(const mr_compare *c, double a, double b)
{
	return a * (1 - c->less) <= b * (1 + c->more) && b * (1 - c->less) <= a * (1 + c->more);
}

/* Find for each row that can run the rows that may be equally fast. */
static void find_alike(mr_compare *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		for (uint32_t k = 0; k < c->n && !*c->row[i].why; k++) {
			const mr_compare_row *a = &c->row[i], *b = &c->row[k];

			if (*b->why || i == k || !are_alike(c, a->step_s, b->step_s))
				continue;
			c->row[i].above += k < i;
			c->row[i].below += k > i;
		}
}

static mr_status try_all(mr_compare *c, const base *b, bool pictures)
{
	double horizon = 0;

	for (size_t i = 0; mr_schedule_at(i); i++)
		MR_TRY(add_system(c, b, mr_schedule_at(i)));
	for (uint32_t i = 0; i < c->n; i++)
		c->n_shared = c->row[i].n_shared > c->n_shared ? c->row[i].n_shared : c->n_shared;
	qsort(c->row, c->n, sizeof(*c->row), by_time);
	find_alike(c);
	for (uint32_t i = 0; i < c->n && !*c->row[i].why; i++)
		horizon = fmax(horizon, c->row[i].step_s);
	for (uint32_t i = 0; pictures && i < c->n && !*c->row[i].why; i++)
		if (!attempt(c, b, horizon, &c->row[i]))
			return mr_fail(MR_ERESOURCE, "no picture of %s: %s", c->row[i].label, c->row[i].why);
	return MR_OK;
}

mr_status mr_compare_init(mr_compare *c, const mr_job *job, uint64_t cap, bool pictures)
{
	base b = {.job = job, .cap = cap};
	mr_workload of;
	mr_measured_machine here = {0};
	mr_status st;

	*c = (mr_compare){0};
	st = mr_session_survey(job, &b.s);
	if (st == MR_OK && !b.s.topo.synthetic && !b.s.costs) {
		st = mr_measured_machine_init(&here, &b.s.topo);
		b.s.measured = &here;
		if (st != MR_OK)
			mr_session_close(&b.s);
	}
	if (st == MR_OK) {
		b.s.workers_limit = cap;
		of = mr_session_workload(&b.s);
		st = b.s.costs ? mr_costs_at_hand(&of, &b.costs) : mr_costs_modelled(&of, 0, &b.costs);
		if (st == MR_OK) {
			set_up(c, &b);
			st = try_all(c, &b, pictures);
		}
		mr_costs_fini(&b.costs);
		mr_session_close(&b.s);
	}
	mr_measured_machine_fini(&here);
	return st;
}

void mr_compare_fini(mr_compare *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->row[i].rec);
	free(c->row);
	*c = (mr_compare){0};
}
