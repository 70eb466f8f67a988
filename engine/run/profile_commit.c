#include "run/profile_commit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/stats.h"
#include "base/str.h"
#include "host/clock.h"
#include "host/group.h"
#include "run/replicas.h"

#define LEAST_ROUNDS 5u
#define MOST_ROUNDS 64u
#define LEARNING_RATE 1e-12 /* the weights stay where they are */

static const mr_average mean = {.rule = MR_AVERAGE_MEAN, .every = 1};

/* What all have in common. */
typedef struct yard {
	const mr_run_config *c;
	mr_stage *stage;
	uint32_t n;          /* workers: as many pipes, and as many replicas */
	mr_block *shared;    /* stepped in ranges, a share a worker */
	mr_block *own;       /* [n] replicas */
	mr_share *share;     /* [2 n] first those of `shared` */
	mr_replicas replicas;
	double seconds;
	uint64_t end;        /* mr_clock_ns after which no further round begins */
	_Atomic uint32_t arrived; /* at barriers, so far */
	_Atomic bool stop;   /* somebody has failed, or the time is up */
} yard;

/* One worker. */
typedef struct party {
	yard *y;
	uint32_t id, n_barriers;
	mr_group *group;
	mr_region region;
	mr_kctx *kc;
	double step[MOST_ROUNDS], average[MOST_ROUNDS];
	uint32_t n_rounds;
	mr_status status;
	char text[1024];
} party;

static double seconds_since(uint64_t begin)
{
	return (double)(mr_clock_ns() - begin) * 1e-9;
}

/* Wait until all are here. Release and acquire: what each has written before, all see behind. False: somebody has failed. */
static bool meet(party *p)
{
	yard *y = p->y;

	atomic_fetch_add_explicit(&y->arrived, 1, memory_order_acq_rel);
	p->n_barriers++;
	while (atomic_load_explicit(&y->arrived, memory_order_acquire) < p->n_barriers * y->n)
		if (atomic_load_explicit(&y->stop, memory_order_relaxed))
			return false;
	return true;
}

static int64_t n_elements(const yard *y)
{
	return (int64_t)(mr_stage_size(y->stage)->weight_bytes / mr_dtype_bytes(y->c->kernels->dtype));
}

static double read_weights(const party *p, const mr_block *b, uint32_t pipe)
{
	uint64_t begin = mr_clock_ns();
	volatile double sum = p->y->c->kernels->sumsq(p->kc, n_elements(p->y), mr_block_weights(b, (uint8_t)pipe, b->latest));

	(void)sum;
	return seconds_since(begin);
}

/* As micro-batches leave the caches: the weights read, a gradient written. */
static void work(const party *p, mr_block *b, uint32_t pipe)
{
	const void *weights = mr_block_weights(b, (uint8_t)pipe, b->latest);

	p->y->c->kernels->sum(p->kc, n_elements(p->y), weights, weights, b->share[pipe].grads);
}

static mr_status step_together(party *p, double *seconds)
{
	yard *y = p->y;
	mr_block *b = y->shared;
	double after;
	uint64_t begin;

	work(p, b, p->id);
	if (!meet(p))
		return MR_OK;
	mr_block_reduce(b, (uint8_t)p->id, p->kc, NULL);
	if (!meet(p))
		return MR_OK;
	begin = mr_clock_ns();
	MR_TRY(mr_block_step(b, (uint8_t)p->id, p->kc, y->c->optim, LEARNING_RATE, 1));
	*seconds = seconds_since(begin);
	if (mr_block_last_of(&b->n_stepped, y->n))
		mr_block_committed(b);
	if (!meet(p))
		return MR_OK;
	after = read_weights(p, b, p->id);
	after -= read_weights(p, b, p->id);
	*seconds += after > 0 ? after : 0;
	return MR_OK;
}

