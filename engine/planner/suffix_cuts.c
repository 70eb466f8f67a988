#include "planner/suffix_cuts.h"

#include <math.h>
#include <stdlib.h>

#define FAST (MR_CUTS / 2)
#define SAME 1e-12 /* sums of equal numbers in another order */

/* A suffix: a first stage, and one of the suffixes behind it. */
typedef struct suffix {
	double time, squares, bytes;
	mr_cut_option option; /* of its first stage */
	uint32_t end, replicas;
	uint32_t next;        /* which of the suffixes that begin at @end */
} suffix;

/* Of one state: the fastest, then those with less memory than all faster ones, by time. */
typedef struct kept {
	suffix fast[FAST], small[MR_CUTS - FAST];
	uint32_t n_fast, n_small;
} kept;

typedef struct solver {
	const mr_cut_question *q;
	kept *at; /* [n_places + 1][n_workers + 1] */
} solver;

static kept *kept_at(const solver *s, uint32_t place, uint32_t left)
{
	return &s->at[(size_t)place * (s->q->n_workers + 1) + left];
}

static const suffix *nth(const kept *k, uint32_t i)
{
	return i < k->n_fast ? &k->fast[i] : &k->small[i - k->n_fast];
}

static bool less(double a, double b)
{
	return a < b * (1 - SAME);
}

/* Strict order by time, evenness, memory. */
static bool is_faster(const suffix *a, const suffix *b)
{
	if (less(a->time, b->time) || less(b->time, a->time))
		return a->time < b->time;
	if (less(a->squares, b->squares) || less(b->squares, a->squares))
		return a->squares < b->squares;
	return less(a->bytes, b->bytes);
}

/* Keep @x among those with little memory: each has less than the faster ones. */
static void offer_small(kept *k, const suffix *x)
{
	const uint32_t room = MR_CUTS - FAST;
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->n_fast; i++)
		if (k->fast[i].bytes <= x->bytes)
			return;
	for (uint32_t i = 0; i < k->n_small; i++)
		if (k->small[i].bytes <= x->bytes && !is_faster(x, &k->small[i]))
			return;
	for (uint32_t i = 0; i < k->n_small; i++) /* out with those that it beats in both */
		if (is_faster(&k->small[i], x) || k->small[i].bytes < x->bytes)
			k->small[n++] = k->small[i];
	k->n_small = n;
	if (n == room) { /* the smallest stays; of the others the one goes whose memory is nearest to its neighbour's */
		uint32_t out = 0;
		double nearest = INFINITY;

		for (uint32_t i = 0; i + 1 < n; i++)
			if (k->small[i].bytes / k->small[i + 1].bytes < nearest) {
				nearest = k->small[i].bytes / k->small[i + 1].bytes;
				out = i;
			}
		for (uint32_t i = out; i + 1 < n; i++)
			k->small[i] = k->small[i + 1];
		k->n_small = --n;
	}
	for (; n && is_faster(x, &k->small[n - 1]); n--)
		k->small[n] = k->small[n - 1];
	k->small[n] = *x;
	k->n_small++;
}

/* The entries of small that a new fast one beats in memory too have no place any more. */
static void drop_beaten(kept *k)
{
	double least = INFINITY;
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->n_fast; i++)
		least = fmin(least, k->fast[i].bytes);
	for (uint32_t i = 0; i < k->n_small; i++)
		if (k->small[i].bytes < least)
			k->small[n++] = k->small[i];
	k->n_small = n;
}

static void offer(kept *k, const suffix *x)
{
	uint32_t n = k->n_fast;
	suffix out;

	if (n == FAST && !is_faster(x, &k->fast[n - 1])) {
		offer_small(k, x);
		return;
	}
	out = k->fast[FAST - 1];
	for (n = n < FAST ? n : FAST - 1; n && is_faster(x, &k->fast[n - 1]); n--)
		k->fast[n] = k->fast[n - 1];
	k->fast[n] = *x;
	if (k->n_fast < FAST) {
		k->n_fast++;
		drop_beaten(k);
		return;
	}
	drop_beaten(k);
	offer_small(k, &out);
}

