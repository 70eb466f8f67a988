/*
 * test_operands.c - every operation in every table (backend x precision), with one thread and with two, and with
 * operands that may be absent.
 *
 * The list of kernels_ops.c is compared with the reference of the same precision, and each of its calls is held to the
 * row of its operation (operand_watch.h). A list of this file calls operations
 * with what their contract lets a caller leave out: NULL where it may be NULL, and in place of what the call does not
 * read an address that no program has. Sums of squares are taken by threads at the same time in one context, as a team
 * does; these are threads of POSIX, so a build without OpenMP tries it too. Last, an operation that has no
 * memory: it says so.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels_ops.h"
#include "nn/squares.h"
#include "operand_watch.h"
#include "step_variants.h"

#define MOST_TABLES 13

/* All tables that this machine has, those of the reference first. */
static uint32_t all_tables(const mr_kernels *out[MOST_TABLES])
{
	static const char *const names[] = {"reference", "fused", "onednn", "auto"};
	uint32_t n = 0;

	out[n++] = mr_kernels_find("reference", MR_F64);
	for (int i = 0; i < 4; i++) {
		const mr_kernels *of[] = {mr_kernels_find(names[i], MR_F32), mr_kernels_find(names[i], MR_BF16),
					  mr_kernels_of(names[i], MR_AS_bf16_pure)};

		for (int j = 0; j < 3; j++)
			if (of[j])
				out[n++] = of[j];
	}
	return n;
}

/* The reference in the precision of @k. */
static const mr_kernels *reference_of(const mr_kernels *k)
{
	return mr_kernels_of("reference", mr_types_precision(&k->types));
}

/* In bf16 two backends may round to neighbours, 2^-8 apart, and what follows adds up to a few of these. */
static double tolerance_of(const mr_kernels *k, const op *o)
{
	return k->types.weights == MR_BF16 && o->tolerance < 0.03 ? 0.03 : o->tolerance;
}

/* @o in every table with 1 and 2 threads against the reference with one. */
static void compare(const op *o, const int64_t dim[4], int variant, bool add)
{
	const mr_kernels *all[MOST_TABLES];
	uint32_t n = all_tables(all);

	for (uint32_t i = 0; i < n; i++) {
		outputs want;

		if (!has_op(all[i], o))
			continue;
		want = run_op(o, reference_of(all[i]), 1, dim, variant, add);
		for (uint32_t threads = 1; threads <= 2; threads++) {
			outputs got = run_op(o, all[i], threads, dim, variant, add);
			double d = distance(&got, &want);

			if (!(d <= tolerance_of(all[i], o)))
				fprintf(stderr, "\n%s in %s of %s, %u threads, %lldx%lldx%lld variant %d%s: %g\n",
					o->name, mr_types_name(&all[i]->types), all[i]->name, threads,
					(long long)dim[0], (long long)dim[1], (long long)dim[2], variant,
					add ? " add" : "", d);
			CU_ASSERT(d <= tolerance_of(all[i], o));
			free(got.v);
		}
		free(want.v);
	}
}

static void compare_all(const op *o)
{
	for (int s = 0; s < OP_SHAPES && o->dims[s][0]; s++)
		for (int v = 0; v < o->n_variants; v++)
			for (int add = 0; add <= (v < o->n_adding); add++)
				compare(o, o->dims[s], v, add);
}

/* One shape of each, the smallest that two threads share where there is one. */
static void all_operations_in_all_tables(void)
{
	for (int i = 0; i < n_ops; i++) {
		op one = ops[i];
		int s = 0;

		while (s + 1 < OP_SHAPES && ops[i].dims[s + 1][0] &&
		       ops[i].dims[s][0] * ops[i].dims[s][1] *
				       (ops[i].is_gemm || ops[i].dims[s][2] > 1 ? ops[i].dims[s][2] : 1) < 16384)
			s++;
		memset(one.dims, 0, sizeof(one.dims));
		memcpy(one.dims[0], ops[i].dims[s], sizeof(one.dims[0]));
		compare_all(&one);
	}
}

/* --- absent operands ---------------------------------------------------------------------------------------------- */

/* An operand that a call must not read: reading it raises SIGSEGV. */
#define UNREAD ((void *)(uintptr_t)64)