static mr_status average_together(party *p, double *seconds)
{
	yard *y = p->y;
	mr_block *b = &y->own[p->id];
	uint64_t begin;

	work(p, b, 0);
	MR_TRY(mr_block_step(b, 0, p->kc, y->c->optim, LEARNING_RATE, 1));
	mr_block_committed(b);
	if (!meet(p))
		return MR_OK;
	begin = mr_clock_ns();
	mr_replicas_average(&y->replicas, p->id, b->latest + 1);
	*seconds = seconds_since(begin);
	if (!meet(p))
		return MR_OK;
	mr_block_committed(b);
	return MR_OK;
}

/* The first decides for all whether there is time for one more round. */
static bool go_on(party *p)
{
	yard *y = p->y;

	if (p->id == 0 && p->n_rounds >= LEAST_ROUNDS && (p->n_rounds == MOST_ROUNDS || mr_clock_ns() > y->end))
		atomic_store_explicit(&y->stop, true, memory_order_relaxed);
	return meet(p) && !atomic_load_explicit(&y->stop, memory_order_relaxed);
}

static void layout(party *p, mr_arena *a)
{
	mr_block_layout(p->y->shared, a, (uint8_t)p->id, p->y->c->optim);
	mr_block_layout(&p->y->own[p->id], a, 0, p->y->c->optim);
}

/* One after the other, on the main thread: blocks take their memory share by share. */
static mr_status map(party *p)
{
	const mr_run_config *c = p->y->c;
	const mr_place_worker *place = &c->place->worker[p->id];
	char need[16], limit[16];
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	layout(p, &a);
	if (c->memory_limit && a.used * p->y->n > c->memory_limit)
		return mr_fail(MR_ERESOURCE, "commits of the largest stage need %s of memory, and %s is the limit",
			       mr_bytes_text(a.used * p->y->n, need), mr_bytes_text(c->memory_limit, limit));
	MR_TRY(mr_region_map(&p->region, a.used, place->bindable ? place->node_os : MR_REGION_ANY_NODE));
	mr_arena_init(&a, p->region.base, p->region.bytes);
	layout(p, &a);
	return MR_OK;
}

static mr_status set_up(party *p)
{
	yard *y = p->y;
	mr_block *own = &y->own[p->id];

	mr_region_prefault(&p->region, 0, p->region.bytes);
	MR_TRY(y->c->kernels->ctx_create(y->c->place->worker[p->id].n_threads, &p->kc));
	if (p->id == 0)
		mr_stage_init_weights(y->stage, y->c->seed, mr_block_weights(y->shared, 0, 0));
	mr_stage_init_weights(y->stage, y->c->seed, mr_block_weights(own, 0, 0));
	return MR_OK;
}

static mr_status measure(party *p)
{
	MR_TRY(set_up(p));
	while (go_on(p)) {
		double step = 0, average = 0;

		MR_TRY(step_together(p, &step));
		MR_TRY(average_together(p, &average));
		p->step[p->n_rounds] = step;
		p->average[p->n_rounds++] = average;
	}
	return MR_OK;
}

static void thread(void *arg)
{
	party *p = arg;

	p->status = measure(p);
	if (p->status != MR_OK) {
		snprintf(p->text, sizeof(p->text), "%s", mr_error_text());
		atomic_store_explicit(&p->y->stop, true, memory_order_relaxed);
	}
	p->y->c->kernels->ctx_destroy(p->kc);
}

/* --- all of them --- */

static void open_block(const yard *y, mr_block *b, mr_share *share, uint32_t n_shares)
{
	b->stage = y->stage;
	b->k = y->c->kernels;
	b->cap = 1;
	b->share = share;
	b->n_shares = n_shares;
	for (uint32_t i = 0; i < n_shares; i++)
		share[i].need = 1;
	mr_block_cut(b, y->c->optim);
}

static void *zeroed(size_t n, size_t size)
{
	void *p = aligned_alloc(MR_CACHE_LINE, mr_align_up(n * size, MR_CACHE_LINE));

	return p ? memset(p, 0, n * size) : NULL;
}

