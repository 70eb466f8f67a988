/*
 * The backend `auto`: tables of choices as files, what they say for a shape, and that the operations which they give to
 * one backend or the other have that one's bits and keep the laws of mr_kernels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/result.h"
#include "check.h"
#include "kernels_ops.h"
#include "nn/choices.h"
#include "nn/recorder.h"

static char path[64];

/* The table in a file of this text; NULL with the message in mr_error_text(). */
static mr_choices *read_text(const char *text)
{
	mr_choices *c = NULL;

	snprintf(path, sizeof(path), "/tmp/mr_choices_%d", (int)getpid());
	MR_CHECK_OK(mr_result_write(path, text, strlen(text), MR_RESULT_OWN));
	(void)!mr_choices_read(path, &c);
	unlink(path);
	return c;
}

static void wrong_lines_are_named(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"MR_CHOICE(avx512, f32, one, gemm_nn, 64, 64, fused)\nMR_CHOICE(avx512, f32)\n", ":2: expected"},
		{"MR_CHOICE(avx512, f32, two, gemm_nn, 64, 64, fused)\n", ":1: threads are \"one\" or \"team\""},
		{"MR_CHOICE(avx512, f32, one, gemm_nm, 64, 64, fused)\n", "did you mean \"gemm_nn\"?"},
		{"MR_CHOICE(avx512, f32, one, gemm_nn, 64, 64, auto)\n", "\"fused\", \"onednn\" or \"f32\""},
		{"MR_CHOICE(avx512, f32, one, gemm_nn, 64, 64, f32)\n", "in bf16, got gemm_nn in f32"},
		{"MR_CHOICE(amx, bf16, one, norm, 64, 64, f32)\n", "in bf16, got norm in bf16"},
		{"MR_CHOICE(avx512, f32, one, gemm_nn, -1, 64, fused)\n", "from 0, got -1"},
		{"MR_CHOICE(avx512, f32, one, gemm_nn, 1, 64, fused) x\n", "nothing may follow"},
		{"/* nothing */\n", "no choice in it"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_PTR_NULL(read_text(cases[i].text));
		if (!strstr(mr_error_text(), cases[i].want))
			fprintf(stderr, "\n%s: %s\n", cases[i].text, mr_error_text());
		CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), cases[i].want));
	}
	CU_ASSERT_PTR_NULL(read_text(""));
}

/* The first line that fits counts, and classes that no line covers are those of `fused`. */
static void lines_say_what_they_say(void)
{
	mr_choices *c = read_text("# a comment\n"
				  "MR_CHOICE(avx512, f32, one, gemm_nn, 64, 16384, fused) /* 1.3 */\n"
				  "  MR_CHOICE( avx512 , f32 , one , gemm_nn , 64 , 0 , onednn )\r\n"
				  "MR_CHOICE(avx512, f32, team, gemm_nn, 0, 0, onednn)\n"
				  "MR_CHOICE(avx2, f32, one, gemm_nn, 0, 0, onednn)\n"
				  "MR_CHOICE(avx2, bf16, one, gemm_tn, 32, 0, f32)\n");
	mr_chosen one, team, bf16;

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	mr_choices_select(c, "avx512", MR_F32, 1, &one);
	mr_choices_select(c, "avx512", MR_F32, 7, &team);
	mr_choices_select(c, "avx2", MR_BF16, 1, &bf16);
	CU_ASSERT(!mr_chosen_onednn(&one, MR_CHOICE_gemm_nn, 64, 16384));
	CU_ASSERT(mr_chosen_onednn(&one, MR_CHOICE_gemm_nn, 64, 16385));
	CU_ASSERT(mr_chosen_onednn(&one, MR_CHOICE_gemm_nn, 1, INT64_MAX));
	CU_ASSERT(!mr_chosen_onednn(&one, MR_CHOICE_gemm_nn, 65, 16385));
	CU_ASSERT(!mr_chosen_onednn(&one, MR_CHOICE_gemm_nt, 1, 16385));
	CU_ASSERT(mr_chosen_onednn(&team, MR_CHOICE_gemm_nn, 4096, 1));
	CU_ASSERT(!mr_chosen_onednn(&team, MR_CHOICE_sum, 1, 1));
	CU_ASSERT_EQUAL(mr_chosen_by(&bf16, MR_CHOICE_gemm_tn, 32, 1 << 20), MR_CHOICE_F32);
	CU_ASSERT_EQUAL(mr_chosen_by(&bf16, MR_CHOICE_gemm_tn, 33, 1 << 20), MR_CHOICE_FUSED);
	CU_ASSERT_EQUAL(mr_chosen_by(&bf16, MR_CHOICE_gemm_nn, 32, 1 << 20), MR_CHOICE_FUSED);
	mr_choices_destroy(c);
}

