#include "session/executor.h"

#include <string.h>

#include "ranks/over_ranks.h"

struct mr_executor_kind {
	mr_status (*run)(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached);
	mr_status (*eval)(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss);
	mr_status (*stand_at)(mr_executor *x, uint64_t step);
	mr_run *(*run_of)(const mr_executor *x);
	mr_status (*gather)(mr_executor *x); /* before lists of the state are made; NULL: all is here */
	mr_status (*state)(mr_executor *x, mr_state *out); /* NULL: that of the run */
	void (*hold)(mr_executor *x);
	void (*destroy)(mr_executor *x);
};

/* --- the engine --- */

static mr_status engine_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	return mr_engine_run(x->engine, until, progress, arg, reached);
}

static mr_status engine_eval(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss)
{
	return mr_engine_eval(x->engine, wanted, arg, loss);
}

static mr_status engine_stand_at(mr_executor *x, uint64_t step)
{
	return mr_engine_resume_at(x->engine, step);
}

static mr_run *engine_run_of(const mr_executor *x)
{
	return mr_engine_run_of(x->engine);
}

static void engine_destroy(mr_executor *x)
{
	mr_engine_destroy(x->engine);
}

static void engine_hold(mr_executor *x)
{
	mr_run_spread(mr_engine_run_of(x->engine)); /* copies on other nodes */
}

static const mr_executor_kind engine = {
	.run = engine_run,
	.eval = engine_eval,
	.stand_at = engine_stand_at,
	.run_of = engine_run_of,
	.hold = engine_hold,
	.destroy = engine_destroy,
};

mr_status mr_executor_of_engine(const mr_run_config *c, double watchdog_s, mr_executor *x)
{
	mr_engine *e;

	MR_TRY(mr_engine_create(c, watchdog_s, &e));
	*x = (mr_executor){.kind = &engine, .engine = e};
	return MR_OK;
}

/* --- an engine of several shares --- */

mr_status mr_executor_give(mr_executor *x)
{
	return x->shares ? mr_share_state_give(x->shares, &x->joined) : MR_OK;
}

static mr_status shares_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	MR_TRY(mr_executor_give(x));
	return mr_engine_run(x->engine, until, progress, arg, reached);
}

static mr_status shares_eval(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss)
{
	MR_TRY(mr_executor_give(x));
	return mr_engine_eval(x->engine, wanted, arg, loss);
}

/* The buffers are there, and what is loaded into them has not been given yet. */
static mr_status begin_joined(mr_executor *x)
{
	mr_state st;

	x->joined.holds = false;
	MR_TRY(mr_share_state(x->shares, &x->joined, &st));
	mr_state_fini(&st);
	x->joined.holds = true;
	return MR_OK;
}

static mr_status shares_stand_at(mr_executor *x, uint64_t step)
{
	MR_TRY(mr_engine_resume_at(x->engine, step));
	return begin_joined(x);
}

static mr_status shares_state(mr_executor *x, mr_state *out)
{
	return mr_share_state(x->shares, &x->joined, out);
}

static void shares_hold(mr_executor *x)
{
	x->joined.holds = true;
}

static void shares_destroy(mr_executor *x)
{
	mr_engine_destroy(x->engine);
	mr_share_buffers_fini(&x->joined);
}

static const mr_executor_kind shares = {
	.run = shares_run,
	.eval = shares_eval,
	.stand_at = shares_stand_at,
	.run_of = engine_run_of,
	.state = shares_state,
	.hold = shares_hold,
	.destroy = shares_destroy,
};

mr_status mr_executor_of_shares(const mr_run_config *c, uint32_t n, double watchdog_s, const mr_graph *whole,
				mr_executor *x)
{
	mr_engine *e;

	MR_TRY(mr_engine_create_shares(c, n, watchdog_s, &e));
	*x = (mr_executor){.kind = &shares, .engine = e, .joined = {.whole = whole}};
	x->shares = mr_executor_run_of(x)->c.shares;
	return MR_OK;
}

/* --- an engine over ranks --- */

static void ranks_hold(mr_executor *x)
{
	x->joined.holds = x->shares != NULL;
	mr_over_ranks_hold(x->engine);
}

static mr_status ranks_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	MR_TRY(mr_executor_give(x));
	return mr_over_ranks_run(x->engine, until, progress, arg, reached);
}

static mr_status ranks_eval(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss)
{
	MR_TRY(mr_executor_give(x));
	return mr_over_ranks_eval(x->engine, wanted, arg, loss);
}

static mr_status ranks_stand_at(mr_executor *x, uint64_t step)
{
	MR_TRY(mr_over_ranks_stand_at(x->engine, step));
	return x->shares ? begin_joined(x) : MR_OK;
}

