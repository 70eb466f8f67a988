#include "perf/steps/attention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "host/clock.h"
#include "host/group.h"
#include "nn/element.h"

struct mr_attention {
	mr_attn a;
	const mr_kernels *k;
	mr_place place; /* of one worker */
	void *qkv, *y, *dy, *dqkv, *saved, *scratch;
	/* Of the burst in hand. */
	int warm, steps;
	double ms;
	mr_status st;
	char error[512];
};

static void *room(size_t bytes)
{
	size_t lines = (bytes + 63) / 64 + 1;
	void *p = aligned_alloc(64, lines * 64);

	if (p)
		memset(p, 0, lines * 64);
	return p;
}

static mr_status allocate(mr_attention *x)
{
	size_t each = mr_dtype_bytes(x->k->types.activations);
	int64_t n = x->a.samples * x->a.t * x->a.heads * x->a.dim;
	mr_saved saved = {0};

	x->k->attn_saved(&x->a, &saved);
	x->qkv = room(3 * (size_t)n * each);
	x->dqkv = room(3 * (size_t)n * each);
	x->y = room((size_t)n * each);
	x->dy = room((size_t)n * each);
	x->saved = room(saved.bytes);
	x->scratch = room(x->k->attn_scratch_bytes(&x->a));
	if (!x->qkv || !x->dqkv || !x->y || !x->dy || !x->saved || !x->scratch)
		return mr_fail(MR_ERESOURCE, "no memory for attention over %lld positions", (long long)x->a.t);
	for (int64_t i = 0; i < 3 * n; i++) {
		double u = (double)mr_rng_u32(1, MR_RNG_TEST, 0, 0, (uint64_t)i) / 2147483648.0 - 1;

		mr_element_put(x->k->types.activations, x->qkv, i, u);
		if (i < n)
			mr_element_put(x->k->types.activations, x->dy, i, u);
	}
	return MR_OK;
}

mr_status mr_attention_open(const mr_attn *a, const char *backend, mr_dtype dtype, const mr_topo *t, int threads,
			    mr_attention **out)
{
	mr_attention *x = calloc(1, sizeof(*x));
	uint32_t n = (uint32_t)threads;
	mr_place_params p;
	mr_status st;

	if (!x)
		return mr_fail(MR_ERESOURCE, "no memory for attention");
	x->a = *a;
	x->k = mr_kernels_find(backend, dtype);
	mr_place_defaults(&p, 1);
	p.n_threads = &n;
	st = !x->k ? MR_ECONFIG : mr_place_init(&x->place, t, &p);
	if (st == MR_OK)
		st = allocate(x);
	if (st != MR_OK) {
		mr_attention_close(x);
		return st;
	}
	*out = x;
	return MR_OK;
}

void mr_attention_close(mr_attention *x)
{
	if (!x)
		return;
	free(x->qkv), free(x->dqkv), free(x->y), free(x->dy), free(x->saved), free(x->scratch);
	mr_place_fini(&x->place);
	free(x);
}

static mr_status steps(mr_attention *x, mr_kctx *kc, int n)
{
	for (int i = 0; i < n; i++) {
		MR_TRY(x->k->attn(kc, &(mr_attn_args){.a = &x->a, .qkv = x->qkv, .y = x->y, .saved = x->saved,
						      .scratch = x->scratch}));
		MR_TRY(x->k->attn_backward(kc, &(mr_attn_backward_args){.a = &x->a, .qkv = x->qkv, .saved = x->saved,
									.dy = x->dy, .dqkv = x->dqkv,
									.scratch = x->scratch}));
	}
	return MR_OK;
}

static mr_status run(mr_attention *x)
{
	mr_kctx *kc;
	mr_status st;

	MR_TRY(x->k->ctx_create(x->k, x->place.worker[0].n_threads, &kc));
	st = steps(x, kc, x->warm);
	if (st == MR_OK) {
		uint64_t begin = mr_clock_ns();

		st = steps(x, kc, x->steps);
		x->ms = (double)(mr_clock_ns() - begin) / 1e6 / x->steps;
	}
	x->k->ctx_destroy(kc);
	return st;
}

static void leader(void *arg)
{
	mr_attention *x = arg;

	x->st = run(x);
	if (x->st != MR_OK)
		snprintf(x->error, sizeof(x->error), "%s", mr_error_text());
}

mr_status mr_attention_burst(mr_attention *x, int warm, int n, double *ms)
{
	mr_group *g;

	x->warm = warm;
	x->steps = n;
	MR_TRY(mr_group_start(&x->place.worker[0], "mr-attention", leader, x, &g));
	mr_group_join(g);
	*ms = x->ms;
	return x->st == MR_OK ? MR_OK : mr_fail(x->st, "%s", x->error);
}

double mr_attention_flops(const mr_attn *a)
{
	double product = (double)a->t * (double)a->t * (double)a->dim; /* 2 t t dim over half of a square */

	return 6 * product * (double)(a->samples * a->heads);
}
