/* auto_verify.c - the best candidates in practice. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "choose/auto_internal.h"
#include "choose/auto_penalty.h"
#include "choose/auto_runner.h"
#include "host/clock.h"
#include "host/foreign_load.h"

#define WARM_STEPS   3u
#define LEAST_STEPS  5u  /* of a burst; MR_AUTO_STEPS is most */
#define BURST_S      0.1 /* a burst takes about this long, within these steps */
#define LEAST_ROUNDS 5u
#define ROUND_S      0.5 /* all bursts of a candidate take at least about this long, within these rounds */
#define HALF_ROUNDS  3u
#define MORE_S       1.0 /* seconds for further candidates, of systems that none was measured of */
#define MOST_MORE    8u
#define FINALISTS    4u
#define NEAR_BEST    1.1 /* finalists took at most this many times as long as the fastest */
#define MOST_AT_ONCE 64u
#define FOREIGN      0.1 /* other programs' share of all processors from which on a burst is disturbed */
#define SETTLE_NS 10000000u /* teams of the runs that stand still spin for some milliseconds before they sleep */
#define CLOSE        2.0 /* candidates that are predicted again are at most this many times as slow as the first */
#define MOST_AGAIN   60u
#define MOST_FACTOR  4.0

/* --- corrections --- */

static double clamp(double measured, double predicted)
{
	return measured > 0 && predicted > 0 ? fmin(fmax(measured / predicted, 1 / MOST_FACTOR), MOST_FACTOR) : 1;
}

/* The factors of teams of @threads threads with micro-batches of @samples samples, made when they are new; NULL: there
 * is no room. */
static mr_auto_factors *factors_of(mr_auto_search_state *s, uint32_t threads, int64_t samples)
{
	mr_auto_factors *k;

	for (uint32_t i = 0; i < s->n_factors; i++)
		if (s->factors[i].threads == threads && s->factors[i].samples == samples)
			return &s->factors[i];
	if (s->n_factors == MR_AUTO_FACTORS)
		return NULL;
	k = &s->factors[s->n_factors];
	*k = (mr_auto_factors){.threads = threads, .samples = samples,
			       .log = calloc(s->base.graph->n_nodes, sizeof(*k->log))};
	return k->log ? &s->factors[s->n_factors++] : NULL;
}

/* What worker @w should spend on passes (backward: i) and steps in its body, by the forecast @f. */
static mr_stage_cost predicted_of(const mr_forecast *f, uint16_t w)
{
	const mr_list *l = mr_plan_list(f->of.plan, w, MR_BODY);
	mr_cost cost = {f->of.partition->n_stages, f->stage};
	mr_stage_cost sum = {0};

	for (uint32_t i = 0; i < l->n; i++) {
		double takes = mr_instr_cost(f->of.plan, &l->at[i], &cost);

		switch (l->at[i].op) {
		case MR_OP_F:
		case MR_OP_R:
			sum.f += takes;
			break;
		case MR_OP_B:
		case MR_OP_I:
		case MR_OP_W:
			sum.i += takes;
			break;
		default:
			sum.u += takes;
		}
	}
	return sum;
}

/* What a worker spent on an iteration of its body, from @then to @now. */
static mr_stage_cost measured_of(const mr_worker_stats *then, const mr_worker_stats *now, double bodies)
{
	double each[MR_N_OPS];

	for (int k = 0; k < MR_N_OPS; k++)
		each[k] = 1e-9 / bodies * (double)(now->busy_ns[k] - then->busy_ns[k]);
	return (mr_stage_cost){.f = each[MR_OP_F] + each[MR_OP_R],
			       .i = each[MR_OP_B] + each[MR_OP_I] + each[MR_OP_W],
			       .u = each[MR_OP_U] + each[MR_OP_AR] + each[MR_OP_N]};
}