static mr_status ranks_gather(mr_executor *x)
{
	return mr_over_ranks_gather(x->engine);
}

static mr_status ranks_state(mr_executor *x, mr_state *out)
{
	return x->shares ? shares_state(x, out) : mr_state_of_run(engine_run_of(x), out);
}

static const mr_executor_kind over_ranks = {
	.run = ranks_run,
	.eval = ranks_eval,
	.stand_at = ranks_stand_at,
	.run_of = engine_run_of,
	.gather = ranks_gather,
	.state = ranks_state,
	.hold = ranks_hold,
	.destroy = shares_destroy,
};

mr_status mr_executor_of_ranks(const mr_run_config *c, uint32_t n, double watchdog_s, const mr_graph *whole,
			       mr_executor *x)
{
	mr_engine *e;

	MR_TRY(mr_engine_create_shares(c, n, c->ranks->self ? 0 : watchdog_s, &e));
	*x = (mr_executor){.kind = &over_ranks, .engine = e, .joined = {.whole = whole}};
	x->shares = engine_run_of(x)->c.shares;
	return MR_OK;
}

mr_status mr_executor_meet(mr_executor *x, const char *identity)
{
	return mr_over_ranks_meet(x->engine, identity);
}

/* --- a replay --- */

static mr_status replay_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	return x->source ? mr_replay_follow(x->replay, until, x->source, x->source_arg, progress, arg, reached)
			 : mr_replay_by_clock(x->replay, until, x->clock, progress, arg, reached);
}

static mr_status replay_eval(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss)
{
	return mr_replay_eval(x->replay, wanted, arg, loss);
}

static mr_status replay_stand_at(mr_executor *x, uint64_t step)
{
	(void)x;
	return mr_fail(MR_EINVAL, "a simulated run begins at step 0, not at step %llu", (unsigned long long)step);
}

static mr_run *replay_run_of(const mr_executor *x)
{
	return mr_replay_run_of(x->replay);
}

static void replay_destroy(mr_executor *x)
{
	mr_replay_destroy(x->replay);
}

static void replay_hold(mr_executor *x)
{
	mr_run_spread(mr_replay_run_of(x->replay));
}

static const mr_executor_kind replay = {
	.run = replay_run,
	.eval = replay_eval,
	.stand_at = replay_stand_at,
	.run_of = replay_run_of,
	.hold = replay_hold,
	.destroy = replay_destroy,
};

mr_status mr_executor_of_replay(const mr_run_config *c, mr_replay_source *source, void *source_arg,
				const mr_replay_clock *clock, mr_executor *x)
{
	mr_replay *r;

	MR_TRY(mr_replay_create(c, &r));
	*x = (mr_executor){.kind = &replay, .replay = r, .source = source, .source_arg = source_arg, .clock = clock};
	return MR_OK;
}

/* --- replays of several shares --- */

/* What was loaded for the whole model goes to the shares, and on to their copies. */
static mr_status give_replays(mr_executor *x)
{
	bool held = x->joined.holds;

	MR_TRY(mr_executor_give(x));
	for (uint32_t q = 0; held && q < x->shares->n; q++)
		mr_run_spread(x->shares->run[q]);
	return MR_OK;
}

static mr_status replays_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	MR_TRY(give_replays(x));
	return mr_replay_shares_run(x->replays, until, x->source, x->source_arg, x->clock, progress, arg, reached);
}

static mr_status replays_eval(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss)
{
	MR_TRY(give_replays(x));
	return mr_replay_shares_eval(x->replays, wanted, arg, loss);
}

static void replays_destroy(mr_executor *x)
{
	mr_replay_shares_destroy(x->replays);
	mr_share_buffers_fini(&x->joined);
}

static const mr_executor_kind replays = {
	.run = replays_run,
	.eval = replays_eval,
	.stand_at = replay_stand_at,
	.run_of = replay_run_of,
	.state = shares_state,
	.hold = shares_hold,
	.destroy = replays_destroy,
};

mr_status mr_executor_of_replayed_shares(const mr_run_config *c, uint32_t n, mr_replay_source *source,
					 void *source_arg, const mr_replay_clock *clock, const mr_graph *whole,
					 mr_executor *x)
{
	mr_replay_shares *r;

	MR_TRY(mr_replay_shares_create(c, n, &r));
	*x = (mr_executor){.kind = &replays, .replays = r, .replay = mr_replay_shares_first(r), .source = source,
			   .source_arg = source_arg, .clock = clock, .joined = {.whole = whole}};
	x->shares = mr_executor_run_of(x)->c.shares;
	return MR_OK;
}

