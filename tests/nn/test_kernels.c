/*
 * Every operation of the kernel table, over odd shapes, with and without add: f32 against f64, oneDNN and vector
 * kernels against the reference, one thread against two, one run against the next.
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "kernels_ops.h"
#include "nn/kernels/fused/vec/team.h"

/* Calls @each for every operation, shape, variant and add; with a sanitizer, but for the first shape, by turns. */
static void for_all(void (*each)(const op *o, const int64_t dim[4], int variant, bool add))
{
	for (int i = 0; i < n_ops; i++)
		for (int s = 0; s < OP_SHAPES && ops[i].dims[s][0]; s++)
			for (int v = 0; v < ops[i].n_variants; v++)
				for (int add = MR_SANITIZED && s ? (s + v) % 2 : 0; add <= (v < ops[i].n_adding);
				     add += MR_SANITIZED && s ? 2 : 1)
					each(&ops[i], ops[i].dims[s], v, add);
}

static void tell(const char *what, const op *o, const int64_t dim[4], int variant, bool add, double d)
{
	fprintf(stderr, "\n%s: %s %lldx%lldx%lldx%lld variant %d%s: distance %.3g, tolerance %.3g\n", what, o->name,
		(long long)dim[0], (long long)dim[1], (long long)dim[2], (long long)dim[3], variant, add ? " add" : "",
			d, o->tolerance);
}

static void check_close(const char *what, const op *o, const int64_t dim[4], int variant, bool add, const outputs *got,
			const outputs *want)
{
	double d = distance(got, want);

	if (!(d <= o->tolerance))
		tell(what, o, dim, variant, add, d);
	CU_ASSERT(d <= o->tolerance);
}

static void reference_pair(const op *o, const int64_t dim[4], int variant, bool add)
{
	outputs f64 = run_op(o, mr_kernels_find("reference", MR_F64), 1, dim, variant, add);
	outputs f32 = run_op(o, mr_kernels_find("reference", MR_F32), 1, dim, variant, add);

	check_close("reference f32, f64", o, dim, variant, add, &f32, &f64);
	free(f64.v);
	free(f32.v);
}

static void reference_f32_agrees_with_f64(void)
{
	for_all(reference_pair);
}

/* @one, by one thread, and @two against the reference and against the same once more. */
static void numbers_hold(const mr_kernels *k, const op *o, const int64_t dim[4], int variant, bool add,
			 const outputs *one, const outputs *two)
{
	outputs want = run_op(o, mr_kernels_find("reference", MR_F64), 1, dim, variant, add);
	outputs again = run_op(o, k, 1, dim, variant, add), two_again = run_op(o, k, 2, dim, variant, add);

	check_close(k->name, o, dim, variant, add, one, &want);
	check_close("with 2 threads", o, dim, variant, add, two, &want);
	CU_ASSERT(same_bits(one, &again));
	CU_ASSERT(same_bits(two, &two_again));
	free(want.v), free(again.v), free(two_again.v);
}

static void pair_of(const mr_kernels *k, const op *o, const int64_t dim[4], int variant, bool add)
{
	bool any_threads = !o->is_gemm && strcmp(k->name, "onednn"); /* whose bits belong to a number of threads */
	outputs one = run_op(o, k, 1, dim, variant, add), two = run_op(o, k, 2, dim, variant, add);

	if (!MR_SANITIZED) /* which would look at the same addresses again */
		numbers_hold(k, o, dim, variant, add, &one, &two);
	if (any_threads) {
		if (!same_bits(&one, &two))
			tell("bits differ between 1 and 2 threads", o, dim, variant, add, distance(&one, &two));
		CU_ASSERT(same_bits(&one, &two));
	}
	free(one.v), free(two.v);
}

static void fused_pair(const op *o, const int64_t dim[4], int variant, bool add)
{
	pair_of(mr_kernels_find("fused", MR_F32), o, dim, variant, add);
}

static void onednn_pair(const op *o, const int64_t dim[4], int variant, bool add)
{
	pair_of(mr_kernels_find("onednn", MR_F32), o, dim, variant, add);
}

