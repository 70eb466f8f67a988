/*
 * kernels.c - what each kernel costs in one training step of a small character GPT, and where the step's time goes.
 *
 *	kernels [rows [threads [backend [width [heads]]]]]      defaults: 2048 1 auto 128 4
 *
 * 4 layers, context 128, vocabulary 65, AdamW. Each kernel runs alone on warm buffers; a row is the best of many runs
 * (the machine may be shared), in thread CPU time with one thread and in wall time with more. "peak" is of a
 * multiply-add loop timed right before (clocks of shared machines move by a third), times the threads; "a step"
 * multiplies by how often a step calls the kernel. With threads, run it with OMP_WAIT_POLICY=passive unless the machine
 * is yours alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nn/kernels.h"

enum { LAYERS = 4, CONTEXT = 128, VOCAB = 65 };

typedef struct bench {
	const mr_kernels *k;
	mr_kctx *kc;
	int64_t rows, c, heads, params;
	clockid_t clock;
	uint32_t threads;
	float *x, *y, *z, *qkv, *wide, *aux, *w, *g, *m, *v, *stats;
	int32_t *tokens;
	void *saved, *scratch;
	double total, total_gemm, flops;    /* of a step: seconds, seconds in gemm, floating-point operations */
	double possible;                    /* operations at the peak of each kernel's moment in that time */
} bench;

typedef struct kernel_case {
	const char *name;
	int calls;                          /* a step */
	double flops;                       /* a call; 0: no figure */
	double bytes;                       /* a call, read and written; 0: no figure */
	mr_gemm gemm;                       /* m = 0: not a product */
	void (*run)(bench *b);
} kernel_case;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(mr_status st)
{
	if (st != MR_OK) {
		fprintf(stderr, "kernels: %s\n", mr_error_text());
		exit(1);
	}
}

/* --- the roof: independent multiply-adds, enough of them to hide their latency ------------------------------------ */

#define FMA_ROUNDS 50000
#ifdef __x86_64__
#define IN_REGISTER(a) __asm__ volatile("" : "+x"(a))
#else
#define IN_REGISTER(a) __asm__ volatile("" : "+w"(a))
#endif

#define FMA_LOOP(type)                                                                    \
	type acc[12], a = {0.999f}, b = {1e-3f};                                          \
	for (int i = 0; i < 12; i++)                                                      \
		acc[i] = a * (float)i;                                                    \
	for (int r = 0; r < FMA_ROUNDS; r++) {                                            \
		_Pragma("GCC unroll 12") for (int i = 0; i < 12; i++) acc[i] = fma_of(acc[i], a, b); \
		IN_REGISTER(a);                                                           \
	}                                                                                 \
	for (int i = 1; i < 12; i++)                                                      \
		acc[0] += acc[i];                                                         \
	return acc[0][0]

#ifdef __x86_64__
typedef float lanes16 __attribute__((vector_size(64)));
typedef float lanes8 __attribute__((vector_size(32)));

#define fma_of(x, a, b) ((lanes16)__builtin_ia32_vfmaddps512_mask((x), (a), (b), (unsigned short)-1, 4))
static __attribute__((target("avx512f"))) float fma_avx512(void)
{
	FMA_LOOP(lanes16);
}
#undef fma_of

#define fma_of(x, a, b) ((lanes8)__builtin_ia32_vfmaddps256((x), (a), (b)))
static __attribute__((target("avx2,fma"))) float fma_avx2(void)
{
	FMA_LOOP(lanes8);
}
#undef fma_of
#else
typedef float lanes4 __attribute__((vector_size(16)));

#define fma_of(x, a, b) ((x) * (a) + (b)) /* which GCC fuses */
static float fma_plain(void)
{
	FMA_LOOP(lanes4);
}
#undef fma_of
#endif

static double fma_peak(clockid_t clock)
{
#ifdef __x86_64__
	bool wide = strstr(mr_kernels_library(), "AVX-512") != NULL;
	float (*run)(void) = wide ? fma_avx512 : fma_avx2;
	int lanes = wide ? 16 : 8;
#else
	float (*run)(void) = fma_plain;
	int lanes = 4;
#endif
	double best = 1e9;
	volatile float sink;

	for (int i = 0; i < 10; i++) {
		double t = now(clock);

		sink = run();
		t = now(clock) - t;
		best = t < best ? t : best;
	}
	(void)sink;
	return lanes * 2.0 * 12 * FMA_ROUNDS / best;
}

/* --- kernels of a step that are not products ---------------------------------------------------------------------- */

static mr_attn attn_of(const bench *b)
{
	return (mr_attn){.samples = b->rows / CONTEXT, .t = CONTEXT, .heads = b->heads, .dim = b->c / b->heads};
}