static void add_factor(const mr_session *s, mr_auto_factors *k, const mr_stage_cost *by, uint16_t worker)
{
	for (uint16_t stage = 0; stage < s->partition.n_stages; stage++) {
		if (s->plan && mr_plan_worker(s->plan, 0, stage) != worker)
			continue;
		for (uint32_t n = s->partition.first[stage]; n < s->partition.first[stage + 1]; n++)
			mr_cost_add(&k->log[n], by);
	}
}

/* The waits of a run are known when its passes are: compare what each worker did with what it was predicted to do. */
static mr_status learn(mr_auto_search_state *s, const mr_auto_runner *x)
{
	mr_auto_factors *k = factors_of(s, x->s.place.worker[0].n_threads, x->s.samples);
	mr_forecast f = {.of = mr_session_workload(&x->s)};
	mr_auto_search_state plain = *s; /* without corrections */
	mr_run *run = mr_executor_run_of(&x->s.executor);
	mr_status st;

	if (!k || !x->warm || !mr_plan_list(x->s.plan, 0, MR_BODY)->n)
		return MR_OK;
	plain.n_factors = 0;
	st = mr_auto_forecast(&plain, &f);
	for (uint16_t w = 0; st == MR_OK && w < run->n_workers; w++) {
		double bodies = (double)(x->steps - x->warm_steps) / mr_forecast_steps(x->s.plan);
		mr_stage_cost is = measured_of(&x->warm[w], &run->worker[w].stats, bodies), was = predicted_of(&f, w);
		double back = log(clamp(is.i, was.i));
		mr_stage_cost by = {.f = log(clamp(is.f, was.f)), .i = back, .w = back, .u = log(clamp(is.u, was.u))};

		add_factor(&x->s, k, &by, w);
	}
	k->n += st == MR_OK;
	mr_forecast_fini(&f);
	return st;
}

/* --- several candidates in turns --- */

/* Steps of a burst of @x, whose steps take about @step_s: at least two iterations of its plan. */
static uint32_t steps_of_burst(const mr_auto_runner *x, double step_s)
{
	double n = step_s > 0 ? fmax(LEAST_STEPS, ceil(BURST_S / step_s)) : MR_AUTO_STEPS;

	if (x->s.plan)
		n = fmax(n, 2 * mr_plan_steps(x->s.plan) + 1);
	return (uint32_t)fmin(MR_AUTO_STEPS, n);
}

/* Row @r cannot be trained: the message of the last error is why. */
static void drop(mr_auto_row *r)
{
	r->fits = false;
	r->dropped = true;
	r->measured_s = 0;
	snprintf(r->why, sizeof(r->why), "%.*s", (int)strcspn(mr_error_text(), "\n"), mr_error_text());
}

/* As mr_auto_runner_burst; a run that diverges drops its candidate, which is no error. */
static mr_status burst(const mr_auto_search_state *s, mr_auto_runner *x, uint32_t n, double *step_s)
{
	mr_status st = mr_auto_runner_burst(x, n, NULL, step_s);

	if (st != MR_EDIVERGED)
		return st;
	s->a->row[x->row].diverged = true;
	drop(&s->a->row[x->row]);
	return MR_OK;
}

/* A burst that counts: a disturbed one is made again, and the faster one is taken. */
static mr_status calm_burst(const mr_auto_search_state *s, mr_auto_runner *x, double *step_s)
{
	mr_foreign_load then = mr_foreign_load_now(), now;
	bool disturbed;

	MR_TRY(burst(s, x, x->burst_steps, step_s));
	now = mr_foreign_load_now();
	disturbed = mr_foreign_load_between(&then, &now) > FOREIGN;
	while (disturbed && !s->a->row[x->row].dropped && x->again < MR_AUTO_AGAIN) {
		double once_more = 0;

		x->again++;
		then = now;
		MR_TRY(burst(s, x, x->burst_steps, &once_more));
		now = mr_foreign_load_now();
		disturbed = mr_foreign_load_between(&then, &now) > FOREIGN;
		*step_s = once_more > 0 ? fmin(*step_s, once_more) : *step_s;
	}
	s->a->n_bursts++;
	s->a->n_disturbed += disturbed;
	return MR_OK;
}

