#include "perf/steps/contender.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"
#include "choose/auto.h"
#include "host/clock.h"
#include "perf/steps/allowed.h"
#include "replay/replay.h"

/* Steps before a burst of a run that drains: they find the caches full of another contender's weights, which training
 * does not meet. Peers do the same. */
#define WARM_STEPS 1

/* Idle OpenMP teams spin for some milliseconds before they sleep: not during the next one's ping-pong. */
#define SETTLE_NS 10000000u

static mr_status run_steps(mr_contender *x, uint64_t n)
{
	return mr_executor_run(&x->s.executor, x->steps + n, NULL, NULL, &x->steps);
}

const mr_samples *mr_contender_samples(const mr_contender *x, int place)
{
	return mr_contender_marked(x, place) ? &x->disturbed[place] : &x->quiet[place];
}

bool mr_contender_marked(const mr_contender *x, int place)
{
	return x->disturbed[place].n > 2 * x->quiet[place].n;
}

static mr_status open_attention(mr_contender *x, const mr_bout *b)
{
	const mr_case *c = b->c;
	double ms;

	MR_TRY(mr_attention_open(&c->attention, mr_case_backend(c, x->precision),
				 x->precision == MR_BENCH_BF16 ? MR_BF16 : MR_F32, b->topo, x->threads,
				 &x->attention));
	return mr_attention_burst(x->attention, 0, c->burst, &ms);
}

/* Whether @row is what A does anyway. */
static bool is_a(const mr_contender *a, const mr_auto_row *row)
{
	return a && !a->out && !strcmp(row->label, a->system->system) && row->n_micro == 1 &&
	       a->job.train.microbatches == 1 && row->workers == 1 && (int)row->threads == a->threads;
}

/* Replace the job of @x by the one that plan --auto finds for it. */
static mr_status choose(mr_contender *x)
{
	mr_auto_question q = {.job = &x->job, .recalls = true, .measures = true};
	mr_job chosen = {0};
	mr_auto a = {0};
	mr_status st = mr_auto_search(&q, &a);

	if (st == MR_OK)
		st = mr_auto_job(&q, &a.row[0], &chosen);
	if (st == MR_OK) {
		snprintf(x->chosen, sizeof(x->chosen), "%s: %s, %u micro-batch%s", x->system->label, a.row[0].label,
			 a.row[0].n_micro, a.row[0].n_micro == 1 ? "" : "es");
		x->label = x->chosen;
		x->workers = (int)a.row[0].workers;
		x->threads = (int)a.row[0].threads;
		x->same = is_a(x->a, &a.row[0]) ? x->a : NULL;
		mr_job_fini(&x->job);
		x->job = chosen;
	} else {
		mr_job_fini(&chosen);
	}
	mr_auto_fini(&a);
	return st;
}

static mr_status open_session(mr_contender *x, const mr_case *c, const char *tokens)
{
	MR_TRY(mr_case_job(c, x->system, x->precision, x->threads, tokens, &x->job));
	if (x->choices) {
		MR_TRY(mr_job_set(&x->job, "machine.choices", x->choices));
		MR_TRY(mr_job_check(&x->job));
	}
	if (x->system == &mr_line_up[MR_PLANNED])
		MR_TRY(choose(x));
	if (x->same)
		return MR_OK;
	MR_TRY(mr_session_open(&x->job, &x->s));
	/* The trace is for allowed.h; a record an instruction is part of every traced training run. */
	MR_TRY(mr_session_start(&x->s, &(mr_session_opts){.trace = true}));
	return run_steps(x, (uint64_t)c->burst);
}

mr_status mr_contender_open(mr_contender *x, const mr_bout *b, const char *tokens)
{
	mr_status st;

	if (x->same)
		return MR_OK;
	st = mr_case_is_attention(b->c) ? open_attention(x, b) : open_session(x, b->c, tokens);
	if (st != MR_ERESOURCE && !(st == MR_ECONFIG && x->precision == MR_BENCH_BF16))
		return st == MR_OK ? MR_OK
				   : mr_fail_in(st, "%s in %s", x->label, mr_bench_precision_name(x->precision));
	snprintf(x->why, sizeof(x->why), "%s", mr_error_text());
	printf("  %s in %s is left out of this case: %s\n", x->label, mr_bench_precision_name(x->precision), x->why);
	mr_contender_close(x);
	x->out = true;
	return MR_OK;
}

enum { UNKNOWN = -1 };

/* NEAR, also when only one core or nobody is there to ask; FAR; or UNKNOWN: others keep the cores so busy that none can
 * tell. */
static int placement(const mr_bout *b)
{
	const mr_topo *t = b->topo;
	mr_probe_pingpong p;

	if (b->still || t->n_usable < 2)
		return MR_PROBE_NEAR;
	return mr_probe_pair(t->core[0].cpu, t->core[1].cpu, 2000, &p) == MR_OK ? (int)p.distance : UNKNOWN;
}