/* A class goes up to a power of two and no further. */
static void classes_have_their_bounds(void)
{
	for (uint32_t r = 0; r + 1 < MR_CHOICE_ROWS; r++)
		for (uint32_t s = 0; s + 1 < MR_CHOICE_SIZES; s++) {
			int64_t rows = mr_choice_most_rows(r), size = mr_choice_most_size(s);
			mr_chosen c = {0};

			c.by[MR_CHOICE_norm][r][s] = MR_CHOICE_ONEDNN;
			CU_ASSERT(mr_chosen_onednn(&c, MR_CHOICE_norm, rows, size));
			CU_ASSERT(!mr_chosen_onednn(&c, MR_CHOICE_norm, rows + 1, size));
			CU_ASSERT(!mr_chosen_onednn(&c, MR_CHOICE_norm, rows, size + 1));
			CU_ASSERT(r == 0 || mr_chosen_onednn(&c, MR_CHOICE_norm, rows / 2 + 1, size));
			CU_ASSERT(s == 0 || mr_chosen_onednn(&c, MR_CHOICE_norm, rows, size / 4 + 1));
		}
}

/* What is written says the same when it is read, and other choices have another hash. */
static void a_table_survives_its_file(void)
{
	mr_chosen want, got;
	mr_choices *made, *again;
	mr_strbuf text = {0};

	for (int k = 0; k < MR_N_CHOICES; k++)
		for (int r = 0; r < MR_CHOICE_ROWS; r++)
			for (int s = 0, n_by = mr_choice_is_gemm((mr_choice_kind)k) ? MR_N_CHOICE_BY : MR_CHOICE_F32;
			     s < MR_CHOICE_SIZES; s++)
				want.by[k][r][s] = (uint8_t)((k * 7 + r / 2 * 3 + s / 3) % n_by);
	MR_CHECK_OK(mr_choices_with(&mr_choices_built_in, "avx512", MR_BF16, 1, &want, &made));
	mr_choices_print(made, &text);
	again = read_text(mr_strbuf_text(&text));
	CU_ASSERT_PTR_NOT_NULL_FATAL(again);
	mr_choices_select(again, "avx512", MR_BF16, 1, &got);
	CU_ASSERT(!memcmp(&want, &got, sizeof(want)));
	CU_ASSERT_EQUAL(mr_choices_hash(made), mr_choices_hash(again));
	CU_ASSERT_NOT_EQUAL(mr_choices_hash(made), mr_choices_hash(&mr_choices_built_in));
	mr_choices_select(again, "avx512", MR_BF16, 2, &got); /* of teams those that hold for any number of threads */
	CU_ASSERT(!memcmp(want.by[MR_CHOICE_lstm], got.by[MR_CHOICE_lstm], sizeof(want.by[0])));
	CU_ASSERT(memcmp(want.by[MR_CHOICE_gemm_nn], got.by[MR_CHOICE_gemm_nn], sizeof(want.by[0])) != 0);
	mr_choices_select(again, "avx512", MR_F32, 1, &got); /* what was not measured stays */
	mr_choices_select(&mr_choices_built_in, "avx512", MR_F32, 1, &want);
	CU_ASSERT(!memcmp(&want, &got, sizeof(want)));
	mr_strbuf_fini(&text);
	mr_choices_destroy(made), mr_choices_destroy(again);
}

