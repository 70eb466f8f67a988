#include "schedules/exact/exact_cross.h"

#include <stdlib.h>
#include <string.h>

#define REACH 2u      /* micro-batches whose crossing is tried are at most this far apart */
#define DEPTH 3u      /* of trials in trials */
#define BEYOND 4u     /* micro-batches behind those that wait for room, up to which a trial is followed */
#define LOOK_BACK 64u /* passes before one on its worker whose work is counted */

typedef struct raised {
	uint32_t pass;
	int64_t head;
} raised;

typedef struct order {
	uint32_t first, then; /* passes of a worker */
} order;

typedef struct cross {
	const mr_exact_job *job;
	int64_t *head;          /* [n_passes] */
	bool *due;              /* [n_passes] by rank: the head may be too low */
	uint32_t n_due, next;   /* no lower rank is due */
	uint32_t last_micro;    /* begins behind it are left alone */
	order trial[DEPTH];
	uint32_t n_trials;
	raised *trail;          /* what heads were before */
	size_t n_trail, most_trail;
	raised *found[DEPTH];   /* [n_passes] heads of the first trial */
	uint32_t *seen, n_seen; /* [n_passes] */
	bool failed;            /* no memory */
} cross;

/* --- heads --- */

/* Begins mostly follow from those of lower ranks: by micro-batch, down and up the stages. */
static uint32_t rank_of(const mr_exact_job *j, uint32_t pass)
{
	uint32_t c = pass / j->n_micro, s = c / MR_EXACT_KINDS, kind = c % MR_EXACT_KINDS, up = j->n_stages - 1 - s;

	return pass % j->n_micro * j->n_chains + (kind == MR_EXACT_F ? s : j->n_stages + 2 * up + kind - 1);
}

static uint32_t pass_of(const mr_exact_job *j, uint32_t rank)
{
	uint32_t m = rank / j->n_chains, at = rank % j->n_chains, up = at - j->n_stages, c;

	if (at < j->n_stages)
		c = MR_EXACT_KINDS * at;
	else
		c = MR_EXACT_KINDS * (j->n_stages - 1 - up / 2) + MR_EXACT_I + up % 2;
	return c * j->n_micro + m;
}

static void make_due(cross *x, uint32_t pass)
{
	uint32_t rank = rank_of(x->job, pass);

	if (pass % x->job->n_micro > x->last_micro || x->due[rank])
		return;
	x->due[rank] = true;
	x->n_due++;
	x->next = rank < x->next ? rank : x->next;
}

/* How many passes of each kind come before @pass on its worker. */
static void count_before(const cross *x, uint32_t pass, uint32_t *n)
{
	const mr_exact_job *j = x->job;
	uint32_t c = pass / j->n_micro, m = pass % j->n_micro, kind = c % MR_EXACT_KINDS, cap = j->cap[j->worker[c]];
	uint32_t gone = m >= cap ? m - cap + 1 : 0;

	n[MR_EXACT_F] = kind == MR_EXACT_F ? m : m + 1;
	n[MR_EXACT_I] = kind == MR_EXACT_F ? gone : kind == MR_EXACT_I ? m : m + 1;
	n[MR_EXACT_W] = kind == MR_EXACT_W ? m : gone;
	for (uint32_t k = 0; k < x->n_trials; k++) {
		uint32_t first = x->trial[k].first, then = x->trial[k].then, at = first / j->n_micro % MR_EXACT_KINDS;

		if (first / j->n_micro / MR_EXACT_KINDS != c / MR_EXACT_KINDS)
			continue;
		if ((pass == then || n[then / j->n_micro % MR_EXACT_KINDS] > then % j->n_micro) &&
		    n[at] <= first % j->n_micro)
			n[at] = first % j->n_micro + 1;
	}
}

