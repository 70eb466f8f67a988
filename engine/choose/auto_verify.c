/* auto_verify.c - the best candidates in practice. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/str.h"
#include "choose/auto_internal.h"
#include "host/clock.h"

#define WARM_STEPS   3u
#define LEAST_ROUNDS 2u
#define HALF_ROUNDS  3u
#define MOST_ROUNDS  15u
#define ROUND_S      0.5 /* all bursts of a candidate take at least about this long, within these rounds */
#define MOST_AT_ONCE 64u
#define SETTLE_NS 10000000u /* teams of the runs that stand still spin for some milliseconds before they sleep */
#define CLOSE        2.0 /* candidates that are predicted again are at most this many times as slow as the first */
#define MOST_AGAIN   60u
#define LOSS_S       20.0 /* most seconds of a run for its loss */
#define WINDOW       0.1  /* part of its steps over which a loss is averaged */
#define MOST_FACTOR  4.0

/* A candidate that trains. */
typedef struct runner {
	uint32_t row;
	mr_job made, job; /* job borrows from made */
	mr_session s;
	uint64_t steps;
	double burst_s[MOST_ROUNDS];
	bool open;
} runner;

/* --- one training --- */

static mr_status make_job(const mr_auto_search_state *s, const mr_auto_row *r, const char *cpus, runner *x)
{
	MR_TRY(mr_auto_job(&s->q, r, &x->made));
	MR_TRY(mr_job_copy(&x->made, &x->job));
	x->job.machine.memory_limit = 0;
	if (cpus) {
		MR_TRY(mr_job_set(&x->job, "machine.cpus", cpus));
		MR_TRY(mr_job_set(&x->job, "machine.threads", "0"));
	}
	return mr_job_check(&x->job);
}

static mr_status open_runner(const mr_auto_search_state *s, const mr_auto_row *r, const char *cpus, runner *x)
{
	mr_status st = make_job(s, r, cpus, x);

	if (st == MR_OK) {
		st = mr_session_open_beside(&x->job, &s->base, &x->s);
		x->open = st == MR_OK;
	}
	return st == MR_OK ? mr_session_start(&x->s, NULL) : st;
}

static void close_runner(runner *x)
{
	if (x->open)
		mr_session_close(&x->s);
	mr_job_fini(&x->job);
	mr_job_fini(&x->made);
	*x = (runner){0};
}

/* Commits of a burst: the first and the last one's time, and the losses. */
typedef struct watch {
	uint64_t first_ns, last_ns, n;
	double *loss; /* [n]; NULL: none is kept */
} watch;

static bool follow(void *arg, const mr_step_rec *rec)
{
	watch *w = arg;

	if (!rec)
		return true;
	if (w->loss)
		w->loss[w->n] = rec->loss;
	w->first_ns = w->n++ ? w->first_ns : rec->time_ns;
	w->last_ns = rec->time_ns;
	return true;
}

/* Seconds of a step, from commit to commit, of @n steps. */
static mr_status burst(runner *x, uint32_t n, double *loss, double *step_s)
{
	watch w = {.loss = loss};

	MR_TRY(mr_executor_run(&x->s.executor, x->steps + n, follow, &w, &x->steps));
	*step_s = w.n > 1 ? (double)(w.last_ns - w.first_ns) / 1e9 / (double)(w.n - 1) : 0;
	return MR_OK;
}

/* --- corrections --- */

static double clamp(double measured, double predicted)
{
	return measured > 0 && predicted > 0 ? fmin(fmax(measured / predicted, 1 / MOST_FACTOR), MOST_FACTOR) : 1;
}

/* The factors of teams of @threads threads, made when they are new; NULL: there is no room. */
static mr_auto_factors *factors_of(mr_auto_search_state *s, uint32_t threads)
{
	mr_auto_factors *k;

	for (uint32_t i = 0; i < s->n_factors; i++)
		if (s->factors[i].threads == threads)
			return &s->factors[i];
	if (s->n_factors == MR_AUTO_TEAMS)
		return NULL;
	k = &s->factors[s->n_factors];
	*k = (mr_auto_factors){.threads = threads, .log = calloc(s->base.graph->n_nodes, sizeof(*k->log))};
	return k->log ? &s->factors[s->n_factors++] : NULL;
}