static mr_status measure_rounds(const mr_auto_search_state *s, mr_auto_runner *x, uint32_t n)
{
	uint32_t rounds = LEAST_ROUNDS;
	mr_auto_row *row = s->a->row;
	bool counted = false;
	double step_s;

	for (uint32_t i = 0; i < n; i++) {
		MR_TRY(burst(s, &x[i], WARM_STEPS, &step_s));
		MR_TRY(mr_auto_runner_is_warm(&x[i]));
		x[i].burst_steps = steps_of_burst(&x[i], step_s);
	}
	for (uint32_t round = 0; round < rounds; round++)
		for (uint32_t i = 0; i < n; i++) {
			if (row[x[i].row].dropped)
				continue;
			if (n > 1)
				mr_clock_sleep(SETTLE_NS);
			MR_TRY(calm_burst(s, &x[i], &x[i].burst_s[round]));
			if (!counted && !row[x[i].row].dropped && x[i].burst_s[round] > 0) {
				double wanted = ROUND_S / (x[i].burst_steps * x[i].burst_s[round]);

				rounds = (uint32_t)fmin(MR_AUTO_ROUNDS, fmax(LEAST_ROUNDS, wanted));
				counted = true;
			}
		}
	for (uint32_t i = 0; i < n; i++)
		if (!row[x[i].row].dropped)
			row[x[i].row].measured_s = mr_median(x[i].burst_s, rounds);
	return MR_OK;
}

/* Measure rows @row [n] side by side, or one after the other where memory is short; learn from them if @teach. */
static mr_status measure(mr_auto_search_state *s, const uint32_t *row, uint32_t n, bool teach)
{
	mr_auto_runner *x = n ? calloc(n, sizeof(*x)) : NULL;
	uint64_t bytes = 0;
	mr_status st = x || !n ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to measure %u candidates", n);
	uint32_t at_once = n;

	for (uint32_t i = 0; i < n; i++)
		bytes += s->a->row[row[i]].bytes;
	if (bytes > s->base.topo.memory_available_bytes / 4)
		at_once = 1;
	for (uint32_t from = 0; st == MR_OK && from < n; from += at_once) {
		uint32_t n_open = 0;

		for (uint32_t i = from; i < from + at_once; i++) {
			if (mr_auto_runner_open(s, row[i], NULL, &x[n_open]) == MR_OK) {
				n_open++;
				continue;
			}
			drop(&s->a->row[row[i]]); /* it cannot run after all */
			mr_auto_runner_close(&x[n_open]);
		}
		if (n_open)
			st = measure_rounds(s, x, n_open);
		for (uint32_t i = 0; st == MR_OK && teach && i < n_open; i++)
			if (!s->a->row[x[i].row].dropped)
				st = learn(s, &x[i]);
		for (uint32_t i = 0; i < n_open; i++)
			mr_auto_runner_close(&x[i]);
	}
	free(x);
	return st;
}

/* The same system, workers, micro-batches and cut: a change of a candidate may end where another one did. */
static bool is_same(const mr_auto_row *a, const mr_auto_row *b)
{
	return a->workers == b->workers && a->threads == b->threads && a->n_micro == b->n_micro &&
	       a->n_stages == b->n_stages && a->bytes == b->bytes && !strcmp(a->label, b->label) &&
	       !strcmp(mr_auto_value(a, "machine.cpus"), mr_auto_value(b, "machine.cpus")) &&
	       !memcmp(a->first, b->first, a->n_stages * sizeof(*a->first));
}

