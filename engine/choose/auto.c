#include "choose/auto.h"

#include "choose/auto_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timing/metrics.h"
#include "costs/cost_model.h"
#include "costs/measured_machine.h"
#include "choose/layer_survey.h"
#include "session/host_map.h"
#include "session/session_forecast.h"

/* Instructions of all plans that are tried, each of which takes as long to open and lay out as EACH instructions. */
#define MOST_INSTRUCTIONS 1500000u
#define EACH 4096u
#define WITHOUT 4u /* times as many as long as no pipeline fits */
/* After this many of a group that are no better than the best the rest of the group is left out. */
#define FIRST_OF_GROUP 5u
/* Of those that were left out of their groups no more of a system are tried after this many that are no better. */
#define LAST_IN_A_ROW 8u
/* Memory is laid out for candidates whose step is at most this many times the best so far, and for those of one worker,
 * which are shown beside the best. */
#define NEAR_BEST 2.0
#define SURVEY_S 0.3 /* for each shape of the layers, in several turns */

typedef mr_auto_search_state search;

/* --- one candidate --- */

mr_status mr_auto_job(const mr_auto_question *q, const mr_auto_row *r, mr_job *job)
{
	MR_TRY(mr_job_copy(q->job, job));
	for (uint32_t i = 0; i < r->n_sets; i++) {
		char key[48];
		size_t n = strcspn(r->set[i], "=");

		snprintf(key, sizeof(key), "%.*s", (int)n, r->set[i]);
		MR_TRY(mr_job_set(job, key, r->set[i] + n + 1));
	}
	job->source = (mr_job_source){0}; /* a mistake of the candidate is in no line of the user's file */
	return mr_job_check(job);
}

static mr_status take_staleness(const mr_forecast *f, mr_auto_row *r)
{
	mr_metrics *m;

	MR_TRY(mr_metrics_create(f->of.plan, f->walk, &m));
	r->staleness = m->most_stale;
	mr_metrics_destroy(m);
	return MR_OK;
}

/* Its cut, and what each stage takes of a step. */
static mr_status take_stages(const mr_forecast *f, mr_auto_row *r)
{
	uint16_t n = f->of.partition->n_stages;
	uint32_t micro = f->of.n_micro;

	r->first = malloc(((size_t)n + 1) * sizeof(*r->first));
	r->busy = malloc(n * sizeof(*r->busy));
	if (!r->first || !r->busy)
		return mr_fail(MR_ERESOURCE, "no memory for %u stages", n);
	r->n_stages = n;
	r->versions = f->of.plan->n_versions[0];
	r->slots = f->of.plan->n_slots[0];
	memcpy(r->first, f->of.partition->first, ((size_t)n + 1) * sizeof(*r->first));
	for (uint16_t i = 0; i < n; i++) {
		const mr_stage_cost *c = &f->stage[i];

		r->busy[i] = (micro * (c->f + c->i + c->w) + c->u) /
			     mr_plan_partial_sums(f->of.plan, i);
	}
	return MR_OK;
}

/* Doublings between @k and teams of @threads threads with micro-batches of @samples samples. Threads come first: a run
 * with another team is used only if none has this one. */
static double distance(const mr_auto_factors *k, uint32_t threads, int64_t samples)
{
	return 100 * fabs(log2((double)k->threads / threads)) + fabs(log2((double)k->samples / (double)samples));
}

/* Of one layer with teams of @threads threads and micro-batches of @samples samples: what the nearest ones took. */
static mr_stage_cost factor_of(const search *s, uint32_t node, uint32_t threads, int64_t samples)
{
	const mr_auto_factors *near = NULL;
	mr_stage_cost sum;

	for (uint32_t i = 0; i < s->n_factors; i++)
		if (s->factors[i].n > 0 &&
		    (!near || distance(&s->factors[i], threads, samples) < distance(near, threads, samples)))
			near = &s->factors[i];
	if (!near) /* nothing was learned */
		return (mr_stage_cost){.f = 1, .i = 1, .w = 1, .u = 1};
	sum = near->log[node];
	return (mr_stage_cost){.f = exp(sum.f / near->n), .i = exp(sum.i / near->n), .w = exp(sum.w / near->n),
			       .u = exp(sum.u / near->n)};
}