/* dims m, n, k; variant: none, ReLU; + 2: of gradients */
static void product_alone(const op_case *c)
{
	const mr_kernels *k = c->k;
	bool gradient = c->variant >= 2;
	mr_dtype type = gradient ? k->types.gradients : k->types.activations;
	mr_gemm g = {.of = gradient ? MR_GEMM_GRADIENTS : MR_GEMM_ACTIVATIONS, .m = c->dim[0], .n = c->dim[1],
		     .k = c->dim[2], .ta = gradient, .act = c->variant == 1 ? MR_ACT_RELU : MR_ACT_NONE,
		     .fuse_act_backward_aux = UNREAD};
	void *a = make_input(k, g.m * g.k, 1, -1, 1), *b = make_input(k, g.k * g.n, 2, -1, 1);
	void *y = make_room(type, g.m * g.n);

	MR_CHECK_OK(k->gemm(c->kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .bias = UNREAD, .c = y, .aux = UNREAD}));
	put_of(c->out, type, y, g.m * g.n);
	free(a), free(b), free(y);
}

/* dims m, n, k; variant 1: column sums of B alone, 2: of A alone */
static void one_column_sum(const op_case *c)
{
	const mr_kernels *k = c->k;
	mr_dtype type = k->types.gradients;
	mr_gemm g = {.of = MR_GEMM_GRADIENTS, .m = c->dim[0], .n = c->dim[1], .k = c->dim[2], .ta = true,
		     .add = c->add};
	void *a = make_input(k, g.m * g.k, 1, -1, 1), *b = make_input(k, g.k * g.n, 2, -1, 1);
	void *y = make_room(type, g.m * g.n), *of_a = make_room(type, g.m), *of_b = make_room(type, g.n);

	g.colsum_a = c->variant == 2 ? of_a : NULL;
	g.colsum_b = c->variant == 1 ? of_b : NULL;
	MR_CHECK_OK(k->gemm(c->kc, &(mr_gemm_args){.g = &g, .a = a, .b = b, .c = y}));
	put_of(c->out, type, y, g.m * g.n);
	put_of(c->out, type, of_a, g.m);
	put_of(c->out, type, of_b, g.n);
	free(a), free(b), free(y), free(of_a), free(of_b);
}

/* dims rows, cols; variant 1: backward in its halves */
static void norm_without_mean(const op_case *c)
{
	const mr_kernels *k = c->k;
	int64_t rows = c->dim[0], cols = c->dim[1], n = rows * cols;
	mr_dtype compute = k->types.compute, gradient = k->types.gradients;
	void *x = make_input(k, n, 1, -1, 3), *gain = make_input(k, cols, 2, 0, 2), *dy = make_input(k, n, 3, -1, 1);
	void *y = make_output(k, n), *rstd = make_room(compute, rows), *dx = make_output(k, n);
	void *dgain = make_room(gradient, cols);

	MR_CHECK_OK(k->norm(c->kc, &(mr_norm_args){.rows = rows, .cols = cols, .eps = 1e-5, .x = x, .gain = gain,
						   .y = y, .rstd = rstd}));
	if (c->variant) {
		MR_CHECK_OK(k->norm_backward_input(
			c->kc, &(mr_norm_backward_input_args){.rows = rows, .cols = cols, .x = x, .gain = gain,
							      .rstd = rstd, .dy = dy, .dx = dx, .add = c->add}));
		MR_CHECK_OK(k->norm_backward_weight(
			c->kc, &(mr_norm_backward_weight_args){.rows = rows, .cols = cols, .x = x, .rstd = rstd,
							       .dy = dy, .dgain = dgain, .add_weight = c->add}));
	} else {
		MR_CHECK_OK(k->norm_backward(c->kc, &(mr_norm_backward_args){.rows = rows, .cols = cols, .x = x,
									     .gain = gain, .rstd = rstd, .dy = dy,
									     .dx = dx, .add = c->add, .dgain = dgain,
									     .add_weight = c->add}));
	}
	put(c->out, k, y, n);
	put_of(c->out, compute, rstd, rows);
	put(c->out, k, dx, n);
	put_of(c->out, gradient, dgain, cols);
	free(x), free(gain), free(dy), free(y), free(rstd), free(dx), free(dgain);
}