/* --- either --- */

mr_status mr_executor_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	return x->kind->run(x, until, progress, arg, reached);
}

mr_status mr_executor_eval(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss)
{
	return x->kind->eval(x, wanted, arg, loss);
}

mr_scores mr_executor_scores(mr_executor *x)
{
	return mr_run_eval_scores(mr_executor_run_of(x));
}

mr_status mr_executor_state(mr_executor *x, mr_state *out)
{
	if (x->kind->gather)
		MR_TRY(x->kind->gather(x));
	if (x->kind->state)
		return x->kind->state(x, out);
	return mr_state_of_run(mr_executor_run_of(x), out);
}

void mr_executor_hold(mr_executor *x)
{
	x->kind->hold(x);
}

mr_run *mr_executor_run_of(const mr_executor *x)
{
	return x->kind ? x->kind->run_of(x) : NULL;
}

uint32_t mr_executor_shares(const mr_executor *x)
{
	return x->shares ? x->shares->n : 1;
}

uint32_t mr_executor_rows(const mr_executor *x)
{
	return mr_executor_run_of(x)->n_workers * mr_executor_shares(x);
}

const mr_worker *mr_executor_row(const mr_executor *x, uint32_t row)
{
	const mr_run *run = x->shares ? x->shares->run[row % x->shares->n] : mr_executor_run_of(x);

	return &run->worker[row / mr_executor_shares(x)];
}

void mr_executor_spent(const mr_executor *x, uint32_t row, uint64_t *busy, uint64_t waited[MR_N_WAITS])
{
	const mr_worker *w = mr_executor_row(x, row);

	*busy = atomic_load_explicit(&w->busy_ns, memory_order_relaxed);
	for (int c = 0; c < MR_N_WAITS; c++)
		waited[c] = atomic_load_explicit(&w->waited_ns[c], memory_order_relaxed);
}

static uint64_t step_of(const mr_run *run, const mr_trace_rec *r)
{
	return r->op <= MR_OP_W ? r->micro / run->c.plan->contract.need + 1 : r->version;
}

size_t mr_executor_records(const mr_executor *x, uint64_t first, uint64_t last, mr_trace_rec *to)
{
	size_t n = 0;

	for (uint32_t row = 0; row < mr_executor_rows(x); row++) {
		const mr_worker *w = mr_executor_row(x, row);

		for (uint64_t i = w->n_trace > MR_TRACE_RING ? w->n_trace - MR_TRACE_RING : 0; i < w->n_trace; i++) {
			const mr_trace_rec *r = &w->trace[i % MR_TRACE_RING];
			uint64_t step = step_of(w->run, r);

			if (step < first || step > last)
				continue;
			if (to) {
				to[n] = *r;
				to[n].worker = (uint16_t)row;
				to[n].share = (uint16_t)(row % mr_executor_shares(x));
			}
			n++;
		}
	}
	return n;
}

void mr_executor_trained(const mr_executor *x, uint32_t row, uint64_t *busy, uint64_t waited[MR_N_WAITS])
{
	const mr_worker_stats *st = &mr_executor_row(x, row)->stats;

	*busy = 0;
	for (int op = 0; op < MR_N_OPS; op++)
		*busy += st->busy_ns[op];
	*busy -= st->lost_before_ns < *busy ? st->lost_before_ns : *busy;
	memcpy(waited, st->wait_ns, sizeof(st->wait_ns));
	waited[MR_WAIT_DESCHEDULED] += st->lost_ns + st->lost_before_ns;
}

uint64_t mr_executor_stands_ns(const mr_executor *x)
{
	return mr_replay_stands_ns(x->replay);
}

mr_status mr_executor_stand_at(mr_executor *x, uint64_t step)
{
	return x->kind->stand_at(x, step);
}

/* Of one run. */
static uint64_t bytes_of(const mr_run *run)
{
	uint64_t sum = mr_run_mapped_bytes(run);

	for (uint16_t w = 0; w < run->n_workers; w++)
		if (mr_run_is_here(&run->c, w))
			sum += run->c.kernels->ctx_bytes(run->worker[w].kc) +
			       (run->worker[w].trace ? MR_TRACE_BYTES : 0);
	return sum;
}

uint64_t mr_executor_bytes(const mr_executor *x)
{
	uint64_t sum = bytes_of(mr_executor_run_of(x));

	for (uint32_t q = 1; x->shares && q < x->shares->n; q++)
		sum += bytes_of(x->shares->run[q]);
	return sum;
}

void mr_executor_fini(mr_executor *x)
{
	if (x->kind)
		x->kind->destroy(x);
	*x = (mr_executor){0};
}