/* With the costs of the base, whose micro-batches may be of another size. */
static mr_status costs_for(const search *s, const mr_workload *of, mr_costs *out)
{
	mr_workload at = *of;

	at.costs = s->base.costs;
	MR_TRY(mr_costs_forecast(&at, s->share, out));
	for (uint32_t n = 0; n < at.graph->n_nodes; n++) {
		mr_stage_cost by = factor_of(s, n, at.place->worker[0].n_threads, at.samples);

		mr_cost_scale(&out->layer[n], &by);
	}
	return MR_OK;
}

mr_status mr_auto_forecast(const search *s, mr_forecast *f)
{
	f->share = s->share;
	MR_TRY(costs_for(s, &f->of, &f->costs));
	return mr_forecast_time(f);
}

static mr_status look(search *s, const mr_session *at, mr_auto_row *r)
{
	mr_forecast f = {.of = mr_session_workload(at)};
	mr_status st = mr_auto_forecast(s, &f);

	if (st == MR_OK)
		st = take_staleness(&f, r);
	if (st == MR_OK)
		st = take_stages(&f, r);
	r->penalty = r->staleness ? 0 : 1;
	if (st == MR_OK && r->staleness > s->q.allow_stale)
		st = mr_fail(MR_ECONFIG, "gradients are up to %u commits late", r->staleness);
	if (st == MR_OK) {
		r->step_s = f.step_s;
		r->bound_s = fmax(r->bound_s, fmin(f.bound_s, f.step_s));
	}
	if (st == MR_OK && (r->workers == 1 || r->step_s <= NEAR_BEST * s->best)) {
		st = mr_session_forecast_memory(at, &f);
		r->bytes = f.bytes;
		if (st == MR_OK && mr_session_forecast_fits(at, &f) == MR_OK)
			r->fits = true;
		else if (st == MR_OK && (!s->least_bytes || f.bytes < s->least_bytes)) {
			s->least_bytes = f.bytes;
			snprintf(s->least, sizeof(s->least), "%s, %u x %u threads, %u micro-batches", r->label,
				 r->workers, r->threads, r->n_micro);
			snprintf(s->least_why, sizeof(s->least_why), "%.*s", (int)strcspn(mr_error_text(), "\n:"),
				 mr_error_text());
		}
		if (st == MR_OK && !r->fits)
			st = mr_fail(MR_ECONFIG, "%s", mr_error_text());
	}
	mr_forecast_fini(&f);
	return st;
}

void mr_auto_try(search *s, mr_auto_row *r)
{
	mr_session at;
	mr_job job;
	mr_status st;

	r->tried = true;
	s->a->n_tried++;
	s->visited += EACH + (uint64_t)r->workers * r->n_micro * 3;
	st = mr_auto_job(&s->q, r, &job);
	if (st == MR_OK)
		st = mr_session_open_beside(&job, &s->base, &at);
	if (st == MR_OK) {
		st = look(s, &at, r);
		mr_session_close(&at);
	}
	if (st != MR_OK)
		snprintf(r->why, sizeof(r->why), "%.*s", (int)strcspn(mr_error_text(), "\n"), mr_error_text());
	mr_job_fini(&job);
	s->fitted |= r->fits && r->workers > 1;
	if (r->fits && r->step_s < s->best)
		s->best = r->step_s;
}

double mr_auto_rest_of(const search *s, uint32_t workers)
{
	for (uint32_t i = 0; i < s->n_rest; i++)
		if (s->rest[i].workers == workers)
			return exp(s->rest[i].log / s->rest[i].n);
	return 1;
}