/* The earliest begin behind the first @n passes of each kind on the worker of @stage. */
static int64_t begin_behind(const cross *x, uint32_t stage, uint32_t *n)
{
	const mr_exact_job *j = x->job;
	int64_t done = 0, best = 0, first = INT64_MAX;

	for (uint32_t looked = 0; looked < LOOK_BACK; looked++) {
		uint32_t take = 0;
		int64_t latest = -1;

		for (uint32_t k = 0; k < MR_EXACT_KINDS; k++) {
			uint32_t c = MR_EXACT_KINDS * stage + k;
			int64_t head = n[k] ? x->head[c * j->n_micro + n[k] - 1] : -1;

			if (head > latest) {
				latest = head;
				take = k;
			}
		}
		if (latest < 0)
			break;
		n[take]--;
		first = latest < first ? latest : first; /* heads that are still due may be out of order */
		done += j->work[MR_EXACT_KINDS * stage + take];
		best = first + done > best ? first + done : best;
	}
	return best;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t end_of(const cross *x, uint32_t pass)
{
	return x->head[pass] + x->job->work[pass / x->job->n_micro];
}

static int64_t head_of(const cross *x, uint32_t pass)
{
	const mr_exact_job *j = x->job;
	const mr_exact_edges *e = &j->needs[pass];
	uint32_t n[MR_EXACT_KINDS];
	int64_t t;

	count_before(x, pass, n);
	t = begin_behind(x, pass / j->n_micro / MR_EXACT_KINDS, n);
	if (pass % j->n_micro)
		t = later(t, end_of(x, pass - 1));
	for (uint32_t k = 0; k < x->n_trials; k++)
		if (x->trial[k].then == pass)
			t = later(t, end_of(x, x->trial[k].first));
	for (uint32_t k = 0; k < e->n; k++)
		t = later(t, end_of(x, e->at[k].pass) + e->at[k].lag);
	return t;
}

/* The head of @pass becomes @to, and is undone with the trail. */
static void raise(cross *x, uint32_t pass, int64_t to)
{
	const mr_exact_job *j = x->job;
	const mr_exact_edges *e = &j->feeds[pass];
	uint32_t c = pass / j->n_micro, m = pass % j->n_micro, behind = m + j->cap[j->worker[c]];

	if (x->n_trail == x->most_trail) {
		raised *more = realloc(x->trail, 2 * x->most_trail * sizeof(*more));

		x->failed = x->failed || !more;
		if (!more)
			return;
		x->trail = more;
		x->most_trail *= 2;
	}
	x->trail[x->n_trail++] = (raised){pass, x->head[pass]};
	x->head[pass] = to;
	if (m + 1 < j->n_micro)
		make_due(x, pass + 1);
	for (uint32_t k = 0; k < e->n; k++)
		make_due(x, e->at[k].pass);
	c -= c % MR_EXACT_KINDS;
	for (uint32_t k = 0; k < 2 && pass / j->n_micro != c && behind + k < j->n_micro; k++)
		make_due(x, c * j->n_micro + behind + k);
	for (uint32_t k = 0; k < x->n_trials; k++)
		if (x->trial[k].first / j->n_micro == pass / j->n_micro && x->trial[k].first >= pass)
			make_due(x, x->trial[k].then);
}

static void follow(cross *x)
{
	while (x->n_due) {
		uint32_t rank = x->next++, pass = pass_of(x->job, rank);
		int64_t t;

		if (!x->due[rank])
			continue;
		x->due[rank] = false;
		x->n_due--;
		t = head_of(x, pass);
		if (t > x->head[pass])
			raise(x, pass, t);
	}
	x->next = MR_EXACT_NOWHERE;
}

static void undo(cross *x, size_t to)
{
	while (x->n_trail > to) {
		x->n_trail--;
		x->head[x->trail[x->n_trail].pass] = x->trail[x->n_trail].head;
	}
}

/* --- trials --- */

static void try_crossings(cross *x, uint32_t micro, uint32_t depth);

static void begin_trial(cross *x, uint32_t first, uint32_t then, uint32_t micro, uint32_t depth)
{
	x->trial[x->n_trials++] = (order){first, then};
	make_due(x, then);
	follow(x);
	if (depth > 1)
		try_crossings(x, micro, depth - 1);
}

/* Raise heads to those that they have with @a before @b and with @b before @a. */
static void try_pair(cross *x, uint32_t a, uint32_t b, uint32_t micro, uint32_t depth)
{
	raised *found = x->found[depth - 1];
	size_t trail = x->n_trail;
	uint32_t n = 0;

	begin_trial(x, a, b, micro, depth);
	x->n_seen++;
	for (size_t k = x->n_trail; k-- > trail;) {
		uint32_t pass = x->trail[k].pass;

		if (x->seen[pass] != x->n_seen)
			found[n++] = (raised){pass, x->head[pass]};
		x->seen[pass] = x->n_seen;
	}
	undo(x, trail);
	x->n_trials--;
	if (!n)
		return;
	begin_trial(x, b, a, micro, depth);
	for (uint32_t k = 0; k < n; k++)
		if (x->head[found[k].pass] < found[k].head)
			found[k].head = x->head[found[k].pass];
	undo(x, trail);
	x->n_trials--;
	for (uint32_t k = 0; k < n; k++)
		if (found[k].head > x->head[found[k].pass])
			raise(x, found[k].pass, found[k].head);
	follow(x);
}

/* Try the crossings of @micro and those close behind it. */
static void try_crossings(cross *x, uint32_t micro, uint32_t depth)
{
	const mr_exact_job *j = x->job;

	for (uint32_t up = micro; up < micro + REACH; up++)
		for (uint32_t down = up + 1; down <= micro + REACH && down < j->n_micro; down++)
			for (uint32_t s = j->n_stages; s-- > 0;) {
				uint32_t f = MR_EXACT_KINDS * s, i = f + MR_EXACT_I;
				uint32_t a = i * j->n_micro + up, b = f * j->n_micro + down;

				if (down - up < j->cap[j->worker[f]] && x->head[a] < end_of(x, b) &&
				    x->head[b] < end_of(x, a))
					try_pair(x, a, b, micro, depth);
			}
}

/* Micro-batch after micro-batch; how far begins are followed goes along. */
static void raise_all(cross *x)
{
	const mr_exact_job *j = x->job;
	uint32_t reached = 0;

	for (uint32_t m = 0; m < j->n_micro; m++) {
		x->last_micro = m + j->cap[0] + BEYOND;
		for (; reached < j->n_micro && reached <= x->last_micro; reached++)
			for (uint32_t c = 0; c < j->n_chains; c++)
				make_due(x, c * j->n_micro + reached);
		follow(x);
		try_crossings(x, m, DEPTH);
		x->n_trail = 0;
	}
}

mr_status mr_exact_cross(const mr_exact_job *job, int64_t *head)
{
	cross x = {.job = job, .head = head, .next = MR_EXACT_NOWHERE};
	size_t n = job->n_passes;
	bool got;

	if (job->n_stages != job->n_workers)
		return MR_OK;
	x.due = calloc(n, sizeof(*x.due));
	x.seen = calloc(n, sizeof(*x.seen));
	x.most_trail = n;
	x.trail = calloc(n, sizeof(*x.trail));
	got = x.due && x.seen && x.trail;
	for (uint32_t k = 0; k < DEPTH; k++) {
		x.found[k] = calloc(n, sizeof(*x.found[k]));
		got = got && x.found[k];
	}
	if (got)
		raise_all(&x);
	for (uint32_t k = 0; k < DEPTH; k++)
		free(x.found[k]);
	free(x.trail);
	free(x.seen);
	free(x.due);
	if (got && !x.failed)
		return MR_OK;
	return mr_fail(MR_ERESOURCE, "no memory to bound an order of %u passes", job->n_passes);
}