static void run_attn(bench *b)
{
	mr_attn a = attn_of(b);

	check(b->k->attn(b->kc, &(mr_attn_args){.a = &a, .qkv = b->qkv, .y = b->y, .saved = b->saved,
						.scratch = b->scratch}));
}

static void run_attn_backward(bench *b)
{
	mr_attn a = attn_of(b);

	check(b->k->attn_backward(b->kc, &(mr_attn_backward_args){.a = &a, .qkv = b->qkv, .saved = b->saved, .dy = b->y,
								  .dqkv = b->wide, .scratch = b->scratch}));
}

static void run_gelu_backward(bench *b)
{
	check(b->k->act_backward(b->kc, &(mr_act_backward_args){.act = MR_ACT_GELU, .n = b->rows * 4 * b->c,
								.aux = b->aux, .dy = b->wide, .dz = b->wide}));
}

static void run_norm(bench *b)
{
	check(b->k->norm(b->kc, &(mr_norm_args){.rows = b->rows, .cols = b->c, .eps = 1e-5, .x = b->x, .gain = b->w,
						.shift = b->w, .y = b->y, .mean = b->stats,
						.rstd = b->stats + b->rows}));
}

static void run_norm_i(bench *b)
{
	check(b->k->norm_backward_input(b->kc, &(mr_norm_backward_input_args){.rows = b->rows, .cols = b->c, .x = b->x,
									      .gain = b->w, .mean = b->stats,
									      .rstd = b->stats + b->rows, .dy = b->y,
									      .dx = b->z, .add = true}));
}

static void run_norm_w(bench *b)
{
	check(b->k->norm_backward_weight(b->kc, &(mr_norm_backward_weight_args){.rows = b->rows, .cols = b->c,
										.x = b->x, .mean = b->stats,
										.rstd = b->stats + b->rows, .dy = b->y,
										.dgain = b->g, .dshift = b->m}));
}

static void run_colsum(bench *b)
{
	check(b->k->colsum(b->kc, &(mr_colsum_args){.rows = b->rows, .cols = 4 * b->c, .x = b->wide, .y = b->g}));
}

static void run_sum(bench *b)
{
	check(b->k->sum(b->kc, &(mr_sum_args){.n = b->rows * b->c, .a = b->x, .b = b->y, .y = b->z}));
}

static void run_dropout(bench *b)
{
	mr_mask_key key = {.seed = 1, .layer = 2};

	check(b->k->dropout(b->kc, &(mr_dropout_args){.samples = b->rows / CONTEXT, .per_sample = CONTEXT * b->c,
						      .rate = 0.1, .key = &key, .x = b->x, .y = b->z}));
}

static void run_embed(bench *b)
{
	check(b->k->embed(b->kc, &(mr_embed_args){.rows = b->rows, .t = CONTEXT, .cols = b->c, .vocab = VOCAB,
						  .tokens = b->tokens, .wte = b->w, .wpe = b->w, .y = b->z}));
}

static void run_embed_backward(bench *b)
{
	check(b->k->embed_backward(b->kc, &(mr_embed_backward_args){.rows = b->rows, .t = CONTEXT, .cols = b->c,
								    .vocab = VOCAB, .tokens = b->tokens, .dy = b->x,
								    .dwte = b->g, .dwpe = b->m}));
}

static void run_xent(bench *b)
{
	double loss;

	check(b->k->xent(b->kc, &(mr_xent_args){.rows = b->rows, .classes = VOCAB, .logits = b->z, .targets = b->tokens,
						.loss = &loss}));
}

static void run_adam(bench *b)
{
	mr_step s = {.kind = MR_STEP_ADAM, .src = b->w, .dst = b->w, .m = b->m, .v = b->v, .gscale = 1, .lr = 1e-4,
		     .decay = 1e-6, .b1 = 0.9, .b2 = 0.999, .eps = 1e-8, .c1 = 0.5, .c2 = 0.5};

	check(b->k->step(b->kc, &(mr_step_args){.n = b->params, .s = &s, .g = b->g}));
}

/* Two copies of all parameters. */
static void mix(bench *b, mr_averaging_kind kind)
{
	void *x[2] = {b->w, b->g};
	mr_averaging m = {.kind = kind, .n = 2, .src = (const void *const *)x, .dst = x, .reference = b->m,
			  .mean = b->v, .alpha = 0.5};

	check(b->k->mix(b->kc, &(mr_mix_args){.n = b->params, .m = &m}));
}

static void run_mean(bench *b)
{
	mix(b, MR_AVERAGING_MEAN);
}

static void run_pull(bench *b)
{
	mix(b, MR_AVERAGING_PULL);
}

