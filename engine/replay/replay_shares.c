#include "replay/replay_shares.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "replay/replay_internal.h"

enum { TURNS = 256 }; /* by which the first share may be ahead of another */

/* A share's replay, and what its thread does. */
typedef struct side {
	mr_replay_shares *all;
	mr_replay *replay;
	uint64_t taken;  /* turns so far; under the lock */
	uint64_t until;  /* of the run under way, as it was asked for */
	bool evaluates;
	pthread_t thread;
} side;

struct mr_replay_shares {
	uint32_t n;
	side *at;             /* [n] */
	mr_shares *shares;
	mr_replay_source *source;
	void *source_arg;
	const mr_replay_clock *clock;
	mr_engine_progress *progress;
	mr_eval_wanted *wanted;
	void *arg;
	uint64_t reached;
	double loss;
	pthread_mutex_t lock; /* of all below, and of `taken` */
	pthread_cond_t moved;
	mr_replay_turn turn[TURNS];
	uint64_t begun;       /* turns of the first share */
	uint64_t until;       /* where it stops */
	bool ended;           /* it begins no more turns, and all stop there */
	mr_status status;     /* the first error, and its text */
	char text[1024];
};

static uint64_t least_taken(const mr_replay_shares *s)
{
	uint64_t least = s->begun;

	for (uint32_t q = 1; q < s->n; q++)
		least = s->at[q].taken < least ? s->at[q].taken : least;
	return least;
}

/* The first share begins @turn. */
static void begins(void *arg, const mr_replay_turn *turn)
{
	mr_replay_shares *s = arg;

	pthread_mutex_lock(&s->lock);
	while (s->begun - least_taken(s) == TURNS && s->status == MR_OK)
		pthread_cond_wait(&s->moved, &s->lock);
	s->turn[s->begun++ % TURNS] = *turn;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
}

/* An mr_replay_source of another share: what the first has begun. */
static mr_status next_begun(void *arg, uint64_t until, mr_replay_turn *out, bool *more)
{
	side *d = arg;
	mr_replay_shares *s = d->all;

	(void)until;
	pthread_mutex_lock(&s->lock);
	while (d->taken == s->begun && !s->ended)
		pthread_cond_wait(&s->moved, &s->lock);
	*more = d->taken < s->begun;
	if (*more)
		*out = s->turn[d->taken++ % TURNS];
	else
		d->replay->until = s->until;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
	return MR_OK;
}

/* @d is done, with the calling thread's text if it has failed: then none waits for it any more. */
static void end(side *d, mr_status st)
{
	mr_replay_shares *s = d->all;

	pthread_mutex_lock(&s->lock);
	if (st != MR_OK && s->status == MR_OK) {
		s->status = st;
		snprintf(s->text, sizeof(s->text), "%s", mr_error_text());
		for (uint32_t q = 0; q < s->n; q++)
			mr_stop_raise(&s->at[q].replay->run->stop);
	}
	if (d == s->at)
		s->until = d->replay->until;
	s->ended = s->ended || d == s->at || st != MR_OK;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
}

static mr_status train_first(mr_replay_shares *s)
{
	mr_replay *r = s->at[0].replay;

	if (!s->source)
		return mr_replay_by_clock(r, s->at[0].until, s->clock, s->progress, s->arg, &s->reached);
	return mr_replay_follow(r, s->at[0].until, s->source, s->source_arg, s->progress, s->arg, &s->reached);
}

static void *work(void *arg)
{
	side *d = arg;
	mr_replay_shares *s = d->all;
	bool first = d == s->at;
	uint64_t reached;
	double loss;
	mr_status st;

	if (d->evaluates)
		st = mr_replay_eval(d->replay, first ? s->wanted : NULL, s->arg, first ? &s->loss : &loss);
	else if (first)
		st = train_first(s);
	else
		st = mr_replay_follow(d->replay, d->until, next_begun, d, NULL, NULL, &reached);
	end(d, st);
	return NULL;
}

/* All shares, the first on the calling thread. */
static mr_status work_all(mr_replay_shares *s, bool evaluates)
{
	uint32_t n = 1;

	s->status = MR_OK;
	s->ended = false;
	for (uint32_t q = 0; q < s->n; q++) {
		s->at[q].evaluates = evaluates;
		s->at[q].until = s->until;
	}
	while (n < s->n && pthread_create(&s->at[n].thread, NULL, work, &s->at[n]) == 0)
		n++;
	if (n == s->n) {
		work(s->at);
	} else {
		mr_status st = mr_fail(MR_ERESOURCE, "no thread for share %u of %u", n, s->n);

		end(s->at, st);
	}
	for (uint32_t q = 1; q < n; q++)
		pthread_join(s->at[q].thread, NULL);
	if (s->status == MR_OK)
		return MR_OK;
	for (uint32_t q = 0; q < s->n; q++)
		mr_stop_clear(&s->at[q].replay->run->stop);
	mr_shares_reset(s->shares);
	return mr_fail(s->status, "%s", s->text);
}

static mr_status build(mr_replay_shares *s, const mr_run_config *c)
{
	MR_TRY(mr_shares_create(s->n, c, &s->shares));
	s->shares->apart = true; /* each warms up by itself */
	for (uint32_t q = 0; q < s->n; q++) {
		mr_run_config own = c[q];

		own.shares = s->shares;
		own.share = q;
		s->at[q].all = s;
		MR_TRY(mr_replay_create(&own, &s->at[q].replay));
		s->shares->run[q] = s->at[q].replay->run;
	}
	s->shares->apart = false;
	s->at[0].replay->begins = begins;
	s->at[0].replay->begins_arg = s;
	return MR_OK;
}

mr_status mr_replay_shares_create(const mr_run_config *c, uint32_t n, mr_replay_shares **out)
{
	mr_replay_shares *s = calloc(1, sizeof(*s));
	mr_status st;

	if (!s || !(s->at = calloc(n, sizeof(*s->at)))) {
		free(s);
		return mr_fail(MR_ERESOURCE, "no memory for the replays of %u shares", n);
	}
	s->n = n;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->moved, NULL);
	st = build(s, c);
	if (st != MR_OK) {
		mr_replay_shares_destroy(s);
		return st;
	}
	*out = s;
	return MR_OK;
}

void mr_replay_shares_destroy(mr_replay_shares *s)
{
	if (!s)
		return;
	for (uint32_t q = 0; q < s->n; q++)
		mr_replay_destroy(s->at[q].replay);
	mr_shares_destroy(s->shares);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->moved);
	free(s->at);
	free(s);
}

mr_status mr_replay_shares_run(mr_replay_shares *s, uint64_t until, mr_replay_source *source, void *source_arg,
			       const mr_replay_clock *clock, mr_engine_progress *progress, void *arg,
			       uint64_t *reached)
{
	mr_status st;

	s->until = until;
	s->source = source;
	s->source_arg = source_arg;
	s->clock = clock;
	s->progress = progress;
	s->arg = arg;
	st = work_all(s, false);
	*reached = s->reached;
	return st;
}

mr_status mr_replay_shares_eval(mr_replay_shares *s, mr_eval_wanted *wanted, void *arg, double *loss)
{
	s->wanted = wanted;
	s->arg = arg;
	MR_TRY(work_all(s, true));
	*loss = s->loss;
	return MR_OK;
}

mr_replay *mr_replay_shares_first(mr_replay_shares *s)
{
	return s->at[0].replay;
}