/* dims rows, cols; variant 0: no y, 1: a y that is not read, + 2: and no dx */
static void batch_norm_without_relu(const op_case *c)
{
	const mr_kernels *k = c->k;
	mr_batch_norm b = {.rows = c->dim[0], .cols = c->dim[1], .eps = 1e-5};
	int64_t n = b.rows * b.cols;
	mr_dtype compute = k->types.compute, gradient = k->types.gradients;
	void *x = make_input(k, n, 1, -1, 3), *gain = make_input(k, b.cols, 2, 0, 2);
	void *shift = make_input(k, b.cols, 3, -1, 1), *dy = make_input(k, n, 4, -1, 1), *y = make_output(k, n);
	void *mean = make_room(compute, b.cols), *variance = make_room(compute, b.cols), *dx = make_output(k, n);
	void *dgain = make_room(gradient, b.cols), *dshift = make_room(gradient, b.cols);

	MR_CHECK_OK(k->batch_norm(c->kc, &(mr_batch_norm_args){.b = &b, .x = x, .gain = gain, .shift = shift, .y = y,
							       .mean = mean, .variance = variance}));
	MR_CHECK_OK(k->batch_norm_backward(
		c->kc, &(mr_batch_norm_backward_args){.b = &b, .x = x, .y = c->variant & 1 ? UNREAD : NULL,
						      .gain = gain, .mean = mean, .variance = variance, .dy = dy,
						      .dx = c->variant & 2 ? NULL : dx, .add = c->add, .dgain = dgain,
						      .dshift = dshift}));
	put(c->out, k, dx, n);
	put_of(c->out, gradient, dgain, b.cols);
	put_of(c->out, gradient, dshift, b.cols);
	free(x), free(gain), free(shift), free(dy), free(y), free(mean), free(variance), free(dx);
	free(dgain), free(dshift);
}

/* dims n; variant: the step's. State that the rule does not have. */
static void step_alone(const op_case *c)
{
	const mr_kernels *k = c->k;
	int64_t n = c->dim[0] * c->dim[1];
	mr_dtype state = k->types.state;
	void *w = make_input(k, n, 1, -1, 1), *g = make_of(k->types.gradients, n, 2, -1, 1);
	void *m = make_of(state, n, 3, -1, 1), *v = make_of(state, n, 4, 0, 1);
	mr_step s = step_variant(c->variant, w, w, m, v);

	s.m = s.m ? s.m : UNREAD;
	s.v = s.v ? s.v : UNREAD;
	MR_CHECK_OK(k->step(c->kc, &(mr_step_args){.n = n, .s = &s, .g = g}));
	put(c->out, k, w, n);
	put_of(c->out, state, m, n);
	put_of(c->out, state, v, n);
	free(w), free(g), free(m), free(v);
}

/* dims n; variant: the kind. Weights that are their own masters, and no velocity. */
static void average_alone(const op_case *c)
{
	static const mr_averaging_kind kinds[] = {MR_AVERAGING_MEAN, MR_AVERAGING_OUTER, MR_AVERAGING_PULL};
	const mr_kernels *k = c->k;
	int64_t n = c->dim[0] * c->dim[1];
	void *x[] = {make_input(k, n, 1, -1, 1), make_input(k, n, 2, -1, 1)};
	void *reference = make_input(k, n, 3, -1, 1), *mean = make_of(k->types.state, n, 4, -1, 1);
	mr_averaging a = {.kind = kinds[c->variant], .weights = true, .n = 2, .src = (const void *const *)x, .dst = x,
			  .alpha = 0.3, .lr = 0.7};

	a.reference = c->variant > 0 ? reference : NULL;
	a.mean = c->variant == 2 ? mean : NULL;
	MR_CHECK_OK(k->mix(c->kc, &(mr_mix_args){.n = n, .m = &a}));
	for (int r = 0; r < 2; r++) {
		put(c->out, k, x[r], n);
		free(x[r]);
	}
	put(c->out, k, reference, n);
	free(reference), free(mean);
}

static const op absent[] = {
	{"gemm without the rest", product_alone, 3, 0, true, 2e-6, {{3, 5, 7}, {130, 96, 100}}},
	{"gemm with one sum", one_column_sum, 3, 3, true, 2e-6, {{3, 5, 7}, {130, 96, 100}}},
	{"norm without mean", norm_without_mean, 2, 2, false, 5e-6, {{3, 17}, {301, 130}}},
	{"batch_norm without ReLU", batch_norm_without_relu, 4, 2, false, 5e-6, {{3, 17}, {301, 64}}},
	{"step without state", step_alone, N_STEPS, 0, false, 1e-6, {{3, 17}, {300, 101}}},
	{"mix", average_alone, 3, 0, false, 1e-6, {{3, 17}, {300, 101}}},
};

static void absent_operands(void)
{
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		compare_all(&absent[i]);
}

