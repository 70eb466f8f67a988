#include "run/replay.h"

#include <stdlib.h>

#include "base/rng.h"
#include "host/group.h"
#include "run/exec.h"
#include "run/loader.h"

struct mr_replay {
	mr_run *run;
	mr_loader *loader;
	/* of the run under way */
	uint64_t until, seed, n_drawn;
	mr_replay_order order;
	uint16_t turn;
	mr_status status;
	char text[1024];
};

/* One instruction of worker @w, if it is ready. */
static bool step(mr_replay *r, uint16_t id, mr_status *st)
{
	mr_worker *w = &r->run->worker[id];
	mr_task t;

	if (!mr_exec_next(w, &r->run->train, r->until, &t) || mr_exec_acquire(w, &t, st) != MR_WAIT_NONE || *st != MR_OK)
		return false;
	*st = mr_exec_do(w, &t);
	mr_exec_advance(w, &r->run->train);
	return true;
}

static uint16_t first_to_try(mr_replay *r)
{
	switch (r->order) {
	case MR_REPLAY_ROUND_ROBIN:
		return (uint16_t)(r->turn++ % r->run->n_workers);
	case MR_REPLAY_LAST_FIRST:
		return (uint16_t)(r->run->n_workers - 1);
	default:
		return (uint16_t)(mr_rng_u32(r->seed, MR_RNG_TEST, 0, 0, r->n_drawn++) % r->run->n_workers);
	}
}

static bool finished(const mr_replay *r)
{
	mr_task t;

	for (uint16_t w = 0; w < r->run->n_workers; w++)
		if (mr_exec_next(&r->run->worker[w], &r->run->train, r->until, &t))
			return false;
	return true;
}

static mr_status go(mr_replay *r)
{
	while (!finished(r)) {
		uint16_t first = first_to_try(r), n = r->run->n_workers;
		mr_status st = MR_OK;
		bool moved = false;

		/* downwards from the first choice, so that LAST_FIRST is what it says */
		for (uint16_t i = 0; i < n && !moved && st == MR_OK; i++)
			moved = step(r, (uint16_t)((first + n - i) % n), &st);
		MR_TRY(st);
		if (!moved && !mr_loader_pump(r->loader))
			return mr_fail(MR_ECONFIG, "the plan is stuck: no worker can go on");
	}
	return MR_OK;
}

static mr_status set_up(mr_replay *r)
{
	for (uint16_t w = 0; w < r->run->n_workers; w++)
		MR_TRY(mr_run_setup_worker(r->run, w));
	for (uint16_t w = 0; w < r->run->n_workers; w++)
		MR_TRY(mr_run_warm_up(r->run, w));
	MR_TRY(mr_run_reset(r->run));
	mr_run_stand_at(r->run, 0);
	mr_loader_seek(r->loader, 0, UINT64_MAX);
	return MR_OK;
}

/* --- the thread set up like a leader; errors travel back in text --- */

static void carry(mr_replay *r, mr_status st)
{
	r->status = st;
	for (size_t i = 0; st != MR_OK && i < sizeof(r->text) - 1 && (r->text[i] = mr_error_text()[i]); i++)
		r->text[i + 1] = 0;
}

static void run_thread(void *arg)
{
	mr_replay *r = arg;

	carry(r, r->run->worker[0].kc ? go(r) : set_up(r));
}

static void end_thread(void *arg)
{
	mr_replay *r = arg;

	for (uint16_t w = 0; w < r->run->n_workers; w++)
		mr_run_finish_worker(r->run, w);
}

static mr_status on_leader(mr_replay *r, void (*fn)(void *))
{
	mr_group *g;

	r->status = MR_OK;
	MR_TRY(mr_group_start(&r->run->c.place->worker[0], "mr-replay", fn, r, &g));
	mr_group_join(g);
	return r->status == MR_OK ? MR_OK : mr_fail(r->status, "%s", r->text);
}

mr_status mr_replay_create(const mr_run_config *c, mr_replay **out)
{
	mr_replay *r = calloc(1, sizeof(*r));
	mr_status st;

	if (!r)
		return mr_fail(MR_ERESOURCE, "no memory for a replay");
	st = mr_run_create(c, &r->run);
	if (st == MR_OK)
		st = mr_loader_create(r->run, &r->run->train, &r->loader);
	if (st == MR_OK)
		st = on_leader(r, run_thread);
	if (st != MR_OK) {
		mr_replay_destroy(r);
		return st;
	}
	*out = r;
	return MR_OK;
}

void mr_replay_destroy(mr_replay *r)
{
	if (!r)
		return;
	if (r->run && on_leader(r, end_thread) != MR_OK)
		r->status = MR_OK; /* the context leaks its primitives; nothing to do about it */
	mr_loader_destroy(r->loader);
	mr_run_destroy(r->run);
	free(r);
}

mr_status mr_replay_run(mr_replay *r, uint64_t until, mr_replay_order order, uint64_t seed)
{
	r->until = until;
	r->order = order;
	r->seed = seed;
	r->n_drawn = 0;
	return on_leader(r, run_thread);
}

mr_run *mr_replay_run_of(mr_replay *r)
{
	return r->run;
}
