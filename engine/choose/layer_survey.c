#include "choose/layer_survey.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "host/clock.h"
#include "profile/profile.h"
#include "session/lone_profile.h"

#define FEWER_THREADS 8u /* a shape this many times as large is not far from the next one: three doublings */
#define FEWER_SAMPLES 4u
#define MOST_SHAPES 32u
#define ROUNDS 3u
#define ENOUGH_S 3.0 /* no further round is begun after this long */

/* A team and its micro-batches, and what was measured of them. */
typedef struct shape {
	uint32_t threads, n_micro, n_rounds;
	mr_lone_profile round[ROUNDS];
} shape;

/* Does @k have each layer of @s with just these samples and threads? */
static bool has_all(mr_kept_layers *k, const mr_session *s, int64_t samples, uint32_t threads)
{
	mr_workload of = mr_session_workload(s);
	mr_kept_layer l;

	of.samples = samples;
	for (uint32_t i = 0; i < s->graph->n_nodes; i++)
		if (!mr_kept_layers_find(k, &of, i, threads, &l) || l.samples != samples || l.threads != threads)
			return false;
	return true;
}

/* The largest number of samples up to @most that divides @batch. */
static int64_t part_of(int64_t batch, int64_t most)
{
	int64_t part = most < 1 ? 1 : most > batch ? batch : most;

	while (batch % part)
		part--;
	return part;
}

/* Those of a batch of @batch samples that @k does not have, into @at; returns how many. */
static uint32_t shapes_of(const mr_session *s, int64_t batch, mr_kept_layers *k, shape at[MOST_SHAPES])
{
	uint32_t cores = s->topo.n_usable, n = 0;

	for (uint32_t threads = cores; threads; threads = threads > 1 && threads < FEWER_THREADS ? 1
							  : threads / FEWER_THREADS) {
		int64_t whole = part_of(batch, batch * threads / cores), few = part_of(batch, whole / FEWER_SAMPLES);

		for (int64_t samples = whole; samples; samples = samples > few ? few : 0)
			if (n < MOST_SHAPES && !has_all(k, s, samples, threads))
				at[n++] = (shape){.threads = threads, .n_micro = (uint32_t)(batch / samples)};
	}
	return n;
}

static void measure(shape *h, const mr_session *s, double seconds)
{
	mr_lone_profile *p = &h->round[h->n_rounds];

	if (mr_lone_profile_measure(s, h->threads, h->n_micro, MR_PROFILE_BRIEF, seconds, p) == MR_OK)
		h->n_rounds++;
	else
		mr_lone_profile_fini(p);
}

static double *pass_of(mr_stage_cost *c, uint32_t pass)
{
	double *const of[] = {&c->f, &c->i, &c->w, &c->u};

	return of[pass];
}

/* The medians of the rounds become the times of the first one. */
static void join(shape *h, uint32_t n_layers)
{
	for (uint32_t i = 0; i < n_layers; i++)
		for (uint32_t pass = 0; pass < 4; pass++) {
			double seconds[ROUNDS] = {0};

			for (uint32_t r = 0; r < h->n_rounds && r < ROUNDS; r++)
				seconds[r] = *pass_of(&h->round[r].costs.layer[i], pass);
			*pass_of(&h->round[0].costs.layer[i], pass) = mr_median(seconds, h->n_rounds);
		}
	for (uint32_t r = 1; r < h->n_rounds; r++)
		h->round[0].worst = fmin(h->round[0].worst, h->round[r].worst);
}

/* Add what was measured of @h to @k, and to what is kept for later where nothing disturbed it. */
static mr_status add(shape *h, mr_kept_layers *k)
{
	mr_workload of = mr_session_workload(&h->round[0].at);
	uint32_t ignored;

	join(h, of.graph->n_nodes);
	if (h->round[0].worst <= MR_PROFILE_DISTURBED) /* without a folder for caches nothing is kept */
		(void)!mr_kept_layers_store(&of, &h->round[0].costs, false, &ignored);
	return mr_kept_layers_add(k, &of, &h->round[0].costs);
}

void mr_layer_survey(const mr_session *s, int64_t batch, double seconds, mr_kept_layers *k, uint32_t *n)
{
	shape *at = calloc(MOST_SHAPES, sizeof(*at));
	uint32_t n_shapes = at ? shapes_of(s, batch, k, at) : 0;
	uint64_t begin = mr_clock_ns();

	*n = 0;
	for (uint32_t round = 0; round < ROUNDS && (double)(mr_clock_ns() - begin) / 1e9 < ENOUGH_S; round++)
		for (uint32_t i = 0; i < n_shapes; i++)
			if (at[i].n_rounds == round)
				measure(&at[i], s, seconds / ROUNDS);
	for (uint32_t i = 0; i < n_shapes; i++) {
		*n += at[i].n_rounds && add(&at[i], k) == MR_OK;
		for (uint32_t round = 0; round < at[i].n_rounds; round++)
			mr_lone_profile_fini(&at[i].round[round]);
	}
	free(at);
}