/* Was row @i, or one like it, measured, or is it one of @row [n]? */
static bool is_known(const mr_auto *a, uint32_t i, const uint32_t *row, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (is_same(&a->row[row[k]], &a->row[i]))
			return true;
	for (uint32_t k = 0; k < a->n && mr_auto_is_done(&a->row[k]); k++)
		if (a->row[k].measured_s > 0 && is_same(&a->row[k], &a->row[i]))
			return true;
	return false;
}

/* Most threads that one worker has. */
static uint32_t most_threads(const mr_auto *a)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < a->n && mr_auto_is_done(&a->row[i]); i++)
		if (a->row[i].workers == 1 && a->row[i].threads > most)
			most = a->row[i].threads;
	return most;
}

/* Those of the first @n different rows that were not measured, and the best of one worker with most threads. */
static uint32_t next_rows(const mr_auto *a, uint32_t n, uint32_t *row)
{
	uint32_t k = 0, first[MOST_AT_ONCE], m = 0, most = most_threads(a);
	bool alone = false;

	for (uint32_t i = 0; i < a->n && m < n && mr_auto_is_done(&a->row[i]); i++) {
		bool again = false;

		for (uint32_t j = 0; j < m; j++)
			again |= is_same(&a->row[first[j]], &a->row[i]);
		if (again)
			continue;
		first[m++] = i;
		alone |= a->row[i].workers == 1 && a->row[i].threads == most;
		if (!is_known(a, i, row, k))
			row[k++] = i;
	}
	for (uint32_t i = 0; i < a->n && !alone; i++)
		if (mr_auto_is_done(&a->row[i]) && a->row[i].workers == 1 && a->row[i].threads == most) {
			alone = true;
			if (!(a->row[i].measured_s > 0))
				row[k++] = i;
		}
	return k;
}

/* How much longer than by their corrected passes the steps of the measured rows were: what their data, their waking
 * and all else between instructions take, for each number of workers. */
static void learn_rest(mr_auto_search_state *s)
{
	for (uint32_t i = 0; i < s->a->n && mr_auto_is_done(&s->a->row[i]); i++) {
		const mr_auto_row *r = &s->a->row[i];
		uint32_t k = 0;

		if (!(r->measured_s > 0))
			continue;
		while (k < s->n_rest && s->rest[k].workers != r->workers)
			k++;
		if (k == MR_AUTO_TEAMS)
			continue;
		if (k == s->n_rest)
			s->rest[s->n_rest++] = (mr_auto_rest){.workers = r->workers};
		s->rest[k].log += log(clamp(r->measured_s, r->step_s));
		s->rest[k].n++;
	}
}

/* Predict the best again with the corrections, and sort by that. */
static void predict_again(mr_auto_search_state *s)
{
	double first = s->a->row[0].step_s;
	uint32_t n = 0;

	for (; n < s->a->n && n < MOST_AGAIN && mr_auto_is_done(&s->a->row[n]); n++) {
		mr_auto_row *r = &s->a->row[n];

		if (r->step_s > CLOSE * first && !(r->measured_s > 0))
			continue;
		r->first_s = r->step_s;
		r->step_s = mr_auto_predict(s, r, &r->bound_s);
	}
	learn_rest(s);
	while (n--)
		if (s->a->row[n].first_s > 0) {
			s->a->row[n].step_s *= mr_auto_rest_of(s, s->a->row[n].workers);
			s->a->row[n].bound_s *= mr_auto_rest_of(s, s->a->row[n].workers);
		}
	mr_auto_sort(s->a);
}

/* By predictions alone, measured or not: what is to be measured next. */
static int by_prediction(const void *x, const void *y)
{
	const mr_auto_row *a = x, *b = y;

	if (mr_auto_is_done(a) != mr_auto_is_done(b))
		return mr_auto_is_done(a) ? -1 : 1;
	return (a->step_s > b->step_s) - (a->step_s < b->step_s);
}

/* --- two runs at once --- */

typedef struct half_run {
	pthread_t thread;
	mr_auto_runner x;
	mr_status st;
	double step_s;
	char error[300];
} half_run;