static void fused_agrees_with_reference(void)
{
	if (mr_kernels_find("fused", MR_F32))
		for_all(fused_pair);
	else
		printf("(skipped: %s) ", mr_error_text());
}

static void onednn_agrees_with_reference(void)
{
	if (mr_kernels_find("onednn", MR_F32))
		for_all(onednn_pair);
	else
		printf("(skipped: %s) ", mr_error_text());
}

/* The reference is one thread whatever the team: with two it would do the same again. */
static uint32_t most_threads(const mr_kernels *k)
{
	return strcmp(k->name, "reference") ? 2 : 1;
}

/* What is done at once against what it stands for: the same bits, whatever the step, the transposes, the sum before and
 * the threads. */
static void apart_pair(const op *o, const int64_t dim[4], int variant, bool add)
{
	const mr_kernels *all[4 + BF16_TABLES] = {
		mr_kernels_find("reference", MR_F32), mr_kernels_find("reference", MR_F64),
		mr_kernels_find("fused", MR_F32), mr_kernels_find("onednn", MR_F32)};
	uint32_t n = 4 + bf16_tables(all + 4);
	op apart = *o;

	if (!strcmp(o->name, "gemm_step"))
		apart.run = run_gemm_then_step;
	else if (!strcmp(o->name, "gemm_sum"))
		apart.run = run_gemms;
	else if (!strcmp(o->name, "gemm_step_rows"))
		apart.run = run_gemm_rows_step;
	else if (!strcmp(o->name, "norm"))
		apart.run = run_norm_halves;
	else
		return;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t threads = 1; all[i] && threads <= most_threads(all[i]); threads++) {
			outputs got = run_op(o, all[i], threads, dim, variant, add);
			outputs want = run_op(&apart, all[i], threads, dim, variant, add);

			if (!same_bits(&got, &want))
				tell("bits differ from those of its parts", o, dim, variant, add,
				     distance(&got, &want));
			CU_ASSERT(same_bits(&got, &want));
			free(got.v), free(want.v);
		}
}

static void fused_calls_equal_their_parts(void)
{
	for_all(apart_pair);
}

/* The backends of one type mix copies of the weights to the same bits. */
static void same_mix(const op *o, const int64_t dim[4], int variant, bool add)
{
	outputs got, want;

	if (strcmp(o->name, "mix"))
		return;
	got = run_op(o, mr_kernels_find("fused", MR_F32), 1, dim, variant, add);
	want = run_op(o, mr_kernels_find("reference", MR_F32), 1, dim, variant, add);
	if (!same_bits(&got, &want))
		tell("bits differ from those of the reference", o, dim, variant, add, distance(&got, &want));
	CU_ASSERT(same_bits(&got, &want));
	free(got.v), free(want.v);
}

static void fillings_mix_alike(void)
{
	if (mr_kernels_find("fused", MR_F32))
		for_all(same_mix);
	else
		printf("(skipped: %s) ", mr_error_text());
}

static void find_names_what_is_wrong(void)
{
#ifdef MR_DNNL
	CU_ASSERT_PTR_NULL(mr_kernels_find("fused", MR_F64));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "f64"));
#endif
	if (mr_kernels_find("auto", MR_F32))
		CU_ASSERT_STRING_EQUAL(mr_kernels_find("auto", MR_F32)->name, "auto");
	CU_ASSERT_PTR_NULL(mr_kernels_find("cuda", MR_F32));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "cuda"));
	CU_ASSERT_PTR_NULL(mr_kernels_find("reference", MR_I32));
	CU_ASSERT_STRING_EQUAL(mr_kernels_find("reference", MR_F64)->name, "reference");
	CU_ASSERT(strlen(mr_kernels_library()) > 0);
	CU_ASSERT_STRING_EQUAL(mr_dtype_name(MR_F64), "f64");
	mr_kernels_find("reference", MR_F32)->ctx_destroy(NULL);
}