/* What worker @w should spend on passes and steps in its body, by the forecast @f. */
static mr_auto_factor predicted_of(const mr_forecast *f, uint16_t w)
{
	const mr_list *l = mr_plan_list(f->s->plan, w, MR_BODY);
	mr_cost cost = {f->s->partition.n_stages, f->stage};
	mr_auto_factor sum = {0};

	for (uint32_t i = 0; i < l->n; i++) {
		double takes = mr_instr_cost(f->s->plan, &l->at[i], &cost);

		switch (l->at[i].op) {
		case MR_OP_F:
		case MR_OP_R:
			sum.f += takes;
			break;
		case MR_OP_B:
		case MR_OP_I:
		case MR_OP_W:
			sum.b += takes;
			break;
		default:
			sum.u += takes;
		}
	}
	return sum;
}

static mr_auto_factor measured_of(const mr_worker_stats *x, double bodies)
{
	double each = 1e-9 / bodies;

	return (mr_auto_factor){.f = each * (double)(x->busy_ns[MR_OP_F] + x->busy_ns[MR_OP_R]),
				.b = each * (double)(x->busy_ns[MR_OP_B] + x->busy_ns[MR_OP_I] + x->busy_ns[MR_OP_W]),
				.u = each * (double)(x->busy_ns[MR_OP_U] + x->busy_ns[MR_OP_AR] + x->busy_ns[MR_OP_N])};
}

static void add_factor(const mr_session *s, mr_auto_factors *k, const mr_auto_factor *by, uint16_t worker)
{
	for (uint16_t stage = 0; stage < s->partition.n_stages; stage++) {
		if (s->plan && mr_plan_worker(s->plan, 0, stage) != worker)
			continue;
		for (uint32_t n = s->partition.first[stage]; n < s->partition.first[stage + 1]; n++) {
			k->log[n].f += log(by->f);
			k->log[n].b += log(by->b);
			k->log[n].u += log(by->u);
		}
	}
}

/* The waits of a run are known when its passes are: compare what each worker did with what it was predicted to do. */
static mr_status learn(mr_auto_search_state *s, const runner *x)
{
	const mr_auto_row *r = &s->a->row[x->row];
	mr_auto_factors *k = factors_of(s, x->s.place.worker[0].n_threads);
	mr_forecast f = {.s = &x->s};
	mr_auto_search_state plain = *s; /* without corrections */
	mr_run *run = mr_executor_run_of(&x->s.executor);
	mr_status st;

	if (!k || (run && !mr_plan_list(x->s.plan, 0, MR_BODY)->n))
		return MR_OK;
	plain.n_factors = 0;
	st = mr_auto_forecast(&plain, &f);
	if (st == MR_OK && !run) {
		double by = clamp(r->measured_s, f.step_s);

		add_factor(&x->s, k, &(mr_auto_factor){by, by, by}, 0);
	}
	for (uint16_t w = 0; st == MR_OK && run && w < run->n_workers; w++) {
		double bodies = (double)x->steps / mr_forecast_steps(x->s.plan);
		mr_auto_factor is = measured_of(&run->worker[w].stats, bodies), was = predicted_of(&f, w);
		mr_auto_factor by = {clamp(is.f, was.f), clamp(is.b, was.b), clamp(is.u, was.u)};

		add_factor(&x->s, k, &by, w);
	}
	k->n += st == MR_OK;
	mr_forecast_fini(&f);
	return st;
}

/* --- several candidates in turns --- */

static mr_status measure_rounds(const mr_auto_search_state *s, runner *x, uint32_t n)
{
	uint32_t rounds = LEAST_ROUNDS;
	double ignored;

	for (uint32_t i = 0; i < n; i++)
		MR_TRY(burst(&x[i], WARM_STEPS, NULL, &ignored));
	for (uint32_t round = 0; round < rounds; round++)
		for (uint32_t i = 0; i < n; i++) {
			if (n > 1)
				mr_clock_sleep(SETTLE_NS);
			MR_TRY(burst(&x[i], MR_AUTO_STEPS, NULL, &x[i].burst_s[round]));
			if (!round && !i && x[i].burst_s[0] > 0) {
				double wanted = ROUND_S / (MR_AUTO_STEPS * x[i].burst_s[0]);

				rounds = (uint32_t)fmin(MOST_ROUNDS, fmax(LEAST_ROUNDS, wanted));
			}
		}
	for (uint32_t i = 0; i < n; i++)
		s->a->row[x[i].row].measured_s = mr_median(x[i].burst_s, rounds);
	return MR_OK;
}

