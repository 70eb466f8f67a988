#include "checkpoint/state_copy.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "host/pin.h"
#include "host/stream_copy.h"
#include "nn/element.h"

#define STATE_BLOCK ((uint64_t)256 << 10)
#define MOST_THREADS 64           /* a few for each memory controller saturate it */
#define THREAD_BLOCKS 8           /* fewer are not worth a thread's start */
#define PAGE ((uint64_t)4096)     /* copies of lists begin on pages: what is written past the page cache has to */

/* A part of a tensor. */
typedef struct block {
	const uint8_t *from;
	uint8_t *to;             /* NULL: it is only measured */
	uint64_t bytes;
	mr_dtype dtype;
	bool measured;
	double squares;
	const mr_saved_tensor *of;
} block;

/* The blocks of a list: [first, end) of all. */
typedef struct range {
	uint64_t first, end;
} range;

typedef struct mr_state_copying {
	mr_state *state;
	uint8_t *to;
	block *block;
	uint64_t *first;  /* [tensors of all lists] the first block of each */
	range list[3];
	uint32_t n_threads;
	const mr_place *place;
} copying;

typedef struct copier {
	copying *c;
	uint32_t id;
	pthread_t thread;
} copier;

static uint64_t padded(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint64_t list_bytes(const mr_state_list *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->n; i++)
		sum += l->at[i].bytes;
	return padded(sum);
}

uint64_t mr_state_copy_bytes(const mr_state *st)
{
	return list_bytes(&st->model) + list_bytes(&st->optimizer) + list_bytes(&st->inflight);
}

/* --- a block --- */

