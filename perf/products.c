/*
 * products.c - the products of training, in f32 and in bf16, by several backends in turns.
 *
 *	products [threads [rows ...]]        defaults: 1, and 32 128 256 1024
 *
 * For each pair of widths of a layer: F, x W with a bias; I, dz W^T; W, x^T dz that AdamW consumes. Each figure is the
 * best of some turns, in which every contender computes once: GFLOP/s, and behind it how many times the first
 * contender's. With threads, run it with OMP_WAIT_POLICY=passive unless the machine is yours alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nn/bf16.h"
#include "nn/kernels.h"

enum { N_CONTENDERS = 3, TURNS = 25 };

typedef struct contender {
	const char *name, *backend;
	mr_dtype dtype;
	const mr_kernels *k; /* NULL: not on this machine */
	mr_kctx *kc;
	void *x, *w, *dz, *bias, *y, *dx;
	float *c;
	double best[3];
} contender;

static int16_t *rest;
static float *m, *v;

static uint32_t threads = 1;

/* One thread by its own clock, which others do not delay. */
static double now(void)
{
	struct timespec t;

	clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(mr_status st)
{
	if (st != MR_OK) {
		fprintf(stderr, "products: %s\n", mr_error_text());
		exit(1);
	}
}

static void *room(int64_t n, size_t bytes)
{
	void *p = aligned_alloc(64, ((size_t)n * bytes + 63) / 64 * 64);

	if (!p)
		exit(1);
	return memset(p, 0, (size_t)n * bytes);
}

static void *numbers(const contender *c, int64_t n)
{
	size_t bytes = mr_dtype_bytes(c->k->types.weights);
	char *p = room(n, bytes);

	for (int64_t i = 0; i < n; i++) {
		float x = (float)((i * 2654435761u >> 8) % 2001) * 1e-3f - 1.0f;

		if (bytes == 2)
			((uint16_t *)(void *)p)[i] = mr_bf16_round(x);
		else
			((float *)(void *)p)[i] = x;
	}
	return p;
}

static void once(contender *c, int what, int64_t rows, int64_t in, int64_t out)
{
	mr_gemm f = {.m = rows, .n = out, .k = in, .bias = true};
	mr_gemm i = {.m = rows, .n = in, .k = out, .tb = true};
	mr_gemm w = {.of = MR_GEMM_GRADIENTS, .m = in, .n = out, .k = rows, .ta = true};
	mr_step s = {.kind = MR_STEP_ADAM, .src = c->w, .dst = c->w, .m = m, .v = v, .gscale = 1, .lr = 1e-6,
		     .decay = 1e-9, .b1 = 0.9, .b2 = 0.999, .eps = 1e-8, .c1 = 0.5, .c2 = 0.5};
	double t = now();

	s.src_rest = s.dst_rest = c->dtype == MR_BF16 ? rest : NULL;
	if (what == 0)
		check(c->k->gemm(c->kc, &(mr_gemm_args){.g = &f, .a = c->x, .b = c->w, .bias = c->bias, .c = c->y}));
	else if (what == 1)
		check(c->k->gemm(c->kc, &(mr_gemm_args){.g = &i, .a = c->dz, .b = c->w, .c = c->dx}));
	else
		check(c->k->gemm_step(c->kc, &(mr_gemm_step_args){.g = &w, .a = c->x, .b = c->dz, .c = c->c, .s = &s}));
	t = now() - t;
	c->best[what] = c->best[what] > 0 && c->best[what] < t ? c->best[what] : t;
}

static void measure(contender *all, int64_t rows, int64_t in, int64_t out)
{
	static const char what_is[] = "FIW";

	for (int c = 0; c < N_CONTENDERS; c++) {
		contender *x = &all[c];

		if (!x->k)
			continue;
		x->x = numbers(x, rows * in), x->w = numbers(x, in * out), x->dz = numbers(x, rows * out);
		x->bias = numbers(x, out), x->y = numbers(x, rows * out), x->dx = numbers(x, rows * in);
		x->c = room(in * out, sizeof(float));
		memset(x->best, 0, sizeof(x->best));
	}
	rest = room(in * out, sizeof(*rest));
	m = room(in * out, sizeof(*m));
	v = room(in * out, sizeof(*v));
	for (int what = 0; what < 3; what++) {
		printf("%5lld rows, %5lld -> %5lld  %c", (long long)rows, (long long)in, (long long)out, what_is[what]);
		for (int t = 0; t < TURNS; t++)
			for (int c = 0; c < N_CONTENDERS; c++)
				if (all[c].k)
					once(&all[c], what, rows, in, out);
		for (int c = 0; c < N_CONTENDERS; c++)
			if (all[c].k)
				printf("  %8.1f x%-5.2f", 2e-9 * (double)(rows * in * out) / all[c].best[what],
				       all[0].best[what] / all[c].best[what]);
		printf("\n");
		fflush(stdout);
	}
	for (int c = 0; c < N_CONTENDERS; c++) {
		free(all[c].x), free(all[c].w), free(all[c].dz), free(all[c].bias), free(all[c].y), free(all[c].dx);
		free(all[c].c);
	}
	free(rest), free(m), free(v);
}

int main(int argc, char **argv)
{
	static contender all[N_CONTENDERS] = {{.name = "fused f32", .backend = "fused", .dtype = MR_F32},
					      {.name = "fused bf16", .backend = "fused", .dtype = MR_BF16},
					      {.name = "onednn bf16", .backend = "onednn", .dtype = MR_BF16}};
	static const int64_t widths[][2] = {{768, 768}, {768, 3072}, {3072, 768}, {1024, 1024}, {768, 50257}};
	static const int64_t usual[] = {32, 128, 256, 1024};
	int n = argc > 2 ? argc - 2 : 4;

	if (argc > 1)
		threads = (uint32_t)atol(argv[1]);
	for (int c = 0; c < N_CONTENDERS; c++) {
		all[c].k = mr_kernels_find(all[c].backend, all[c].dtype);
		if (all[c].k)
			check(all[c].k->ctx_create(all[c].k, threads, &all[c].kc));
	}
	if (!all[0].k) {
		fprintf(stderr, "products: %s\n", mr_error_text());
		return 2;
	}
	printf("%s, %u threads; GFLOP/s by", mr_kernels_library(), threads);
	for (int c = 0; c < N_CONTENDERS; c++)
		printf("%s %s", c ? "," : "", all[c].name);
	printf("\n");
	for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++)
		for (int r = 0; r < n; r++)
			measure(all, argc > 2 ? atol(argv[2 + r]) : usual[r], widths[w][0], widths[w][1]);
	for (int c = 0; c < N_CONTENDERS; c++)
		if (all[c].k)
			all[c].k->ctx_destroy(all[c].kc);
	return 0;
}
