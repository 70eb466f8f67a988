/* test_suffix_cuts.c - the cuts of the suffix programme against every cut there is. */
#include "planner/suffix_cuts.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "check.h"

#define MOST_PLACES 6u
#define MOST_WORKERS 5u
#define SAME 1e-9

/* A made-up model: work, weights and activations of each place, on nodes of two workers. */
typedef struct problem {
	double time[MOST_PLACES], weights[MOST_PLACES], kept[MOST_PLACES], room;
	uint32_t n, workers, most_replicas;
} problem;

static double draw(uint64_t seed, uint32_t i, uint32_t most)
{
	return floor(mr_rng_uniform(seed, MR_RNG_JITTER, i, 0, 0) * most);
}

static problem problem_of(uint64_t seed)
{
	problem p = {.n = 2 + (uint32_t)draw(seed, 1, MOST_PLACES - 1),
		     .workers = 1 + (uint32_t)draw(seed, 2, MOST_WORKERS),
		     .most_replicas = 1 + (uint32_t)draw(seed, 3, 3)};

	for (uint32_t i = 0; i < p.n; i++) {
		p.time[i] = 1 + draw(seed, 10 + i, 9);
		p.weights[i] = draw(seed, 20 + i, 9);
		p.kept[i] = 1 + draw(seed, 30 + i, 9);
	}
	p.room = draw(seed, 4, 2) > 0 ? 20 + draw(seed, 5, 60) : INFINITY;
	return p;
}

static uint32_t options(void *arg, const mr_cut_stage *g, mr_cut_option *out)
{
	const problem *p = arg;
	double time = 0, weights = 0, kept = 0, flight = ceil((double)g->left / g->replicas);
	uint32_t n = 0;

	for (uint32_t i = g->first; i < g->end; i++) {
		time += p->time[i];
		weights += p->weights[i];
		kept += p->kept[i];
	}
	for (int again = 0; again < 2; again++) {
		mr_cut_option o = {.time = time * (again ? 1.3 : 1) / g->replicas + (g->worker == 2 ? 1 : 0),
				   .bytes = 2 * weights + (again ? kept + flight : kept * flight),
				   .recompute = again};

		if (o.bytes <= p->room && !(n && o.bytes >= out[0].bytes))
			out[n++] = o;
	}
	return n;
}

/* Times and memories of all cuts, in no order. */
typedef struct all {
	double time[20000], bytes[20000];
	uint32_t n;
} all;

static void list(const problem *p, uint32_t first, uint32_t left, double time, double bytes, all *out)
{
	if (first == p->n || !left) {
		if (first == p->n && !left && out->n < 20000) {
			out->time[out->n] = time;
			out->bytes[out->n++] = bytes;
		}
		return;
	}
	for (uint32_t r = 1; r <= left && r <= p->most_replicas; r++)
		for (uint32_t end = first + 1; end <= p->n; end++) {
			mr_cut_stage g = {first, end, p->workers - left, r, left};
			mr_cut_option o[MR_CUT_OPTIONS];
			uint32_t n = options((void *)p, &g, o);

			for (uint32_t k = 0; k < n; k++)
				list(p, end, left - r, fmax(time, o[k].time), bytes + r * o[k].bytes, out);
		}
}

static int ascending(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* A cut is what it says: it uses all workers, and its time and memory are those of its stages. */
static void adds_up(const problem *p, const mr_cut *c)
{
	uint32_t worker = 0;
	double time = 0, bytes = 0;

	CU_ASSERT_EQUAL(c->part[0].first, 0);
	for (uint32_t i = 0; i < c->n_parts; i++) {
		const mr_cut_part *x = &c->part[i];
		mr_cut_stage g = {x->first, i + 1 < c->n_parts ? c->part[i + 1].first : p->n, worker, x->replicas,
				  p->workers - worker};
		mr_cut_option o[MR_CUT_OPTIONS];
		uint32_t n = options((void *)p, &g, o), k = 0;

		while (k < n && o[k].recompute != x->option.recompute)
			k++;
		CU_ASSERT_FATAL(k < n);
		time = fmax(time, o[k].time);
		bytes += o[k].bytes * x->replicas;
		worker += x->replicas;
	}
	CU_ASSERT_EQUAL(worker, p->workers);
	CU_ASSERT_DOUBLE_EQUAL(time, c->time, SAME);
	CU_ASSERT_DOUBLE_EQUAL(bytes, c->bytes, SAME);
}

static void equals_all_cuts(void)
{
	static all every;
	uint32_t none = 0, several = 0;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		problem p = problem_of(seed);
		mr_cut_question q = {p.n, p.workers, p.most_replicas, options, &p};
		double least = INFINITY, found = INFINITY;
		mr_cuts cuts;

		every.n = 0;
		list(&p, 0, p.workers, 0, 0, &every);
		MR_CHECK_OK(mr_suffix_cuts(&q, &cuts));
		CU_ASSERT_EQUAL(cuts.n == 0, every.n == 0);
		none += cuts.n == 0;
		several += cuts.n > 4;
		for (uint32_t i = 0; i < every.n; i++)
			least = fmin(least, every.bytes[i]);
		qsort(every.time, every.n, sizeof(*every.time), ascending);
		for (uint32_t i = 0; i < cuts.n; i++) {
			adds_up(&p, &cuts.cut[i]);
			found = fmin(found, cuts.cut[i].bytes);
			if (i < MR_CUTS / 2)
				CU_ASSERT_DOUBLE_EQUAL(cuts.cut[i].time, every.time[i], SAME);
		}
		CU_ASSERT(every.n == 0 || fabs(found - least) <= SAME);
		mr_cuts_fini(&cuts);
	}
	CU_ASSERT(none > 50 && none < 1500 && several > 100);
}

void mr_suite_suffix_cuts(void);
void mr_suite_suffix_cuts(void)
{
	MR_SUITE("suffix_cuts");
	MR_TEST(equals_all_cuts);
}
