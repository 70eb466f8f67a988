#include "perf/steps/contender.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static mr_status open_session(mr_contender *x, const mr_case *c, const char *tokens)
{
	MR_TRY(mr_case_job(c, x->system, x->threads, tokens, &x->job));
	MR_TRY(mr_session_open(&x->job, &x->s));
	/* The trace is for allowed.h; a record an instruction is part of every traced training run. */
	MR_TRY(mr_session_start(&x->s, &(mr_session_opts){.trace = true}));
	return run_steps(x, (uint64_t)c->burst);
}

mr_status mr_contender_open(mr_contender *x, const mr_case *c, const char *tokens)
{
	mr_status st;

	if (x->same)
		return MR_OK;
	st = open_session(x, c, tokens);
	if (st != MR_ERESOURCE)
		return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", x->label);
	snprintf(x->why, sizeof(x->why), "%s", mr_error_text());
	printf("  %s is left out of this case: %s\n", x->label, x->why);
	mr_contender_close(x);
	x->out = true;
	return MR_OK;
}

enum { UNKNOWN = -1 };

/* NEAR, also when only one core is there to ask; FAR; or UNKNOWN: others keep the cores so busy that none can tell. */
static int placement(const mr_topo *t)
{
	mr_probe_pingpong p;

	if (t->n_usable < 2)
		return MR_PROBE_NEAR;
	return mr_probe_pair(t->core[0].cpu, t->core[1].cpu, 2000, &p) == MR_OK ? (int)p.distance : UNKNOWN;
}

/* CPU time so far of all but @x. */
static double others_s(const mr_contender *x, const mr_contender *all, size_t n)
{
	struct timespec own;
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].peer && &all[i] != x)
			sum += (double)mr_process_cpu_ns(&all[i].peer->process) / 1e9;
	if (x->peer && !clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own))
		sum += (double)own.tv_sec + (double)own.tv_nsec / 1e9;
	return sum;
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

static mr_status time_plan(mr_contender *x, uint64_t steps, double *ms, double *allowed)
{
	mr_run *run = mr_engine_run_of(x->s.executor.engine);
	uint64_t *mark = calloc(run->n_workers, sizeof(*mark));
	uint64_t run_in = x->s.plan->contract.flush == MR_FLUSH_NONE ? 2u * (uint64_t)(x->workers - 1) : 0;
	mr_status st;

	if (!mark)
		return mr_fail(MR_ERESOURCE, "no memory for %u marks", run->n_workers);
	st = run_in ? MR_OK : run_steps(x, WARM_STEPS);
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
	uint64_t steps = (uint64_t)c->burst;
	mr_status st = y->s.plan ? MR_OK : run_steps(y, WARM_STEPS);

	if (st == MR_OK)
		st = y->s.plan ? time_plan(y, steps, ms, allowed) : time_whole(y, steps, ms);
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", x->label);
}

static mr_status time_one(mr_contender *x, const mr_case *c, double *ms, double *allowed)
{
	*allowed = 0;
	if (!x->peer)
		return time_ours(x, c, ms, allowed);
	x->out = !mr_peer_burst(x->peer, c->burst, ms);
	return MR_OK;
}

mr_status mr_contender_burst(mr_contender *x, const mr_contender *all, size_t n, const mr_case *c, const mr_topo *t,
			     mr_rest *rest)
{
	double ms = 0, allowed, cpu;
	uint64_t begin;
	int before;
	mr_samples *s;

	if (x->out || (x->same && x->same->out))
		return MR_OK;
	mr_clock_sleep(SETTLE_NS);
	before = placement(t);
	cpu = others_s(x, all, n);
	begin = mr_clock_ns();
	MR_TRY(time_one(x, c, &ms, &allowed));
	if (x->out || ms <= 0)
		return MR_OK;
	rest->wall_s += (double)(mr_clock_ns() - begin) / 1e9;
	rest->cpu_s += others_s(x, all, n) - cpu;
	if (before == UNKNOWN || before != placement(t)) {
		x->dropped++;
		return MR_OK;
	}
	s = &x->at[before == MR_PROBE_FAR];
	s->ms[s->n++] = ms;
	if (allowed > 0) {
		s->allowed[s->n_over] = allowed;
		s->over[s->n_over++] = ms / allowed;
	}
	return MR_OK;
}

static void put_proof(mr_json_writer *json, const mr_contender *x, uint64_t hash)
{
	char text[20];

	mr_json_begin_object(json);
	mr_json_key(json, "system");
	mr_json_put_string(json, x->label);
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
	if (x->peer || x->same || x->out || !x->s.plan)
		return MR_OK;
	MR_TRY(mr_executor_state(&x->s.executor, &state));
	ours = mr_state_hash(&state);
	mr_state_fini(&state);
	/* Its hash is all that is needed of it, and the replay needs as much memory again. */
	mr_executor_fini(&x->s.executor);
	MR_TRY(replay(x, &theirs));
	*same = ours == theirs;
	printf("  %-26s plan %016" PRIx64 "  weights after %" PRIu64 " steps %016" PRIx64 "  %s\n", x->label,
	       x->s.plan_hash, x->steps, ours, *same ? "= replay" : "DIFFER FROM THE REPLAY");
	fflush(stdout);
	if (json)
		put_proof(json, x, ours);
	return MR_OK;
}

void mr_contender_close(mr_contender *x)
{
	if (x->peer)
		mr_peer_stop(x->peer);
	mr_session_close(&x->s);
	mr_job_fini(&x->job);
}