static void *run_half(void *arg)
{
	half_run *h = arg;
	double ignored;

	h->st = mr_auto_runner_burst(&h->x, WARM_STEPS, NULL, &ignored);
	for (uint32_t i = 0; h->st == MR_OK && i < HALF_ROUNDS; i++)
		h->st = mr_auto_runner_burst(&h->x, MR_AUTO_STEPS, NULL, &h->x.burst_s[i]);
	h->step_s = mr_median(h->x.burst_s, HALF_ROUNDS);
	snprintf(h->error, sizeof(h->error), "%s", h->st == MR_OK ? "" : mr_error_text());
	return NULL;
}

/* The CPUs of the workers of @r on half @which of the cores. */
static void half_cpus(const mr_topo *t, const mr_auto_row *r, uint32_t which, mr_strbuf *out)
{
	uint32_t at = which * (t->n_usable / 2);

	for (uint32_t w = 0; w < r->workers; w++)
		for (uint32_t k = 0; k < r->threads; k++, at++)
			mr_strbuf_printf(out, "%s%u", k ? "," : w ? " " : "", t->core[at].cpu);
}

static mr_status measure_half(mr_auto_search_state *s)
{
	const mr_auto_row *r = &s->a->row[s->a->half];
	half_run h[2] = {0};
	mr_status st = MR_OK;
	uint32_t started = 0;

	for (uint32_t i = 0; st == MR_OK && i < 2; i++) {
		mr_strbuf cpus = {0};

		half_cpus(&s->base.topo, r, i, &cpus);
		st = cpus.failed ? mr_fail(MR_ERESOURCE, "no memory for two runs")
				 : mr_auto_runner_open(s, s->a->half, mr_strbuf_text(&cpus), &h[i].x);
		mr_strbuf_fini(&cpus);
	}
	for (; st == MR_OK && started < 2; started++)
		if (pthread_create(&h[started].thread, NULL, run_half, &h[started]))
			st = mr_fail(MR_ERESOURCE, "cannot start a thread for two runs at once");
	for (uint32_t i = 0; i < started; i++)
		pthread_join(h[i].thread, NULL);
	for (uint32_t i = 0; st == MR_OK && i < 2; i++)
		st = h[i].st == MR_OK ? MR_OK : mr_fail(h[i].st, "%s", h[i].error);
	if (st == MR_OK)
		s->a->half_measured_s = fmax(h[0].step_s, h[1].step_s);
	if (st == MR_EDIVERGED) { /* then there is nothing to say of two runs */
		s->a->half = s->a->n;
		st = MR_OK;
	}
	for (uint32_t i = 0; i < 2; i++)
		mr_auto_runner_close(&h[i].x);
	return st;
}

/* --- all of it --- */

/* Was a row of the system of @r measured or dropped, or is one of @row [n]? */
static bool is_tried(const mr_auto *a, const mr_auto_row *r, const uint32_t *row, uint32_t n)
{
	const char *system = mr_auto_value(r, "system.name");

	for (uint32_t i = 0; i < a->n; i++)
		if ((a->row[i].measured_s > 0 || a->row[i].dropped) &&
		    !strcmp(mr_auto_value(&a->row[i], "system.name"), system))
			return true;
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(mr_auto_value(&a->row[row[i]], "system.name"), system))
			return true;
	return false;
}

/* Up to @most rows that were not measured, by their predictions: each of a system of which none was; then others. */
static uint32_t further_rows(const mr_auto *a, uint32_t most, uint32_t *row)
{
	uint32_t k = 0;

	for (int others = 0; others < 2; others++)
		for (uint32_t i = 0; i < a->n && k < most && mr_auto_is_done(&a->row[i]); i++) {
			if (a->row[i].step_s <= CLOSE * a->row[0].step_s && !is_known(a, i, row, k) &&
			    (others || !is_tried(a, &a->row[i], row, k)))
				row[k++] = i;
		}
	return k;
}