/* The machines of a table are in its file, each once; of a part that is all fused one line says so. */
static void a_table_names_its_machines(void)
{
	mr_choices *c = read_text("MR_CHOICES_MADE(\"a b, oneDNN 3.7\")\nMR_CHOICES_MADE(\"c\")\n"
				  "MR_CHOICE(avx2, f32, one, gemm_nn, 0, 0, onednn)\n");
	mr_choices *copy, *none;
	const mr_chosen fused = {0};
	mr_strbuf text = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_STRING_EQUAL(c->made, "a b, oneDNN 3.7; c");
	MR_CHECK_OK(mr_choices_copy(c, &copy));
	MR_CHECK_OK(mr_choices_made_add(copy, "c"));
	MR_CHECK_OK(mr_choices_made_add(copy, "d"));
	CU_ASSERT_STRING_EQUAL(copy->made, "a b, oneDNN 3.7; c; d");
	CU_ASSERT_EQUAL(mr_choices_hash(c), mr_choices_hash(copy)); /* a machine is no choice */
	MR_CHECK_OK(mr_choices_with(copy, "avx2", MR_F32, 1, &fused, &none));
	mr_choices_print(none, &text);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&text), "MR_CHOICES_MADE(\"d\")\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_strbuf_text(&text), "MR_CHOICE(avx2, f32, one, gemm_nn, 0, 0, fused)\n"));
	CU_ASSERT_PTR_NULL(strstr(mr_strbuf_text(&text), ", onednn)"));
	mr_strbuf_fini(&text);
	CU_ASSERT(*mr_choices_built_in.made);
	mr_choices_destroy(c), mr_choices_destroy(copy), mr_choices_destroy(none);
}

/* The program's own table changes its mind at most once with the size, and at most once with the rows. */
static void the_built_in_table_is_monotonic(void)
{
	static const char *const isas[] = {"avx512", "avx512_bf16", "avx2"};

	CU_ASSERT(mr_choices_built_in.n <= 120); /* one that is longer follows noise */
	for (int i = 0; i < 12; i++) {
		mr_chosen c;

		mr_choices_select(&mr_choices_built_in, isas[i / 4], i & 1 ? MR_BF16 : MR_F32, i & 2 ? 2 : 1, &c);
		for (int k = 0; k < MR_N_CHOICES; k++) {
			for (int r = 0; r < MR_CHOICE_ROWS; r++) {
				int changes = 0;

				for (int s = 1; s < MR_CHOICE_SIZES; s++)
					changes += c.by[k][r][s] != c.by[k][r][s - 1];
				CU_ASSERT(changes <= 1);
			}
			for (int s = 0; s < MR_CHOICE_SIZES; s++) {
				int changes = 0;

				for (int r = 1; r < MR_CHOICE_ROWS; r++)
					changes += c.by[k][r][s] != c.by[k][r - 1][s];
				CU_ASSERT(changes <= 1);
			}
		}
	}
}

/* --- with kernels ------------------------------------------------------------------------------------------------- */