/* CPU seconds so far of @x itself; of ours those of this process. */
static double own_s(const mr_contender *x)
{
	struct timespec own = {0};

	if (x->peer)
		return (double)mr_process_cpu_ns(&x->peer->process) / 1e9;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	return (double)own.tv_sec + (double)own.tv_nsec / 1e9;
}

/* When two commits of the last stage were. */
typedef struct commits {
	uint64_t first, last;       /* steps */
	uint64_t first_ns, last_ns;
} commits;

static bool note_commit(void *arg, const mr_step_rec *rec)
{
	commits *c = arg;

	if (rec && rec->step == c->first)
		c->first_ns = rec->time_ns;
	if (rec && rec->step == c->last)
		c->last_ns = rec->time_ns;
	return true;
}

/*
 * Of a plan that never drains: from commit to commit. All workers stop behind the same iteration, so a burst begins
 * with the last stage at work and the others behind it, which training does not meet; after 2 (D - 1) commits they
 * are apart again as they always are.
 */
static mr_status time_endless(mr_contender *x, uint64_t run_in, uint64_t steps, double *ms)
{
	commits at = {.first = x->steps + run_in, .last = x->steps + run_in + steps};

	MR_TRY(mr_executor_run(&x->s.executor, at.last, note_commit, &at, &x->steps));
	*ms = (double)(at.last_ns - at.first_ns) / 1e6 / (double)steps;
	return MR_OK;
}

static mr_status time_whole(mr_contender *x, uint64_t steps, double *ms)
{
	uint64_t begin = mr_clock_ns();

	MR_TRY(run_steps(x, steps));
	*ms = (double)(mr_clock_ns() - begin) / 1e6 / (double)steps;
	return MR_OK;
}

static mr_status time_plan(mr_contender *x, uint64_t warm, uint64_t steps, double *ms, double *allowed)
{
	mr_run *run = mr_engine_run_of(x->s.executor.engine);
	uint64_t *mark = calloc(run->n_workers, sizeof(*mark));
	uint64_t run_in = x->s.plan->contract.flush == MR_FLUSH_NONE ? 2u * (uint64_t)(x->workers - 1) : 0;
	mr_status st;

	if (!mark)
		return mr_fail(MR_ERESOURCE, "no memory for %u marks", run->n_workers);
	st = run_in || !warm ? MR_OK : run_steps(x, warm);
	mr_allowed_mark(run, run_in, mark);
	if (st == MR_OK)
		st = run_in ? time_endless(x, run_in, steps, ms) : time_whole(x, steps, ms);
	if (st == MR_OK)
		st = mr_allowed_ms(run, mark, steps, allowed);
	free(mark);
	return st;
}

static mr_status time_ours(mr_contender *x, const mr_case *c, double *ms, double *allowed)
{
	mr_contender *y = x->same ? x->same : x;
	uint64_t steps = (uint64_t)c->burst, warm = c->long_steps ? 0 : WARM_STEPS;
	mr_status st = y->s.plan || y->attention || !warm ? MR_OK : run_steps(y, warm);

	if (st == MR_OK && y->attention)
		st = mr_attention_burst(y->attention, WARM_STEPS, c->burst, ms);
	else if (st == MR_OK)
		st = y->s.plan ? time_plan(y, warm, steps, ms, allowed) : time_whole(y, steps, ms);
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", x->label);
}

static mr_status time_one(mr_contender *x, const mr_case *c, double *ms, double *allowed)
{
	mr_peer_work work = {.precision = x->precision, .steps = c->burst, .warm = c->long_steps ? 0 : WARM_STEPS};

	*allowed = 0;
	if (!x->peer)
		return time_ours(x, c, ms, allowed);
	x->out = !mr_peer_burst(x->peer, &work, ms);
	return MR_OK;
}

static void add_sample(mr_samples *s, double ms, double allowed)
{
	s->ms[s->n++] = ms;
	if (allowed > 0) {
		s->allowed[s->n_over] = allowed;
		s->over[s->n_over++] = ms / allowed;
	}
}

/* *@counts: it was quiet and saw one placement; true also when @x takes no part. */
static mr_status burst(mr_contender *x, mr_bout *b, bool *counts)
{
	double ms = 0, allowed, own;
	int before, place;
	mr_load then;
	mr_use use;

	*counts = true;
	/* A peer that failed in one precision is gone for the other, too. */
	if (x->out || (x->same && x->same->out) || (x->peer && !x->peer->precisions))
		return MR_OK;
	mr_clock_sleep(SETTLE_NS);
	before = placement(b);
	if (before != UNKNOWN && x->far_off[before == MR_PROBE_FAR])
		return MR_OK;
	mr_load_read(b->peers, &then);
	own = own_s(x);
	MR_TRY(time_one(x, b->c, &ms, &allowed));
	if (x->out)
		return MR_OK;
	*counts = false;
	if (ms <= 0)
		return MR_OK;
	own = own_s(x) - own;
	use = mr_load_since(b->peers, &then);
	x->use.wall_s += use.wall_s;
	x->use.own_s += use.own_s;
	x->use.others_s += use.others_s;
	b->rest.wall_s += use.wall_s;
	b->rest.own_s += use.own_s > own ? use.own_s - own : 0;
	place = before == UNKNOWN ? UNKNOWN : placement(b);
	if (before == UNKNOWN || before != place) {
		x->dropped++;
		return MR_OK;
	}
	place = before == MR_PROBE_FAR;
	*counts = !mr_use_disturbed(&use);
	add_sample(*counts ? &x->quiet[place] : &x->disturbed[place], ms, allowed);
	return MR_OK;
}