static void run_sumsq(bench *b)
{
	double sum;

	check(b->k->sumsq(b->kc, &(mr_sumsq_args){.n = b->params, .x = b->g, .sum = &sum}));
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static void run_once(bench *b, const kernel_case *c)
{
	const mr_gemm *g = &c->gemm;

	if (!g->m)
		c->run(b);
	else
		check(b->k->gemm(b->kc, &(mr_gemm_args){.g = g, .a = b->qkv, .b = b->w, .bias = g->bias ? b->v : NULL,
							.c = b->wide, .aux = g->act == MR_ACT_GELU ? b->aux : NULL}));
}

/* Best of what fits into 60 ms, at least 5. */
static double seconds(bench *b, const kernel_case *c)
{
	double best = 1e9, spent = 0;

	run_once(b, c);
	for (int i = 0; i < 5 || (spent < 0.06 && i < 1000); i++) {
		double t = now(b->clock);

		run_once(b, c);
		t = now(b->clock) - t;
		spent += t;
		best = t < best ? t : best;
	}
	return best;
}

static void measure(bench *b, const kernel_case *c)
{
	const mr_gemm *g = &c->gemm;
	double flops = g->m ? 2.0 * (double)g->m * (double)g->n * (double)g->k : c->flops;
	double peak = b->threads * fma_peak(b->clock), t = seconds(b, c);

	printf("%-26s %4d %9.1f", c->name, c->calls, 1e6 * t);
	if (flops > 0)
		printf(" %8.1f %6.0f%%", 1e-9 * flops / t, 100 * flops / t / peak);
	else
		printf(" %8s %7s", "", "");
	if (c->bytes > 0)
		printf(" %7.1f", 1e-9 * c->bytes / t);
	printf("\n");
	b->total += c->calls * t;
	b->total_gemm += g->m ? c->calls * t : 0;
	b->flops += c->calls * flops;
	b->possible += c->calls * t * peak;
}

static void measure_all(bench *b)
{
	int64_t r = b->rows, c = b->c, c3 = 3 * c, c4 = 4 * c, f = (int64_t)sizeof(float);
	double n = (double)(r * c), bytes = n * (double)f;
	double attn = 2.0 * n * CONTEXT; /* two products over half of a square */
	const kernel_case cases[] = {
		{"F qkv", LAYERS, .gemm = {.m = r, .n = c3, .k = c, .bias = true}},
		{"F proj", LAYERS, .gemm = {.m = r, .n = c, .k = c, .bias = true}},
		{"F up + gelu", LAYERS, .gemm = {.m = r, .n = c4, .k = c, .bias = true, .act = MR_ACT_GELU}},
		{"F down", LAYERS, .gemm = {.m = r, .n = c, .k = c4, .bias = true}},
		{"F head", 1, .gemm = {.m = r, .n = VOCAB, .k = c}},
		{"I qkv", LAYERS, .gemm = {.m = r, .n = c, .k = c3, .tb = true}},
		{"I proj", LAYERS, .gemm = {.m = r, .n = c, .k = c, .tb = true}},
		{"I up", LAYERS, .gemm = {.m = r, .n = c, .k = c4, .tb = true}},
		{"I down", LAYERS, .gemm = {.m = r, .n = c4, .k = c, .tb = true}},
		{"I head", 1, .gemm = {.m = r, .n = c, .k = VOCAB, .tb = true}},
		{"W qkv", LAYERS, .gemm = {.m = c, .n = c3, .k = r, .ta = true, .colsum_b = b->g}},
		{"W proj", LAYERS, .gemm = {.m = c, .n = c, .k = r, .ta = true, .colsum_b = b->g}},
		{"W up", LAYERS, .gemm = {.m = c, .n = c4, .k = r, .ta = true, .colsum_b = b->g}},
		{"W down", LAYERS, .gemm = {.m = c4, .n = c, .k = r, .ta = true, .colsum_b = b->g}},
		{"W head", 1, .gemm = {.m = c, .n = VOCAB, .k = r, .ta = true}},
		{"W up, add", 0, .gemm = {.m = c, .n = c4, .k = r, .ta = true, .add = true}},
		{"F up + relu", 0, .gemm = {.m = r, .n = c4, .k = c, .bias = true, .act = MR_ACT_RELU}},
		{"F up, no act", 0, .gemm = {.m = r, .n = c4, .k = c, .bias = true}},
		{"attention F", LAYERS, .flops = attn, .run = run_attn},
		{"attention B", LAYERS, .flops = 2 * attn, .run = run_attn_backward},
		{"gelu backward", LAYERS, .bytes = 12 * bytes, .run = run_gelu_backward},
		{"norm F", 2 * LAYERS + 1, .bytes = 2 * bytes, .run = run_norm},
		{"norm I, add", 2 * LAYERS + 1, .bytes = 4 * bytes, .run = run_norm_i},
		{"norm W", 2 * LAYERS + 1, .bytes = 2 * bytes, .run = run_norm_w},
		{"colsum 4C", 0, .bytes = 4 * bytes, .run = run_colsum},
		{"sum", 2 * LAYERS, .bytes = 3 * bytes, .run = run_sum},
		{"dropout", 0, .bytes = 2 * bytes, .run = run_dropout},
		{"embed", 1, .bytes = 2 * bytes, .run = run_embed},
		{"embed backward", 1, .bytes = bytes, .run = run_embed_backward},
		{"xent", 1, .bytes = 2.0 * (double)(r * VOCAB * f), .run = run_xent},
		{"adam", 1, .bytes = 7.0 * (double)(b->params * f), .run = run_adam},
		{"mean of 2", 0, .bytes = 4.0 * (double)(b->params * f), .run = run_mean},
		{"pull of 2", 0, .bytes = 8.0 * (double)(b->params * f), .run = run_pull},
		{"sumsq", 0, .bytes = (double)(b->params * f), .run = run_sumsq},
	};

	printf("%-26s %4s %9s %8s %7s %7s\n", "kernel", "n", "us", "GFLOP/s", "peak", "GB/s");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		measure(b, &cases[i]);
}

static float *numbers(int64_t n)
{
	float *p = aligned_alloc(64, (size_t)(n * 4 + 63) / 64 * 64);

	if (!p)
		exit(1);
	for (int64_t i = 0; i < n; i++)
		p[i] = (float)((i * 2654435761u >> 8) % 2001) * 1e-3f - 1.0f;
	return p;
}

static void make_buffers(bench *b)
{
	int64_t n = b->rows * b->c;
	mr_attn a = attn_of(b);
	mr_saved saved = {0};

	b->params = LAYERS * (12 * b->c * b->c + 13 * b->c) + (VOCAB + CONTEXT) * b->c;
	b->x = numbers(n), b->y = numbers(n), b->z = numbers(n > b->rows * VOCAB ? n : b->rows * VOCAB);
	b->qkv = numbers(4 * n), b->wide = numbers(4 * n), b->aux = numbers(4 * n), b->stats = numbers(2 * b->rows);
	b->w = numbers(b->params > 4 * n ? b->params : 4 * n); /* also the widest right operand */
	b->g = numbers(b->params), b->m = numbers(b->params), b->v = numbers(b->params);
	for (int64_t i = 0; i < b->params; i++)
		b->v[i] = fabsf(b->v[i]);
	b->tokens = malloc((size_t)b->rows * sizeof(int32_t));
	b->k->attn_saved(&a, &saved);
	b->saved = malloc(saved.bytes);
	b->scratch = malloc(b->k->attn_scratch_bytes(&a) + 1);
	if (!b->tokens || !b->saved || !b->scratch)
		exit(1);
	for (int64_t i = 0; i < b->rows; i++)
		b->tokens[i] = (int32_t)(i * 37 % VOCAB);
}

static void free_buffers(bench *b)
{
	free(b->x), free(b->y), free(b->z), free(b->qkv), free(b->wide), free(b->aux), free(b->stats);
	free(b->w), free(b->g), free(b->m), free(b->v), free(b->tokens), free(b->saved), free(b->scratch);
}

int main(int argc, char **argv)
{
	bench b = {.rows = argc > 1 ? atol(argv[1]) : 2048, .c = argc > 4 ? atol(argv[4]) : 128,
		   .heads = argc > 5 ? atol(argv[5]) : 4};
	uint32_t threads = argc > 2 ? (uint32_t)atol(argv[2]) : 1;

	b.k = mr_kernels_find(argc > 3 ? argv[3] : "auto", MR_F32);
	if (!b.k || b.rows < CONTEXT || b.rows % CONTEXT || threads < 1 || b.heads < 1 || b.c % b.heads) {
		fprintf(stderr, "kernels: %s\n",
			b.k ? "rows must be a multiple of 128, width of heads" : mr_error_text());
		return 2;
	}
	check(b.k->ctx_create(b.k, threads, &b.kc));
	b.clock = threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	make_buffers(&b);
	b.threads = threads;
	printf("%s, %s, %lld rows, width %lld, %lld heads, %u threads, peak %.1f GFLOP/s\n", b.k->name,
	       mr_kernels_library(),
	       (long long)b.rows, (long long)b.c, (long long)b.heads, threads, 1e-9 * threads * fma_peak(b.clock));
	measure_all(&b);
	printf("a step: %.2f ms, of it gemm %.0f%% (with bias and activation), %.1f GFLOP/s, %.0f%% of peak\n",
	       1e3 * b.total, 100 * b.total_gemm / b.total, 1e-9 * b.flops / b.total, 100 * b.flops / b.possible);
	b.k->ctx_destroy(b.kc);
	free_buffers(&b);
	return 0;
}