static const mr_choice_line everything[] = {
#define MR_CHOICE_KIND(id) \
	{"avx512", "f32", "one", #id, 0, 0, "onednn"}, {"avx512", "f32", "team", #id, 0, 0, "onednn"}, \
	{"avx2", "f32", "one", #id, 0, 0, "onednn"}, {"avx2", "f32", "team", #id, 0, 0, "onednn"},
	MR_CHOICE_KINDS(MR_CHOICE_KIND)
#undef MR_CHOICE_KIND
};
static const mr_choices all_onednn = {.source = "test", .line = everything,
				      .n = sizeof(everything) / sizeof(everything[0])};
static const mr_choices all_fused = {.source = "test", .line = everything};

static void check_bits(const char *what, const op *o, const mr_kernels *a, const mr_kernels *b, int shape, int variant)
{
	for (uint32_t threads = 1; threads <= 2; threads++) {
		bool add = variant < o->n_adding && variant % 2;
		outputs x = run_op(o, a, threads, o->dims[shape], variant, add);
		outputs y = run_op(o, b, threads, o->dims[shape], variant, add);

		if (!same_bits(&x, &y))
			fprintf(stderr, "\n%s: %s, shape %d, variant %d, %u threads: distance %g\n", what, o->name,
				shape, variant, threads, distance(&x, &y));
		CU_ASSERT(same_bits(&x, &y));
		free(x.v), free(y.v);
	}
}

static bool keeps_own_bits(const op *o)
{
	return strcmp(o->name, "sum") && strcmp(o->name, "xent") && strcmp(o->name, "norm");
}

/* A table that names fused alone gives the bits of fused; one that names oneDNN those of the backend onednn, where the
 * two do the same: in what is no product. */
static void choices_decide_the_bits(void)
{
	const mr_kernels *fused = mr_kernels_find("fused", MR_F32), *onednn = mr_kernels_find("onednn", MR_F32);
	mr_kernels a, b;

	if (!fused)
		return;
	a = b = *mr_kernels_find("auto", MR_F32);
	a.choices = &all_fused;
	b.choices = &all_onednn;
	for (int i = 0; i < n_ops; i++)
		for (int v = 0; v < ops[i].n_variants; v++) {
			int shape = ops[i].dims[1][0] ? 1 : 0;

			check_bits("all fused", &ops[i], &a, fused, shape, v);
			if (!keeps_own_bits(&ops[i]))
				check_bits("all onednn", &ops[i], &b, onednn, shape, v);
		}
}

/* The four operations of a convolution that `fused` computes by tiles: what executes each by @table, and their results
 * in @out. */
static void run_convs(const mr_kernels *k, float *out, mr_kernel_by by[4])
{
	enum { C = 64, SIDE = 8, IMAGES = 8, N = IMAGES * SIDE * SIDE * C, W = 9 * C * C };
	static float x[N], w[W], dw[W], v[W];
	const mr_conv g = {.window = {.samples = IMAGES, .h = SIDE, .w = SIDE, .c = C, .out_h = SIDE, .out_w = SIDE,
				      .kernel_h = 3, .kernel_w = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1,
				      .pad_w = 1, .dilation_h = 1, .dilation_w = 1},
			   .out = C, .groups = 1};
	const mr_step s = {.kind = MR_STEP_SGD, .src = v, .dst = v, .gscale = 1, .lr = 0.5};
	const mr_recorded *call;
	mr_recorder *r;
	mr_kctx *kc;
	size_t n;

	for (int i = 0; i < N; i++)
		x[i] = (float)((int64_t)i * 7919 % 1009) * 1e-3f - 0.5f;
	for (int i = 0; i < W; i++)
		w[i] = v[i] = (float)((int64_t)i * 104729 % 997) * 1e-4f - 0.05f;
	MR_CHECK_OK(mr_recorder_create(k, 1, &r));
	MR_CHECK_OK(k->ctx_create(k, 1, &kc));
	for (int i = 0; i < 2; i++) {
		const mr_kernels *of = i ? mr_recorder_kernels(r) : k;
		mr_kctx *in = i ? mr_recorder_context(r) : kc;

		MR_CHECK_OK(of->conv(in, &(mr_conv_args){.g = &g, .x = x, .w = w, .y = out}));
		MR_CHECK_OK(of->conv_backward_input(in, &(mr_conv_backward_input_args){.g = &g, .dy = x, .w = w,
										       .dx = out + N}));
		MR_CHECK_OK(of->conv_backward_weight(in, &(mr_conv_backward_weight_args){.g = &g, .x = x, .dy = x,
											 .dw = out + 2 * N}));
		MR_CHECK_OK(of->conv_step(in, &(mr_conv_step_args){.g = &g, .x = x, .dy = x, .dw = dw, .s = &s}));
	}
	memcpy(out + 2 * N + W, v, sizeof(v));
	mr_recorder_calls(r, &call, &n);
	CU_ASSERT_EQUAL_FATAL(n, 4);
	for (int i = 0; i < 4; i++)
		by[i] = call[i].by;
	k->ctx_destroy(kc);
	mr_recorder_destroy(r);
}

enum { CONV_NUMBERS = 2 * 8 * 8 * 8 * 64 + 2 * 9 * 64 * 64 };

/* Each pass of a convolution goes by its own lines, and has the bits of what executes it. */
static void convolutions_are_chosen(void)
{
	static float fused[CONV_NUMBERS], onednn[CONV_NUMBERS], chosen[CONV_NUMBERS];
	enum { N = 8 * 8 * 8 * 64, W = 9 * 64 * 64 };
	mr_choice_line line = {.dtype = "f32", .threads = "one", .kind = "conv_input", .rows = 512, .size = 65536,
			       .backend = "onednn"};
	const mr_choices table = {.source = "test", .line = &line, .n = 1};
	mr_kernel_by by[4];
	mr_kernels k;

	if (!mr_kernels_find("fused", MR_F32))
		return;
	snprintf(line.isa, sizeof(line.isa), "%s", mr_kernels_isa(MR_F32));
	run_convs(mr_kernels_find("fused", MR_F32), fused, by);
	CU_ASSERT(by[0] == MR_BY_FUSED && by[1] == MR_BY_FUSED && by[2] == MR_BY_FUSED && by[3] == MR_BY_FUSED);
	run_convs(mr_kernels_find("onednn", MR_F32), onednn, by);
	CU_ASSERT(by[0] == MR_BY_ONEDNN && by[1] == MR_BY_ONEDNN && by[2] == MR_BY_ONEDNN && by[3] == MR_BY_ONEDNN);
	CU_ASSERT(memcmp(fused, onednn, N * sizeof(float)) && memcmp(fused + N, onednn + N, N * sizeof(float)));
	CU_ASSERT(memcmp(fused + 2 * N, onednn + 2 * N, W * sizeof(float)) != 0);
	k = *mr_kernels_find("auto", MR_F32);
	k.choices = &table;
	run_convs(&k, chosen, by);
	CU_ASSERT(by[0] == MR_BY_FUSED && by[1] == MR_BY_ONEDNN && by[2] == MR_BY_FUSED && by[3] == MR_BY_FUSED);
	CU_ASSERT(!memcmp(chosen, fused, N * sizeof(float)));
	CU_ASSERT(!memcmp(chosen + N, onednn + N, N * sizeof(float)));
	CU_ASSERT(!memcmp(chosen + 2 * N, fused + 2 * N, 2 * W * sizeof(float)));
	k.choices = &all_onednn;
	run_convs(&k, chosen, by);
	CU_ASSERT(!memcmp(chosen, onednn, sizeof(onednn)) && by[3] == MR_BY_ONEDNN);
}

/* What stands for several operations has their bits whatever the table says. */
static void laws_hold_by_any_table(void)
{
	static const struct {
		const char *name;
		void (*apart)(const op_case *c);
	} laws[] = {{"gemm_step", run_gemm_then_step},
		    {"gemm_sum", run_gemms},
		    {"gemm_step_rows", run_gemm_rows_step},
		    {"norm", run_norm_halves}};
	mr_kernels k;

	if (!mr_kernels_find("auto", MR_F32))
		return;
	k = *mr_kernels_find("auto", MR_F32);
	k.choices = &all_onednn;
	for (int i = 0; i < n_ops; i++)
		for (size_t l = 0; l < sizeof(laws) / sizeof(laws[0]); l++)
			for (int v = 0; v < ops[i].n_variants && !strcmp(ops[i].name, laws[l].name); v++)
				for (uint32_t threads = 1; threads <= 2; threads++) {
					int shape = ops[i].dims[2][0] ? 2 : 0;
					op apart = ops[i];
					outputs got = run_op(&ops[i], &k, threads, apart.dims[shape], v, false), want;

					apart.run = laws[l].apart;
					want = run_op(&apart, &k, threads, apart.dims[shape], v, false);
					CU_ASSERT(same_bits(&got, &want));
					free(got.v), free(want.v);
				}
}

/* What executes a call is what the table says, where the backend has the operation. */
static void calls_are_recorded_with_their_executor(void)
{
	static const struct {
		const char *backend;
		mr_kernel_by nn, tn, norm, rms, relu;
	} cases[] = {{"reference", MR_BY_REFERENCE, MR_BY_REFERENCE, MR_BY_REFERENCE, MR_BY_REFERENCE, MR_BY_REFERENCE},
		     {"fused", MR_BY_FUSED, MR_BY_FUSED, MR_BY_FUSED, MR_BY_FUSED, MR_BY_FUSED},
		     {"onednn", MR_BY_ONEDNN, MR_BY_ONEDNN, MR_BY_ONEDNN, MR_BY_FUSED, MR_BY_FUSED},
		     {"auto", MR_BY_ONEDNN, MR_BY_ONEDNN, MR_BY_ONEDNN, MR_BY_FUSED, MR_BY_FUSED}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const mr_kernels *of = mr_kernels_find(cases[i].backend, MR_F32), *k;
		mr_gemm nn = {.m = 32, .n = 64, .k = 16}, tn = {.m = 16, .n = 64, .k = 32, .ta = true};
		mr_kernels changed;
		mr_recorder *r;
		const mr_recorded *c;
		size_t n;
		float x;
		mr_norm_args norm = {.rows = 4, .cols = 8, .x = &x, .gain = &x, .y = &x, .mean = &x, .rstd = &x};

		if (!of)
			continue;
		changed = *of;
		changed.choices = changed.choices ? &all_onednn : NULL;
		MR_CHECK_OK(mr_recorder_create(&changed, 1, &r));
		k = mr_recorder_kernels(r);
		MR_CHECK_OK(k->gemm(mr_recorder_context(r), &(mr_gemm_args){.g = &nn, .a = &x, .b = &x, .c = &x}));
		MR_CHECK_OK(k->gemm_step(mr_recorder_context(r),
					 &(mr_gemm_step_args){.g = &tn, .a = &x, .b = &x, .c = &x}));
		MR_CHECK_OK(k->norm(mr_recorder_context(r), &norm));
		norm.mean = NULL;
		MR_CHECK_OK(k->norm(mr_recorder_context(r), &norm));
		MR_CHECK_OK(k->act_backward(
			mr_recorder_context(r),
			&(mr_act_backward_args){.act = MR_ACT_RELU, .n = 32, .aux = &x, .dy = &x, .dz = &x}));
		mr_recorder_calls(r, &c, &n);
		CU_ASSERT_EQUAL_FATAL(n, 5);
		CU_ASSERT(c[0].call.id == MR_KERNEL_gemm && c[0].by == cases[i].nn);
		CU_ASSERT(c[1].call.id == MR_KERNEL_gemm_step && c[1].call.steps && c[1].by == cases[i].tn);
		CU_ASSERT(c[2].by == cases[i].norm && c[3].by == cases[i].rms);
		CU_ASSERT(c[4].by == cases[i].relu && c[4].call.cols == 32);
		CU_ASSERT_STRING_EQUAL(mr_kernel_name(c[1].call.id), "gemm_step");
		mr_recorder_destroy(r);
	}
}

/* Products of bf16 numbers may go by f32 inside, but not those of an optimizer's state, which are in f32. */
static void products_in_f32_are_recorded(void)
{
	const mr_kernels *chooses = mr_kernels_find("auto", MR_BF16);
	mr_choice_line line = {.dtype = "bf16", .threads = "one", .kind = "gemm_tn", .backend = "f32"};
	mr_choices c = {.source = "test", .line = &line, .n = 1};
	mr_gemm tn = {.of = MR_GEMM_GRADIENTS, .m = 16, .n = 64, .k = 32, .ta = true}, state = tn;
	mr_gemm nt = {.m = 16, .n = 64, .k = 32, .tb = true};
	const mr_recorded *call;
	mr_kernels k;
	mr_recorder *r;
	size_t n;

	if (!chooses)
		return;
	snprintf(line.isa, sizeof(line.isa), "%s", mr_kernels_isa(MR_BF16));
	state.of = MR_GEMM_STATE;
	k = *chooses;
	k.choices = &c;
	MR_CHECK_OK(mr_recorder_create(&k, 1, &r));
	MR_CHECK_OK(mr_recorder_kernels(r)->gemm_step(mr_recorder_context(r),
						      &(mr_gemm_step_args){.g = &tn, .a = r, .b = r, .c = r}));
	MR_CHECK_OK(mr_recorder_kernels(r)->gemm(mr_recorder_context(r),
						 &(mr_gemm_args){.g = &state, .a = r, .b = r, .c = r}));
	MR_CHECK_OK(mr_recorder_kernels(r)->gemm(mr_recorder_context(r),
						 &(mr_gemm_args){.g = &nt, .a = r, .b = r, .c = r}));
	mr_recorder_calls(r, &call, &n);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT(call[0].by == MR_BY_F32 && call[1].by == MR_BY_FUSED && call[2].by == MR_BY_FUSED);
	CU_ASSERT_STRING_EQUAL(mr_kernel_by_name(call[0].by), "f32 inside");
	mr_recorder_destroy(r);
}

void mr_suite_choices(void);

void mr_suite_choices(void)
{
	MR_SUITE("choices");
	MR_TEST(wrong_lines_are_named);
	MR_TEST(lines_say_what_they_say);
	MR_TEST(classes_have_their_bounds);
	MR_TEST(a_table_survives_its_file);
	MR_TEST(a_table_names_its_machines);
	MR_TEST(the_built_in_table_is_monotonic);
	MR_TEST(choices_decide_the_bits);
	MR_TEST(convolutions_are_chosen);
	MR_TEST(laws_hold_by_any_table);
	MR_TEST(calls_are_recorded_with_their_executor);
	MR_TEST(products_in_f32_are_recorded);
}