mr_status mr_contender_burst(mr_contender *x, mr_bout *b)
{
	bool counts;

	MR_TRY(burst(x, b, &counts));
	if (counts || x->repeats == MR_MAX_REPEATS)
		return MR_OK;
	x->repeats++;
	return burst(x, b, &counts);
}

/* The fastest quiet burst; INFINITY: there is none. */
static double least(const mr_samples *s)
{
	double ms = INFINITY;

	for (size_t i = 0; i < s->n; i++)
		ms = s->ms[i] < ms ? s->ms[i] : ms;
	return ms;
}

/* Of the quiet bursts, if there are two or more; else INFINITY. */
static double median(const mr_samples *s)
{
	double copy[MR_MAX_BURSTS];

	memcpy(copy, s->ms, s->n * sizeof(*copy));
	return s->n < 2 ? INFINITY : mr_median(copy, s->n);
}

void mr_contenders_judge(mr_contender *all, size_t n)
{
	for (size_t i = 0; i < 2 * n; i++) {
		int place = (int)(i % 2);
		mr_contender *x = &all[i / 2];
		double fastest = INFINITY;

		for (const mr_contender *y = all; y < all + n; y++)
			if (!y->peer == !x->peer && y->precision == x->precision && !y->out)
				fastest = fmin(fastest, median(&y->quiet[place]));
		if (x->quiet[place].n >= 2 && !(x->peer && x->peer->ops == &mr_peer_torch))
			x->far_off[place] = least(&x->quiet[place]) > MR_FAR_OFF * fastest;
	}
}

static void put_proof(mr_json_writer *json, const mr_contender *x, uint64_t hash)
{
	char text[20];

	mr_json_begin_object(json);
	mr_json_key(json, "system");
	mr_json_put_string(json, x->label);
	mr_json_key(json, "precision");
	mr_json_put_string(json, mr_bench_precision_name(x->precision));
	mr_json_key(json, "plan");
	snprintf(text, sizeof(text), "%016" PRIx64, x->s.plan_hash);
	mr_json_put_string(json, text);
	mr_json_key(json, "weights");
	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	mr_json_put_string(json, text);
	mr_json_key(json, "steps");
	mr_json_put_uint(json, x->steps);
	mr_json_end_object(json);
}

static mr_status replay(const mr_contender *x, uint64_t *hash)
{
	mr_run_config rc = mr_session_run_config(&x->s, NULL);
	mr_replay *r;
	mr_state state;
	mr_status st;

	MR_TRY(mr_replay_create(&rc, &r));
	st = mr_replay_run(r, x->steps, MR_REPLAY_ROUND_ROBIN, 0);
	if (st == MR_OK)
		st = mr_state_of_run(mr_replay_run_of(r), &state);
	if (st == MR_OK) {
		*hash = mr_state_hash(&state);
		mr_state_fini(&state);
	}
	mr_replay_destroy(r);
	return st;
}

mr_status mr_contender_prove(mr_contender *x, mr_json_writer *json, bool *same)
{
	uint64_t ours, theirs;
	mr_state state;

	*same = true;
	if (x->peer || x->same || x->out || x->attention || !x->s.plan)
		return MR_OK;
	MR_TRY(mr_executor_state(&x->s.executor, &state));
	ours = mr_state_hash(&state);
	mr_state_fini(&state);
	/* Its hash is all that is needed of it, and the replay needs as much memory again. */
	mr_executor_fini(&x->s.executor);
	MR_TRY(replay(x, &theirs));
	*same = ours == theirs;
	printf("  %-26s %-4s plan %016" PRIx64 "  weights after %" PRIu64 " steps %016" PRIx64 "  %s\n", x->label,
	       mr_bench_precision_name(x->precision), x->s.plan_hash, x->steps, ours,
	       *same ? "= replay" : "DIFFER FROM THE REPLAY");
	fflush(stdout);
	if (json)
		put_proof(json, x, ours);
	return MR_OK;
}

void mr_contender_close(mr_contender *x)
{
	if (x->peer)
		mr_peer_end(x->peer);
	mr_attention_close(x->attention);
	mr_session_close(&x->s);
	mr_job_fini(&x->job);
}