double mr_auto_predict(const search *s, const mr_auto_row *r, double *bound_s)
{
	double step_s = INFINITY;
	mr_session at;
	mr_job job;
	mr_status st = mr_auto_job(&s->q, r, &job);

	if (st == MR_OK)
		st = mr_session_open_beside(&job, &s->base, &at);
	if (st == MR_OK) {
		mr_forecast f = {.of = mr_session_workload(&at)};

		if (mr_auto_forecast(s, &f) == MR_OK)
			step_s = f.step_s * mr_auto_rest_of(s, r->workers);
		if (bound_s && step_s < INFINITY)
			*bound_s = fmin(f.bound_s * mr_auto_rest_of(s, r->workers), step_s);
		mr_forecast_fini(&f);
		mr_session_close(&at);
	}
	mr_job_fini(&job);
	return step_s;
}

/* --- the search --- */

static int by_bound(const void *x, const void *y)
{
	const mr_auto_row *a = x, *b = y;

	if ((float)a->bound_s != (float)b->bound_s)
		return a->bound_s < b->bound_s ? -1 : 1;
	if (a->workers != b->workers)
		return a->workers < b->workers ? -1 : 1;
	if (a->n_micro != b->n_micro)
		return a->n_micro < b->n_micro ? -1 : 1;
	return strcmp(a->label, b->label);
}

bool mr_auto_is_done(const mr_auto_row *r)
{
	return r->tried && r->fits && !*r->why;
}