static mr_status open_yard(yard *y, uint32_t first, uint32_t end)
{
	const mr_run_config *c = y->c;

	MR_TRY(mr_stage_create(c->graph, first, end, c->samples, c->kernels, false, NULL, &y->stage));
	y->shared = zeroed(1, sizeof(*y->shared));
	y->own = zeroed(y->n, sizeof(*y->own));
	y->share = zeroed(2 * (size_t)y->n, sizeof(*y->share));
	if (!y->shared || !y->own || !y->share)
		return mr_fail(MR_ERESOURCE, "no memory for commits of %u workers", y->n);
	open_block(y, y->shared, y->share, y->n);
	for (uint32_t i = 0; i < y->n; i++)
		open_block(y, &y->own[i], &y->share[y->n + i], 1);
	y->replicas = (mr_replicas){.average = &mean, .optim = c->optim, .first = y->own, .n = y->n, .stride = 1};
	return MR_OK;
}

static void close_yard(yard *y)
{
	mr_stage_destroy(y->stage);
	free(y->shared);
	free(y->own);
	free(y->share);
}

/* Of the slowest worker: the others wait for it. */
static double slowest(const yard *y, party *p, bool average)
{
	double most = 0;

	for (uint32_t i = 0; i < y->n; i++) {
		double x = mr_median(average ? p[i].average : p[i].step, p[0].n_rounds);

		most = x > most ? x : most;
	}
	return most;
}

static mr_status run(yard *y, party *p)
{
	mr_status st = MR_OK;
	uint32_t begun = 0;

	for (uint32_t i = 0; st == MR_OK && i < y->n; i++) {
		p[i].y = y;
		p[i].id = i;
		st = map(&p[i]);
	}
	mr_block_join(y->shared);
	y->end = mr_clock_ns() + (uint64_t)(y->seconds * 1e9);
	for (; st == MR_OK && begun < y->n; begun++) {
		char name[16];

		snprintf(name, sizeof(name), "mr-w%u", begun);
		st = mr_group_start(&y->c->place->worker[begun], name, thread, &p[begun], &p[begun].group);
		if (st != MR_OK)
			break;
	}
	if (st != MR_OK) /* those under way must not wait for the ones that will never come */
		atomic_store_explicit(&y->stop, true, memory_order_relaxed);
	for (uint32_t i = 0; i < begun; i++)
		mr_group_join(p[i].group);
	for (uint32_t i = 0; st == MR_OK && i < begun; i++)
		if (p[i].status != MR_OK)
			st = mr_fail(p[i].status, "commits of worker %u: %s", i, p[i].text);
	for (uint32_t i = 0; i < y->n; i++)
		mr_region_unmap(&p[i].region);
	return st;
}

/* The stage with the largest weights, of those that need no other to be made. */
static uint16_t largest(const mr_run_config *c)
{
	uint16_t n_stages = c->partition->n_stages, best = 0;
	int64_t most = -1;

	if (mr_graph_ties(c->graph) && n_stages > 1)
		n_stages--;
	for (uint16_t s = 0; s < n_stages; s++) {
		int64_t n = 0;

		for (uint32_t p = 0; p < c->graph->n_params; p++)
			if (c->graph->params[p].tied_to < 0 && mr_partition_stage(c->partition, c->graph->params[p].node) == s)
				n += c->graph->params[p].n;
		if (n > most) {
			most = n;
			best = s;
		}
	}
	return best;
}

mr_status mr_profile_commits(const mr_run_config *c, double seconds, mr_commit_rates *out)
{
	yard y = {.c = c, .n = c->place->n_workers, .seconds = seconds};
	uint16_t s = largest(c);
	party *p;
	mr_status st;

	*out = (mr_commit_rates){0};
	if (y.n < 2)
		return MR_OK;
	p = calloc(y.n, sizeof(*p));
	st = p ? open_yard(&y, c->partition->first[s], c->partition->first[s + 1])
	       : mr_fail(MR_ERESOURCE, "no memory for commits of %u workers", y.n);
	if (st == MR_OK)
		st = run(&y, p);
	if (st == MR_OK && n_elements(&y)) {
		double bytes = (double)mr_stage_size(y.stage)->weight_bytes;

		out->shared_s = slowest(&y, p, false) * y.n / bytes;
		out->average_s = slowest(&y, p, true) * y.n / (bytes * mr_replicas_passes(&mean, y.n, 0));
	}
	close_yard(&y);
	free(p);
	return st;
}