/* Eight sums, so that additions need not wait for each other. */
static double squares_of_floats(const float *x, uint64_t n)
{
	double sum[8] = {0};
	uint64_t i = 0;

	for (; i + 8 <= n; i += 8)
		for (int k = 0; k < 8; k++)
			sum[k] += (double)x[i + (uint64_t)k] * (double)x[i + (uint64_t)k];
	for (; i < n; i++)
		sum[0] += (double)x[i] * (double)x[i];
	return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static double squares_of(const block *b)
{
	uint64_t n = b->bytes / mr_dtype_bytes(b->dtype);
	double sum = 0;

	if (b->dtype == MR_F32)
		return squares_of_floats((const float *)(const void *)b->from, n);
	for (uint64_t i = 0; i < n; i++) {
		double x = mr_element(b->dtype, b->from, (int64_t)i);

		sum += x * x;
	}
	return sum;
}

/* What is measured is still in the core's caches when it is copied. */
static void handle(block *b)
{
	if (b->measured)
		b->squares = squares_of(b);
	if (b->to)
		mr_stream_copy(b->to, b->from, b->bytes);
}

static void *copy_ranges(void *arg)
{
	const copier *me = arg;
	copying *c = me->c;

	for (int l = 0; l < 3; l++) {
		uint64_t first = c->list[l].first, n = c->list[l].end - first;

		for (uint64_t i = first + n * me->id / c->n_threads; i < first + n * (me->id + 1) / c->n_threads; i++)
			handle(&c->block[i]);
	}
	return NULL;
}

/* --- threads --- */

/* The CPU of thread @id of @n, which are spread over all cores of the workers; false: it is not pinned. */
static bool cpu_of(const mr_place *p, uint32_t id, uint32_t n, uint32_t *cpu)
{
	uint32_t n_cpus = 0, want;

	for (uint32_t w = 0; w < p->n_workers; w++)
		n_cpus += p->worker[w].n_threads;
	want = (uint32_t)((uint64_t)n_cpus * id / n);
	if (!p->bindable || !n_cpus)
		return false;
	for (uint32_t w = 0; w < p->n_workers; w++) {
		if (want < p->worker[w].n_threads) {
			*cpu = p->worker[w].cpu[want];
			return true;
		}
		want -= p->worker[w].n_threads;
	}
	return false;
}

static void *thread(void *arg)
{
	copier *me = arg;
	uint32_t cpu;

	if (cpu_of(me->c->place, me->id, me->c->n_threads, &cpu))
		(void)mr_pin(&cpu, 1); /* not allowed: then it runs where it may */
	return copy_ranges(arg);
}

static uint32_t threads_for(const mr_place *p, uint64_t n_blocks)
{
	uint64_t n = n_blocks / THREAD_BLOCKS < p->n_cores_used ? n_blocks / THREAD_BLOCKS : p->n_cores_used;

	n = n < MOST_THREADS ? n : MOST_THREADS;
	return n ? (uint32_t)n : 1;
}

/* Carry out @c. Ranges whose thread cannot be started are the caller's. */
static void copy_all(copying *c)
{
	copier of[MOST_THREADS];
	bool started[MOST_THREADS] = {false};
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* only the main thread handles signals */
	for (uint32_t i = 0; i < c->n_threads; i++) {
		of[i] = (copier){.c = c, .id = i};
		started[i] = c->n_threads > 1 && !pthread_create(&of[i].thread, NULL, thread, &of[i]);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	for (uint32_t i = 0; i < c->n_threads; i++)
		if (!started[i])
			copy_ranges(&of[i]);
	for (uint32_t i = 0; i < c->n_threads; i++)
		if (started[i])
			pthread_join(of[i].thread, NULL);
}

/* --- the whole --- */

/* Append the blocks of list @l, whose tensors are copied to @to, one behind the other, if that is not NULL. */
static uint64_t cut(const mr_state_list *l, bool measured, uint8_t *to, block *out, uint64_t n)
{
	for (size_t i = 0; i < l->n; i++) {
		const mr_saved_tensor *t = &l->at[i];

		for (uint64_t at = 0; at < t->bytes; at += STATE_BLOCK) {
			uint64_t bytes = t->bytes - at < STATE_BLOCK ? t->bytes - at : STATE_BLOCK;

			out[n++] = (block){.from = (const uint8_t *)t->data + at, .to = to ? to + at : NULL,
					   .bytes = bytes, .dtype = t->dtype, .measured = measured, .of = t};
		}
		to = to ? to + t->bytes : NULL;
	}
	return n;
}

static uint64_t count(const mr_state_list *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += (l->at[i].bytes + STATE_BLOCK - 1) / STATE_BLOCK;
	return n;
}

static void point_into(mr_state_list *l, uint8_t *to)
{
	for (size_t i = 0; i < l->n; i++) {
		l->at[i].data = to;
		to += l->at[i].bytes;
	}
}

/* The square of a number in f64 may be infinite where the number is not. */
static bool is_finite(const block *b)
{
	if (isfinite(b->squares))
		return true;
	for (uint64_t i = 0; i < b->bytes / mr_dtype_bytes(b->dtype); i++)
		if (!isfinite(mr_element(b->dtype, b->to ? b->to : b->from, (int64_t)i)))
			return false;
	return true;
}

/* The blocks of the first @n_lists lists of @c->state. */
static mr_status make_blocks(copying *c, int n_lists)
{
	mr_state *st = c->state;
	mr_state_list *list[3] = {&st->model, &st->optimizer, &st->inflight};
	uint8_t *at = c->to;
	uint64_t n = 0;

	for (int l = 0; l < n_lists; l++)
		n += count(list[l]);
	c->block = malloc((n + 1) * sizeof(*c->block));
	if (!c->block)
		return mr_fail(MR_ERESOURCE, "no memory for a list of %llu blocks of tensors", (unsigned long long)n);
	n = 0;
	for (int l = 0; l < n_lists; l++) {
		c->list[l].first = n;
		c->list[l].end = n = cut(list[l], l == 0, at, c->block, n);
		at = at ? at + list_bytes(list[l]) : NULL;
	}
	return MR_OK;
}

/* All blocks are done: what was measured, and the lists point into the copy, if there is one. */
static void finish(copying *c, double *squares, const mr_saved_tensor **bad)
{
	mr_state_list *list[3] = {&c->state->model, &c->state->optimizer, &c->state->inflight};
	uint8_t *at = c->to;

	*squares = 0;
	*bad = NULL;
	for (uint64_t i = 0; i < c->list[0].end; i++) {
		*squares += c->block[i].squares;
		if (!*bad && !is_finite(&c->block[i]))
			*bad = c->block[i].of;
	}
	free(c->block);
	c->block = NULL;
	for (int l = 0; at && l < 3; l++) {
		point_into(list[l], at);
		at += list_bytes(list[l]);
	}
}

mr_status mr_state_copy(mr_state *st, const mr_place *place, void *to, double *squares, const mr_saved_tensor **bad)
{
	copying c = {.state = st, .to = to, .place = place};
	int n_lists = to ? 3 : 1;

	MR_TRY(make_blocks(&c, n_lists));
	c.n_threads = threads_for(place, c.list[n_lists - 1].end);
	copy_all(&c);
	finish(&c, squares, bad);
	return MR_OK;
}

/* --- tensor by tensor --- */

mr_status mr_state_copying_begin(mr_state *st, void *to, mr_state_copying **out)
{
	const mr_state_list *list[3] = {&st->model, &st->optimizer, &st->inflight};
	size_t n_tensors = list[0]->n + list[1]->n + list[2]->n, k = 0;
	copying *c = calloc(1, sizeof(*c));
	uint64_t n = 0;

	*out = NULL;
	if (c) {
		*c = (copying){.state = st, .to = to, .first = calloc(n_tensors + 1, sizeof(*c->first))};
		if (c->first && make_blocks(c, 3) == MR_OK)
			*out = c;
	}
	if (!*out) {
		mr_state_copying_drop(c);
		return mr_fail(MR_ERESOURCE, "no memory to copy %zu tensors", n_tensors);
	}
	for (int l = 0; l < 3; l++)
		for (size_t i = 0; i < list[l]->n; i++) {
			c->first[k++] = n;
			n += (list[l]->at[i].bytes + STATE_BLOCK - 1) / STATE_BLOCK;
		}
	return MR_OK;
}

/* Blocks [@lo, @hi) of a tensor. */
static void handle_range(const void *args, int64_t lo, int64_t hi)
{
	block *const *first = args;

	for (int64_t i = lo; i < hi; i++)
		handle(&(*first)[i]);
}

void mr_state_copying_copy(void *arg, int list, size_t i, const mr_kernels *k, mr_kctx *kc)
{
	copying *c = arg;
	const mr_state_list *l[3] = {&c->state->model, &c->state->optimizer, &c->state->inflight};
	const mr_saved_tensor *t = &l[list]->at[i];
	block *first = &c->block[c->first[i + (list > 0 ? l[0]->n : 0) + (list > 1 ? l[1]->n : 0)]];
	int64_t n = (int64_t)((t->bytes + STATE_BLOCK - 1) / STATE_BLOCK);
	mr_ranges_args all = {.n = n, .weight = (int64_t)STATE_BLOCK, .fn = handle_range, .args = &first};

	for (int64_t b = 0; b < n; b++)
		first[b].from = (const uint8_t *)t->data + (uint64_t)b * STATE_BLOCK;
	if (!kc || n < 2 || k->ranges(kc, &all) != MR_OK)
		handle_range(&first, 0, n);
}

void mr_state_copying_end(mr_state_copying *c, double *squares, const mr_saved_tensor **bad)
{
	finish(c, squares, bad);
	mr_state_copying_drop(c);
}

void mr_state_copying_drop(mr_state_copying *c)
{
	if (!c)
		return;
	free(c->block);
	free(c->first);
	free(c);
}