/* --- what rows say ------------------------------------------------------------------------------------------------ */

/* @o in the watched table of @k, against the table itself. */
static void watch_shape(const mr_kernels *k, const op *o, const int64_t dim[4], int variant, bool add)
{
	outputs want, got;
	double d;

	if (!has_op(k, o))
		return;
	want = run_op(o, k, 1, dim, variant, add);
	got = run_op(o, watch_operands(k), 1, dim, variant, add);
	d = distance(&got, &want);
	if (!(d <= tolerance_of(k, o)))
		fprintf(stderr, "\n%s in %s of %s, watched, %lldx%lldx%lld variant %d%s: %g\n", o->name,
			mr_types_name(&k->types), k->name, (long long)dim[0], (long long)dim[1], (long long)dim[2],
			variant, add ? " add" : "", d);
	CU_ASSERT(d <= tolerance_of(k, o));
	free(got.v), free(want.v);
}

static void watch_op(const op *o)
{
	const mr_kernels *all[MOST_TABLES];
	uint32_t n = all_tables(all);

	for (uint32_t i = 0; i < n; i++)
		for (int s = 0; s < (MR_SANITIZED ? 1 : 2) && o->dims[s][0]; s++) /* nn.kernels has all */
			for (int v = 0; v < o->n_variants; v++)
				for (int add = 0; add <= (v < o->n_adding); add++)
					watch_shape(all[i], o, o->dims[s], v, add);
}

/* Every call reads and writes what its row says and nothing else, and is refused without an operand. Every operation is
 * called, but for recurrences, which tests/nn/test_recurrent.c calls. */