/* oneDNN's refusal becomes a message with the shape, and the context goes on working. */
static void refused_shapes_are_named(void)
{
	const mr_kernels *k = mr_kernels_find("fused", MR_F32);
	mr_gemm bad = {.m = -3, .n = 4, .k = 5}, good = {.m = 1, .n = 1, .k = 1};
	float a = 3, b = 5, c = 0;
	mr_kctx *kc;

	if (!k)
		return;
	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	for (int i = 0; i < 2; i++) {
		MR_CHECK_FAIL(k->gemm(kc, &(mr_gemm_args){.g = &bad, .a = &a, .b = &b,
							  .c = &c}), MR_EDNN, "m=-3 n=4 k=5");
		MR_CHECK_OK(k->gemm(kc, &(mr_gemm_args){.g = &good, .a = &a, .b = &b, .c = &c}));
		CU_ASSERT_EQUAL(c, 15);
	}
	k->ctx_destroy(kc);
}

static int count_runtime(struct dl_phdr_info *info, size_t size, void *n)
{
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	*(int *)n += name && (!strncmp(name, "/libgomp.", 9) || !strncmp(name, "/libomp", 7));
	return 0;
}

/* Two would run teams side by side on the same cores: oneDNN's and ours. */
static void one_openmp_in_the_process(void)
{
	int n = 0;

	dl_iterate_phdr(count_runtime, &n);
	CU_ASSERT(n <= 1);
#ifdef MR_OPENMP
	CU_ASSERT_EQUAL(n, 1);
#endif
}

#if defined(MR_OPENMP) && (defined(__x86_64__) || defined(__aarch64__))
/* A function that a team runs: does the one that calls its caller lie at args->stub? */
typedef struct caller_check {
	uintptr_t stub;
	bool named[2]; /* of a thread */
} caller_check;

static void look_at_callers(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const uintptr_t *frame = __builtin_frame_address(0); /* the caller's frame, and where this returns to */
	const caller_check *c = args;
	const uintptr_t *callers = (const uintptr_t *)frame[0];

	(void)lo, (void)hi;
	((caller_check *)(uintptr_t)c)->named[worker] = callers[1] > c->stub && callers[1] < c->stub + 32;
}

static mr_status run_two(const void *args, const void *unused, uint32_t n)
{
	(void)unused;
	mr_team_run_pieces(n, look_at_callers, args, n, 1);
	return MR_OK;
}

/* What each thread of a team does for a layer is called by way of the layer's name. */
static void teams_have_names(void)
{
	char folder[] = "/tmp/mr-team-XXXXXX", path[64];
	caller_check c = {.stub = 0};
	mr_perf_stub *stub;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	setenv("MR_PERF_MAP", folder, 1);
	stub = mr_perf_map_stub("linear:x_W:2x2x2");
	unsetenv("MR_PERF_MAP");
	snprintf(path, sizeof(path), "%s/perf-%d.map", folder, (int)getpid());
	unlink(path);
	rmdir(folder);
	CU_ASSERT_FATAL(stub != NULL);
	memcpy(&c.stub, &stub, sizeof(c.stub));
	MR_CHECK_OK(mr_perf_map_call(stub, run_two, &c, NULL, 2));
	CU_ASSERT(c.named[0] && c.named[1]);
	MR_CHECK_OK(mr_perf_map_call(NULL, run_two, &c, NULL, 2));
	CU_ASSERT(!c.named[0] && !c.named[1]);
}
#else
static void teams_have_names(void)
{
}
#endif

void mr_suite_kernels(void);

void mr_suite_kernels(void)
{
	MR_SUITE("kernels");
	MR_TEST(find_names_what_is_wrong);
	MR_TEST(refused_shapes_are_named);
	MR_TEST(reference_f32_agrees_with_f64);
	MR_TEST(fused_agrees_with_reference);
	MR_TEST(onednn_agrees_with_reference);
	MR_TEST(fused_calls_equal_their_parts);
	MR_TEST(fillings_mix_alike);
	MR_TEST(one_openmp_in_the_process);
	MR_TEST(teams_have_names);
}