/* Measure rows @row [n] side by side, or one after the other where memory is short; learn from them if @teach. */
static mr_status measure(mr_auto_search_state *s, const uint32_t *row, uint32_t n, bool teach)
{
	runner *x = calloc(n, sizeof(*x));
	uint64_t bytes = 0;
	mr_status st = x ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to measure %u candidates", n);
	uint32_t at_once = n;

	for (uint32_t i = 0; i < n; i++)
		bytes += s->a->row[row[i]].bytes;
	if (bytes > s->base.topo.memory_available_bytes / 4)
		at_once = 1;
	for (uint32_t from = 0; st == MR_OK && from < n; from += at_once) {
		uint32_t n_open = 0;

		for (uint32_t i = from; i < from + at_once; i++) {
			mr_auto_row *r = &s->a->row[row[i]];

			x[n_open].row = row[i];
			if (open_runner(s, r, NULL, &x[n_open]) == MR_OK) {
				n_open++;
				continue;
			}
			r->fits = false; /* it cannot run after all */
			snprintf(r->why, sizeof(r->why), "%.*s", (int)strcspn(mr_error_text(), "\n"),
				 mr_error_text());
			close_runner(&x[n_open]);
		}
		if (n_open)
			st = measure_rounds(s, x, n_open);
		for (uint32_t i = 0; st == MR_OK && teach && i < n_open; i++)
			st = learn(s, &x[i]);
		for (uint32_t i = 0; i < n_open; i++)
			close_runner(&x[i]);
	}
	free(x);
	return st;
}

/* The first @n rows that were not measured, and the best of one worker. */
static uint32_t next_rows(const mr_auto *a, uint32_t n, uint32_t *row)
{
	uint32_t k = 0;
	bool alone = false;

	for (uint32_t i = 0; i < a->n && i < n && mr_auto_is_done(&a->row[i]); i++) {
		alone |= a->row[i].workers == 1;
		if (!(a->row[i].measured_s > 0))
			row[k++] = i;
	}
	for (uint32_t i = 0; i < a->n && !alone; i++)
		if (mr_auto_is_done(&a->row[i]) && a->row[i].workers == 1) {
			alone = true;
			if (!(a->row[i].measured_s > 0))
				row[k++] = i;
		}
	return k;
}