static void calls_keep_to_their_rows(void)
{
	for (int i = 0; i < n_ops; i++)
		watch_op(&ops[i]);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		watch_op(&absent[i]);
	watch_operands(NULL);
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	if (!watched_calls(MR_KERNEL_##id)) \
		fprintf(stderr, "\n%s has no case\n", #id); \
	CU_ASSERT(watched_calls(MR_KERNEL_##id) > 0);
#include "nn/kernels.def"
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum { SUMMING = 4, BLOCKS = 12 };

typedef struct summing {
	const mr_kernels *k;
	mr_kctx *kc;
	const uint8_t *x;
	double *out;
	int first; /* this block and each SUMMING-th one behind it */
} summing;

static void *sum_blocks(void *arg)
{
	const summing *s = arg;
	size_t block = MR_SQUARES_BLOCK * mr_dtype_bytes(s->k->types.gradients);

	for (int i = s->first; i < BLOCKS; i += SUMMING)
		MR_CHECK_OK(s->k->sumsq(s->kc, &(mr_sumsq_args){.n = MR_SQUARES_BLOCK, .x = s->x + (size_t)i * block,
								.sum = &s->out[i]}));
	return NULL;
}

/* What mr_squares does with a team: threads, one context. */
static void squares_by_threads(void)
{
	const mr_kernels *all[MOST_TABLES];
	uint32_t n = all_tables(all);

	for (uint32_t i = 0; i < n; i++) {
		void *x = make_of(all[i]->types.gradients, BLOCKS * (int64_t)MR_SQUARES_BLOCK, 1, -1, 1);
		double one[BLOCKS], many[BLOCKS];
		mr_kctx *kc;
		summing by[SUMMING];
		pthread_t thread[SUMMING];

		MR_CHECK_OK(all[i]->ctx_create(all[i], 2, &kc));
		for (int t = 0; t < SUMMING; t++) {
			by[t] = (summing){all[i], kc, x, many, t};
			CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[t], NULL, sum_blocks, &by[t]), 0);
		}
		for (int t = 0; t < SUMMING; t++)
			pthread_join(thread[t], NULL);
		for (int t = 0; t < SUMMING; t++) {
			by[t].out = one;
			sum_blocks(&by[t]);
		}
		CU_ASSERT_EQUAL(memcmp(one, many, sizeof(one)), 0);
		CU_ASSERT(one[0] > 0);
		all[i]->ctx_destroy(kc);
		free(x);
	}
}

/* The norm of a gradient: the same bits with any number of threads. */
static void squares_of_a_team(void)
{
	const mr_kernels *all[MOST_TABLES];
	uint32_t n = all_tables(all);
	int64_t count = BLOCKS * (int64_t)MR_SQUARES_BLOCK + 17;

	for (uint32_t i = 0; i < n; i++) {
		void *x = make_of(all[i]->types.gradients, count, 1, -1, 1);
		double sum[3], again;

		for (uint32_t threads = 1; threads <= 3; threads++) {
			mr_kctx *kc;

			MR_CHECK_OK(all[i]->ctx_create(all[i], threads, &kc));
			MR_CHECK_OK(mr_squares(all[i], kc, count, x, &sum[threads - 1]));
			MR_CHECK_OK(mr_squares(all[i], kc, count, x, &again));
			CU_ASSERT_EQUAL(sum[threads - 1], again);
			all[i]->ctx_destroy(kc);
		}
		CU_ASSERT_EQUAL(sum[0], sum[1]);
		CU_ASSERT_EQUAL(sum[0], sum[2]);
		free(x);
	}
}

/* --- no memory ---------------------------------------------------------------------------------------------------- */

/* More than any machine has, but less than a size_t can say in bytes. */
#define TOO_MANY ((int64_t)1 << 58)

static mr_status act_of_many(const mr_kernels *k, mr_kctx *kc, void *x)
{
	return k->act(kc, &(mr_act_args){.act = MR_ACT_TANH, .n = TOO_MANY, .x = x, .y = x});
}

static mr_status colsum_of_many(const mr_kernels *k, mr_kctx *kc, void *x)
{
	return k->colsum(kc, &(mr_colsum_args){.rows = 1, .cols = TOO_MANY, .x = x, .y = x});
}

static mr_status norm_of_many(const mr_kernels *k, mr_kctx *kc, void *x)
{
	return k->norm_backward_weight(kc, &(mr_norm_backward_weight_args){.rows = 1, .cols = TOO_MANY / 8, .x = x,
									   .mean = x, .rstd = x, .dy = x, .dgain = x,
									   .dshift = x});
}

static mr_status cell_of_many(const mr_kernels *k, mr_kctx *kc, void *x)
{
	mr_cell cell = {.kind = MR_CELL_LSTM, .samples = 1, .width = TOO_MANY / 16, .pitch = 1};

	return k->cell(kc, &(mr_cell_args){.c = &cell, .a = x, .b = x, .memory = x, .y = x, .y_step = x});
}

static mr_status pool_of_many(const mr_kernels *k, mr_kctx *kc, void *x)
{
	mr_window w = {.samples = 1, .h = TOO_MANY, .w = 1, .c = 1, .kernel_h = 1, .kernel_w = 1, .stride_h = 1,
		       .stride_w = 1, .out_h = TOO_MANY, .out_w = 1, .dilation_h = 1, .dilation_w = 1};

	return k->pool(kc, &(mr_pool_args){.w = &w, .kind = MR_POOL_MAX, .x = x, .y = x, .which = x});
}

typedef mr_status many_fn(const mr_kernels *k, mr_kctx *kc, void *x);

/* Each call that lacks memory says so itself, and the context stays fit for others. */
static void check_told(const mr_kernels *k, many_fn *many)
{
	char room[64] = {0};
	mr_kctx *kc;

	if (!k)
		return;
	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	for (int i = 0; i < 2; i++)
		MR_CHECK_FAIL(many(k, kc, room), MR_ERESOURCE, "no memory");
	MR_CHECK_OK(k->act(kc, &(mr_act_args){.act = MR_ACT_TANH, .n = 1, .x = room, .y = room}));
	k->ctx_destroy(kc);
}

static void lack_of_memory_is_told(void)
{
	static many_fn *const many[] = {act_of_many, colsum_of_many, norm_of_many, cell_of_many, pool_of_many};
	static const char *const names[] = {"reference", "onednn"};

	for (int i = 0; i < 2; i++)
		for (size_t j = 0; j < sizeof(many) / sizeof(many[0]); j++) {
			check_told(mr_kernels_find(names[i], MR_BF16), many[j]);
			check_told(mr_kernels_of(names[i], MR_AS_bf16_pure), many[j]);
		}
	check_told(mr_kernels_of("fused", MR_AS_bf16_pure), colsum_of_many);
	check_told(mr_kernels_of("auto", MR_AS_bf16_pure), norm_of_many);
}

void mr_suite_operands(void);

void mr_suite_operands(void)
{
	MR_SUITE("operands");
	MR_TEST(all_operations_in_all_tables);
	MR_TEST(absent_operands);
	MR_TEST(calls_keep_to_their_rows);
	MR_TEST(squares_by_threads);
	MR_TEST(squares_of_a_team);
	MR_TEST(lack_of_memory_is_told);
}