static double least_bytes(const kept *k)
{
	double least = k->n_small ? k->small[k->n_small - 1].bytes : INFINITY;

	for (uint32_t i = 0; i < k->n_fast; i++)
		least = fmin(least, k->fast[i].bytes);
	return least;
}

/* All suffixes whose first stage is @g. Returns whether a longer stage may still be kept. */
static bool extend(solver *s, kept *k, const mr_cut_stage *g)
{
	const kept *rest = kept_at(s, g->end, g->left - g->replicas);
	mr_cut_option option[MR_CUT_OPTIONS];
	uint32_t n = s->q->options(s->q->arg, g, option);
	bool useful = false;

	for (uint32_t o = 0; o < n; o++) {
		useful |= k->n_fast < FAST || option[o].time < k->fast[FAST - 1].time ||
			  option[o].bytes * g->replicas < least_bytes(k);
		for (uint32_t i = 0; i < rest->n_fast + rest->n_small; i++) {
			const suffix *r = nth(rest, i);
			suffix x = {.time = fmax(option[o].time, r->time),
				    .squares = option[o].time * option[o].time * g->replicas + r->squares,
				    .bytes = option[o].bytes * g->replicas + r->bytes,
				    .option = option[o],
				    .end = g->end,
				    .replicas = g->replicas,
				    .next = i};

			offer(k, &x);
		}
	}
	return useful;
}

static void solve(solver *s)
{
	const mr_cut_question *q = s->q;

	kept_at(s, q->n_places, 0)->fast[0] = (suffix){0};
	kept_at(s, q->n_places, 0)->n_fast = 1;
	for (uint32_t first = q->n_places; first-- > 0;)
		for (uint32_t left = first ? 1 : q->n_workers; left <= q->n_workers; left++) {
			kept *k = kept_at(s, first, left);

			if (!first && left != q->n_workers)
				continue;
			for (uint32_t r = 1; r <= left && r <= q->most_replicas; r++)
				for (uint32_t end = first + 1; end <= q->n_places; end++) {
					mr_cut_stage g = {first, end, q->n_workers - left, r, left};

					if (!extend(s, k, &g))
						break;
				}
		}
}

static mr_status take(const solver *s, uint32_t i, mr_cut *out)
{
	const suffix *x = nth(kept_at(s, 0, s->q->n_workers), i);
	uint32_t place = 0, left = s->q->n_workers, n = 0;

	*out = (mr_cut){.time = x->time, .bytes = x->bytes, .part = calloc(s->q->n_places, sizeof(*out->part))};
	if (!out->part)
		return mr_fail(MR_ERESOURCE, "no memory for a cut of %u places", s->q->n_places);
	for (; left; x = nth(kept_at(s, place, left), n)) {
		out->part[out->n_parts++] = (mr_cut_part){place, x->replicas, x->option};
		place = x->end;
		left -= x->replicas;
		n = x->next;
	}
	return MR_OK;
}

mr_status mr_suffix_cuts(const mr_cut_question *q, mr_cuts *out)
{
	solver s = {.q = q, .at = calloc(((size_t)q->n_places + 1) * (q->n_workers + 1), sizeof(*s.at))};
	mr_status st = MR_OK;
	const kept *whole;

	*out = (mr_cuts){0};
	if (!s.at)
		return mr_fail(MR_ERESOURCE, "no memory to cut %u places for %u workers", q->n_places, q->n_workers);
	solve(&s);
	whole = kept_at(&s, 0, q->n_workers);
	for (uint32_t i = 0; st == MR_OK && i < whole->n_fast + whole->n_small; i++)
		st = take(&s, i, &out->cut[out->n++]);
	free(s.at);
	return st;
}

void mr_cuts_fini(mr_cuts *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->cut[i].part);
	*c = (mr_cuts){0};
}