/* Predict the best again with the corrections, and sort by that. */
static void predict_again(mr_auto_search_state *s)
{
	double first = s->a->row[0].step_s;

	for (uint32_t i = 0; i < s->a->n && i < MOST_AGAIN && mr_auto_is_done(&s->a->row[i]); i++) {
		mr_auto_row *r = &s->a->row[i];

		if (r->step_s > CLOSE * first && !(r->measured_s > 0))
			continue;
		r->first_s = r->step_s;
		r->step_s = mr_auto_predict(s, r, &r->bound_s);
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
	runner x;
	mr_status st;
	double step_s;
	char error[300];
} half_run;

static void *run_half(void *arg)
{
	half_run *h = arg;
	double ignored;

	h->st = burst(&h->x, WARM_STEPS, NULL, &ignored);
	for (uint32_t i = 0; h->st == MR_OK && i < HALF_ROUNDS; i++)
		h->st = burst(&h->x, MR_AUTO_STEPS, NULL, &h->x.burst_s[i]);
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
		mr_strbuf cpus;

		mr_strbuf_init(&cpus);
		half_cpus(&s->base.topo, r, i, &cpus);
		st = cpus.failed ? mr_fail(MR_ERESOURCE, "no memory for two runs")
				 : open_runner(s, r, mr_strbuf_text(&cpus), &h[i].x);
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
	for (uint32_t i = 0; i < 2; i++)
		close_runner(&h[i].x);
	return st;
}

/* --- what staleness costs --- */

/* The mean of @n losses up to @end, over a window. */
static double smooth(const double *loss, uint32_t end, uint32_t window)
{
	double sum = 0;

	for (uint32_t i = end - window; i < end; i++)
		sum += loss[i];
	return sum / window;
}

/* Steps until the smoothed loss is at most @target; n + 1: it never is. */
static uint32_t steps_to(const double *loss, uint32_t n, uint32_t window, double target)
{
	uint32_t end = window;

	while (end <= n && !(smooth(loss, end, window) <= target))
		end++;
	return end;
}

static mr_status losses(mr_auto_search_state *s, uint32_t row, uint32_t n, double *loss)
{
	runner x = {.row = row};
	double ignored;
	mr_status st = open_runner(s, &s->a->row[row], NULL, &x);

	if (st == MR_OK)
		st = burst(&x, n, loss, &ignored);
	close_runner(&x);
	return st;
}

/* Rows @stale and @flush by the steps that each takes to the loss that both reach. */
static mr_status measure_penalty(mr_auto_search_state *s, uint32_t stale, uint32_t flush)
{
	double slowest = fmax(s->a->row[stale].measured_s, s->a->row[flush].measured_s);
	uint32_t n = (uint32_t)fmin(MR_AUTO_LOSS_STEPS, fmax(MR_AUTO_STEPS, LOSS_S / slowest));
	uint32_t window = (uint32_t)fmax(1, n * WINDOW);
	double *loss = malloc(2 * (size_t)n * sizeof(*loss));
	mr_status st = loss ? losses(s, stale, n, loss) : mr_fail(MR_ERESOURCE, "no memory for %u losses", 2 * n);

	if (st == MR_OK)
		st = losses(s, flush, n, loss + n);
	if (st == MR_OK) {
		double target = fmax(smooth(loss, n, window), smooth(loss + n, n, window));

		s->a->penalty_loss = target;
		s->a->penalty_steps = n;
		s->a->row[stale].penalty =
			(double)steps_to(loss, n, window, target) / steps_to(loss + n, n, window, target);
	}
	free(loss);
	return st;
}

/* The best measured row that is stale, or that flushes; n: none. */
static uint32_t best_measured(const mr_auto *a, bool stale)
{
	uint32_t best = a->n;

	for (uint32_t i = 0; i < a->n; i++)
		if (a->row[i].measured_s > 0 && (a->row[i].staleness > 0) == stale &&
		    (best == a->n || a->row[i].measured_s < a->row[best].measured_s))
			best = i;
	return best;
}

/* --- all of it --- */

/* The data, once. */
static mr_status load(mr_auto_search_state *s)
{
	if (s->loaded)
		return MR_OK;
	s->loaded = true;
	return mr_session_load(&s->base);
}

static mr_status verify(mr_auto_search_state *s, uint32_t n)
{
	mr_auto *a = s->a;
	uint32_t row[MOST_AT_ONCE + 1], k, stale, flush;

	n = n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
	MR_TRY(load(s));
	k = next_rows(a, n, row);
	MR_TRY(measure(s, row, k, true));
	predict_again(s);
	qsort(a->row, a->n, sizeof(*a->row), by_prediction);
	k = next_rows(a, n, row);
	if (k)
		MR_TRY(measure(s, row, k, false));
	stale = best_measured(a, true);
	flush = best_measured(a, false);
	if (stale == a->n && flush == a->n)
		return mr_fail(MR_ECONFIG, "none of the best candidates could be trained");
	if (stale < a->n && flush < a->n && a->row[stale].measured_s < a->row[flush].measured_s)
		MR_TRY(measure_penalty(s, stale, flush));
	mr_auto_sort(a);
	mr_auto_mark(s);
	if (a->half < a->n && a->half_s < 2.2 * a->row[0].step_s && a->cores > 1)
		return measure_half(s);
	return MR_OK;
}

mr_status mr_auto_verify(const mr_auto_question *q, mr_auto *a, uint32_t n)
{
	if (*q->job->machine.topology)
		return mr_fail(MR_ECONFIG, "machine.topology describes another machine: only this one is measured");
	return verify(a->state, n);
}

mr_status mr_auto_measure(mr_auto *a, const uint32_t *row, uint32_t n)
{
	MR_TRY(load(a->state));
	return measure(a->state, row, n, false);
}