static int by_step(const void *x, const void *y)
{
	const mr_auto_row *a = x, *b = y;
	double s = a->measured_s > 0 ? a->measured_s : a->step_s, t = b->measured_s > 0 ? b->measured_s : b->step_s;

	s *= a->rank > 0 ? a->rank : 1; /* then it is the time to a loss */
	t *= b->rank > 0 ? b->rank : 1;
	if (mr_auto_is_done(a) != mr_auto_is_done(b))
		return mr_auto_is_done(a) ? -1 : 1;
	if ((a->measured_s > 0) != (b->measured_s > 0))
		return a->measured_s > 0 ? -1 : 1;
	if (mr_auto_is_done(a) && (float)s != (float)t)
		return s < t ? -1 : 1;
	if (mr_auto_is_done(a) && a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return by_bound(x, y);
}

void mr_auto_sort(mr_auto *a)
{
	qsort(a->row, a->n, sizeof(*a->row), by_step);
}

static bool same_group(const mr_auto_row *a, const mr_auto_row *b)
{
	return a->workers == b->workers && a->threads == b->threads && a->n_micro == b->n_micro;
}

/* How near to their bounds the candidates of a system came so far: by what part of its bound a step was longer, as if
 * there were as many micro-batches as workers. Bubbles are in that proportion. */
typedef struct record {
	const char *system;
	double least, sum;
	uint32_t n;
} record;

#define MOST_SYSTEMS 96u
#define ENOUGH 3u /* candidates after which a system is known */

typedef struct records {
	record of[MOST_SYSTEMS];
	uint32_t n;
} records;

static record *record_of(records *k, const char *system)
{
	uint32_t i = 0;

	while (i < k->n && strcmp(k->of[i].system, system))
		i++;
	if (i == k->n && k->n < MOST_SYSTEMS)
		k->of[k->n++] = (record){.system = system, .least = INFINITY};
	return &k->of[i < MOST_SYSTEMS ? i : 0];
}

/* The step that @r may have: by the mean of its system, or, for @best, by the nearest that it came. */
static double expected(records *k, const mr_auto_row *r, bool best)
{
	const record *x = record_of(k, mr_auto_value(r, "system.name"));
	double longer = !x->n ? 0 : !best ? x->sum / x->n : x->n < ENOUGH ? 0 : x->least;

	return r->bound_s * (1 + longer * r->workers / r->n_micro);
}

/* The candidate of rows [@from, @end) that is to be tried next; @end: none. */
static uint32_t next_of_group(const search *s, records *k, uint32_t from, uint32_t end)
{
	uint32_t next = end;

	for (uint32_t i = from; i < end; i++) {
		const mr_auto_row *r = &s->a->row[i];

		if (r->tried || (r->workers > 1 && (r->bound_s >= s->best || expected(k, r, true) >= s->best)))
			continue;
		if (next == end || expected(k, r, false) < expected(k, &s->a->row[next], false))
			next = i;
	}
	return next;
}

static bool is_spent(const search *s)
{
	return s->visited > (s->fitted ? 1 : WITHOUT) * MOST_INSTRUCTIONS;
}

/* Try @r, and note how near to its bound its system came. */
static void try_one(search *s, records *k, mr_auto_row *r)
{
	record *x = record_of(k, mr_auto_value(r, "system.name"));
	double bound = r->bound_s;

	mr_auto_try(s, r);
	if (!(r->step_s < INFINITY))
		return;
	bound = fmax(0, r->step_s / bound - 1) * r->n_micro / r->workers;
	x->least = fmin(x->least, bound);
	x->sum += bound;
	x->n++;
}

/* One group: the systems that came nearest to their bounds before go first, until several in a row are no better and
 * none is left that never was tried. */
static void try_group(search *s, records *k, uint32_t from, uint32_t end)
{
	mr_auto *a = s->a;
	uint32_t without = 0, i;

	while ((i = next_of_group(s, k, from, end)) < end) {
		mr_auto_row *r = &a->row[i];
		double best = s->best;
		record *x = record_of(k, mr_auto_value(r, "system.name"));

		if (r->workers > 1 && ((without >= FIRST_OF_GROUP && x->n) || is_spent(s)))
			break;
		try_one(s, k, r);
		without = s->best < best ? 0 : without + (r->step_s < INFINITY);
	}
}

/* What a row that was left out may take; for the order of those that are tried last. */
typedef struct hope {
	double step_s;
	uint32_t row;
} hope;

static int by_hope(const void *x, const void *y)
{
	const hope *a = x, *b = y;

	if (a->step_s != b->step_s)
		return a->step_s < b->step_s ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* Those that were left out of all groups, those of which most is expected first: of each system until some in a row are
 * no better. What it came near before does not count: another shape may suit it better. */
static mr_status try_left_out(search *s, records *k)
{
	mr_auto *a = s->a;
	hope *h = malloc(((size_t)a->n + 1) * sizeof(*h));
	uint32_t n = 0, without[MOST_SYSTEMS] = {0};

	if (!h)
		return mr_fail(MR_ERESOURCE, "no memory for %u candidates", a->n);
	for (uint32_t i = 0; i < a->n; i++)
		if (!a->row[i].tried && a->row[i].bound_s < s->best)
			h[n++] = (hope){expected(k, &a->row[i], false), i};
	qsort(h, n, sizeof(*h), by_hope);
	for (uint32_t i = 0; i < n && !is_spent(s); i++) {
		mr_auto_row *r = &a->row[h[i].row];
		uint32_t *in_a_row = &without[record_of(k, mr_auto_value(r, "system.name")) - k->of];
		double best = s->best;

		if (r->bound_s >= best || *in_a_row >= LAST_IN_A_ROW)
			continue;
		try_one(s, k, r);
		*in_a_row = s->best < best ? 0 : *in_a_row + 1;
	}
	free(h);
	return MR_OK;
}

/* The row like @r but with the next smaller (or, for @more, the next larger) number of micro-batches; n: none. */
static uint32_t neighbour_of(const mr_auto *a, const mr_auto_row *r, bool more)
{
	uint32_t near = a->n;

	for (uint32_t i = 0; i < a->n; i++) {
		const mr_auto_row *x = &a->row[i];

		if (x->workers != r->workers || x->threads != r->threads || x->n_micro == r->n_micro ||
		    (x->n_micro > r->n_micro) != more || strcmp(x->label, r->label))
			continue;
		if (near == a->n || (x->n_micro < a->row[near].n_micro) == more)
			near = i;
	}
	return near;
}

/* The best with fewer and with more micro-batches, as long as that makes the step shorter: groups that were left out
 * when the budget was spent may hold the better number. */
static void try_neighbours(search *s)
{
	mr_auto *a = s->a;
	uint32_t at = 0;

	for (uint32_t i = 1; i < a->n; i++)
		if (mr_auto_is_done(&a->row[i]) &&
		    (!mr_auto_is_done(&a->row[at]) || a->row[i].step_s < a->row[at].step_s))
			at = i;
	for (int more = 0; more < 2; more++) {
		uint32_t to = at;

		do {
			at = to;
			to = neighbour_of(a, &a->row[at], more);
			if (to < a->n && !a->row[to].tried && a->row[to].bound_s < s->best)
				mr_auto_try(s, &a->row[to]);
		} while (to < a->n && mr_auto_is_done(&a->row[to]) && a->row[to].step_s < a->row[at].step_s);
	}
}

static mr_status try_all(search *s)
{
	mr_auto *a = s->a;
	records k = {.n = 0};

	/* sequential training is tried in any case, to be shown beside the best */
	for (uint32_t from = 0, end; from < a->n; from = end) {
		for (end = from + 1; end < a->n && same_group(&a->row[from], &a->row[end]);)
			end++;
		try_group(s, &k, from, end);
	}
	MR_TRY(try_left_out(s, &k));
	try_neighbours(s);
	a->complete = true;
	for (uint32_t i = 0; i < a->n; i++)
		a->complete &= a->row[i].tried || a->row[i].bound_s >= s->best;
	return MR_OK;
}

/* Two runs at once: each has half of the cores, and what these share of caches, memory and links: nothing where each
 * has nodes of its own. If one alone was measured, the prediction starts from that. */
static void take_half(search *s)
{
	mr_auto *a = s->a;
	const mr_auto_row *r = &a->row[a->half];

	a->half_s = 0;
	if (a->half == a->n)
		return;
	s->share = s->base.topo.n_nodes % 2 ? 0.5 : 0;
	a->half_s = mr_auto_predict(s, r, NULL);
	s->share = 0;
	if (r->measured_s > 0)
		a->half_s *= r->measured_s / mr_auto_predict(s, r, NULL);
}

void mr_auto_mark(search *s)
{
	mr_auto *a = s->a;
	uint32_t n = 0;

	while (n < a->n && mr_auto_is_done(&a->row[n]))
		n++;
	a->half = a->n;
	for (uint32_t i = 0; i < n; i++) {
		mr_auto_row *r = &a->row[i];

		r->best_of = true;
		for (uint32_t k = 0; k < i && r->best_of; k++)
			r->best_of = a->row[k].bytes > r->bytes || a->row[k].staleness > r->staleness;
		if (a->half == a->n && r->workers * r->threads <= a->cores / 2)
			a->half = i;
	}
	take_half(s);
}

static mr_status nothing_fits(const search *s)
{
	char text[16];

	if (!s->a->n)
		return mr_fail(MR_ECONFIG, "no candidate: %s",
			       !s->q.systems || !*s->q.systems ? "the batch cannot be cut"
			       : s->a->cores == 1 ? "on one core only sequential runs, and --systems leaves it out"
						  : "none of --systems may compete here: those that do not flush need "
						    "--allow-stale, and those that average models never do");
	for (uint32_t i = 0; !s->least_bytes && i < s->a->n; i++)
		if (*s->a->row[i].why)
			return mr_fail(MR_ECONFIG, "no candidate can run; %s: %s", s->a->row[i].label,
				       s->a->row[i].why);
	mr_bytes_text(s->least_bytes, text);
	if (s->q.memory && s->least_bytes > s->q.memory)
		return mr_fail(MR_ERESOURCE, "no candidate fits; the least memory is %s, of %s; would fit: "
			       "--memory %llu", text, s->least, (unsigned long long)s->least_bytes);
	return mr_fail(MR_ERESOURCE, "no candidate fits; the least memory is %s, of %s: %s", text, s->least,
		       s->least_why);
}

static mr_status count_hosts(search *s)
{
	mr_host_map *m;

	MR_TRY(mr_session_spread(&s->base, s->base.topo.n_usable, &m));
	s->n_hosts = m ? m->hosts.n_hosts : 1;
	mr_host_map_destroy(m);
	return MR_OK;
}

mr_status mr_auto_load(search *s)
{
	if (s->loaded)
		return MR_OK;
	s->loaded = true;
	return mr_session_load(&s->base);
}

static mr_status survey(search *s)
{
	uint32_t ignored;

	if (!s->q.measures)
		return MR_OK;
	if (s->base.topo.synthetic)
		return mr_fail(MR_ECONFIG, "machine.topology describes another machine: only this one is measured");
	if (s->n_hosts > 1)
		return mr_fail(MR_EUSAGE, "--measure and --verify run on this machine alone, and the choice is for %u "
			       "hosts", s->n_hosts);
	if (s->base.costs || !s->here.kept) /* they were measured */
		return MR_OK;
	MR_TRY(mr_auto_load(s));
	mr_layer_survey(&s->base, s->a->batch, SURVEY_S, s->here.kept, &ignored);
	return MR_OK;
}

static mr_status run(search *s)
{
	mr_workload of = mr_session_workload(&s->base);
	mr_auto *a = s->a;
	mr_costs c;

	a->batch = s->q.job->train.batch;
	a->cores = s->base.topo.n_usable;
	mr_topo_print(&s->base.topo, a->machine, sizeof(a->machine));
	MR_TRY(count_hosts(s));
	MR_TRY(survey(s));
	MR_TRY(costs_for(s, &of, &c));
	snprintf(a->source, sizeof(a->source), "%s", c.source);
	mr_costs_fini(&c);
	MR_TRY(mr_auto_candidates(s));
	if (!a->n)
		return nothing_fits(s);
	qsort(a->row, a->n, sizeof(*a->row), by_bound);
	a->bound_s = a->row[0].bound_s;
	s->best = INFINITY;
	MR_TRY(try_all(s));
	if (!(s->best < INFINITY))
		return nothing_fits(s);
	mr_auto_sort(a);
	if (!s->q.plain) {
		MR_TRY(mr_auto_refine(s));
		mr_auto_sort(a);
	}
	a->best_s = a->row[0].step_s;
	mr_auto_mark(s);
	return MR_OK;
}

mr_status mr_auto_search(const mr_auto_question *q, mr_auto *out)
{
	search *s = calloc(1, sizeof(*s));
	mr_status st = MR_OK;

	*out = (mr_auto){.penalty_loss = NAN};
	if (!s)
		return mr_fail(MR_ERESOURCE, "no memory for a search");
	s->q = *q;
	s->a = out;
	st = mr_session_survey(q->job, &s->base);
	if (st != MR_OK) {
		free(s);
		return st;
	}
	out->state = s;
	s->base.workers_limit = q->memory;
	if (!s->base.topo.synthetic) {
		st = q->recalls ? mr_measured_machine_recall(&s->here, &s->base.topo)
				: mr_measured_machine_init(&s->here, &s->base.topo);
		s->base.measured = &s->here;
		snprintf(out->busy, sizeof(out->busy), "%s", s->here.busy);
	}
	return st == MR_OK ? run(s) : st;
}

static void close_state(search *s)
{
	for (uint32_t i = 0; i < s->n_factors; i++)
		free(s->factors[i].log);
	mr_session_close(&s->base);
	mr_measured_machine_fini(&s->here);
	free(s);
}

void mr_auto_fini(mr_auto *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		mr_auto_row *r = &a->row[i];

		for (uint32_t k = 0; k < r->n_sets; k++)
			free(r->set[k]);
		free(r->first);
		free(r->busy);
	}
	if (a->state)
		close_state(a->state);
	free(a->row);
	*a = (mr_auto){0};
}