/* Those that were nearly as fast as the fastest: of many that were measured, the first owes some of that to chance. */
static uint32_t finalists(mr_auto *a, uint32_t *row)
{
	uint32_t k = 0;

	mr_auto_sort(a);
	while (k < FINALISTS && k < a->n && a->row[k].measured_s > 0 &&
	       a->row[k].measured_s <= NEAR_BEST * a->row[0].measured_s) {
		row[k] = k;
		k++;
	}
	return k > 1 ? k : 0;
}

/* Move those that were dropped behind the others that are done, whose order stays. */
static void put_dropped_last(mr_auto *a)
{
	for (uint32_t i = a->n; i--;) {
		uint32_t end = i + 1;

		while (a->row[i].dropped && end < a->n && mr_auto_is_done(&a->row[end]))
			end++;
		if (end > i + 1) {
			mr_auto_row r = a->row[i];

			memmove(&a->row[i], &a->row[i + 1], (end - 1 - i) * sizeof(r));
			a->row[end - 1] = r;
		}
	}
}

/* No candidate that was trained is left. */
static mr_status none_is_left(const mr_auto *a)
{
	const mr_auto_row *first = NULL;
	uint32_t n = 0, n_diverged = 0;

	for (uint32_t i = 0; i < a->n; i++)
		if (a->row[i].dropped) {
			first = n++ ? first : &a->row[i];
			n_diverged += a->row[i].diverged;
		}
	if (!first)
		return mr_fail(MR_ECONFIG, "none of the best candidates could be trained");
	if (n_diverged == n)
		return mr_fail(MR_EDIVERGED, "all %u candidates that were trained diverged; %s: %s; a smaller "
			       "optimizer.lr may help", n, first->label, first->why);
	return mr_fail(MR_ECONFIG, "none of the %u best candidates could be trained; %s: %s", n, first->label,
		       first->why);
}

static mr_status verify(mr_auto_search_state *s, uint32_t n)
{
	mr_auto *a = s->a;
	uint32_t row[MOST_AT_ONCE + 1], k;
	uint64_t begin = mr_clock_ns();
	double each;

	n = n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
	MR_TRY(mr_auto_load(s));
	k = next_rows(a, n, row);
	MR_TRY(measure(s, row, k, true));
	put_dropped_last(a);
	each = (double)(mr_clock_ns() - begin) / 1e9 / fmax(1, k);
	predict_again(s);
	qsort(a->row, a->n, sizeof(*a->row), by_prediction);
	k = next_rows(a, n, row);
	MR_TRY(measure(s, row, k, false));
	put_dropped_last(a);
	k = further_rows(a, (uint32_t)fmin(MOST_MORE, MORE_S / each), row);
	MR_TRY(measure(s, row, k, false));
	k = finalists(a, row);
	MR_TRY(measure(s, row, k, false));
	MR_TRY(mr_auto_measure_penalties(s));
	mr_auto_sort(a);
	if (!(a->row[0].measured_s > 0))
		return none_is_left(a);
	mr_auto_mark(s);
	if (a->half < a->n && a->half_s < 2.2 * a->row[0].step_s && a->cores > 1)
		return measure_half(s);
	return MR_OK;
}

mr_status mr_auto_verify(const mr_auto_question *q, mr_auto *a, uint32_t n)
{
	if (*q->job->machine.topology)
		return mr_fail(MR_ECONFIG, "machine.topology describes another machine: only this one is measured");
	if (a->state->n_hosts > 1)
		return mr_fail(MR_EUSAGE, "--verify trains on this machine alone, and the choice is for %u hosts",
			       a->state->n_hosts);
	return verify(a->state, n);
}

mr_status mr_auto_measure(mr_auto *a, const uint32_t *row, uint32_t n)
{
	MR_TRY(mr_auto_load(a->state));
	return measure(a->state, row, n, false);
}
