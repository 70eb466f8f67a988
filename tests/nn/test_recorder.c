/*
 * test_recorder.c - a recorder needs no tensor: every layer's passes are recorded with addresses that no program has,
 * in every precision.
 */
#include <string.h>

#include "check.h"
#include "layer_rig.h"
#include "nn/recorder.h"

#define NOWHERE ((void *)((uintptr_t)1 << 62))

static void no_tensors(mr_layer_call *c, const void *w[MR_LAYER_PARAMS], void *dw[MR_LAYER_PARAMS])
{
	for (int i = 0; i < MR_LAYER_INPUTS; i++) {
		c->x[i] = c->x[i] ? NOWHERE : NULL;
		c->dx[i] = c->dx[i] ? NOWHERE : NULL;
	}
	for (int i = 0; i < MR_LAYER_OUTPUTS; i++) {
		c->y[i] = c->y[i] ? NOWHERE : NULL;
		c->dy[i] = c->dy[i] ? NOWHERE : NULL;
	}
	for (int i = 0; i < MR_LAYER_STATES; i++) {
		c->state[i] = NOWHERE;
		c->seen[i] = NOWHERE;
	}
	for (int i = 0; i < MR_LAYER_CARRIED; i++) {
		c->begin[i] = c->begin[i] ? NOWHERE : NULL;
		c->end[i] = c->end[i] ? NOWHERE : NULL;
	}
	for (int i = 0; i < MR_LAYER_PARAMS; i++) {
		w[i] = NOWHERE;
		dw[i] = NOWHERE;
	}
	c->w = w;
	c->dw = dw;
	c->aux_i = c->aux_w = c->kept = c->scratch = NOWHERE;
	c->target = NOWHERE;
	c->judged = NULL;
}

static void record(const mr_layer_ops *ops, mr_layer_call *c, bool steps)
{
	mr_step step[MR_LAYER_PARAMS];

	for (int i = 0; i < MR_LAYER_PARAMS; i++)
		step[i] = (mr_step){.src = NOWHERE, .dst = NOWHERE, .m = NOWHERE, .v = NOWHERE};
	c->step = steps ? step : NULL;
	MR_CHECK_OK(ops->forward(c));
	if (ops->loss)
		return;
	MR_CHECK_OK(ops->backward_input(c));
	MR_CHECK_OK(mr_layer_weight(ops, c));
}

static void record_case(const layer_case *what, const mr_kernels *k)
{
	layer_rig r;

	rig_init(&r, what, mr_kernels_find("reference", MR_F32), 3, 7);
	for (int variant = 0; variant < 4; variant++) {
		mr_layer_call c = r.call;
		const void *w[MR_LAYER_PARAMS];
		void *dw[MR_LAYER_PARAMS];
		mr_recorder *recorder;

		MR_CHECK_OK(mr_recorder_create(k, 1, &recorder));
		c.k = mr_recorder_kernels(recorder);
		c.kc = mr_recorder_context(recorder);
		no_tensors(&c, w, dw);
		for (int i = 0; i < rig_n_in(&r); i++)
			c.dx_add[i] = variant & 1;
		c.dw_add = variant & 1;
		record(r.ops, &c, variant & 2);
		mr_recorder_destroy(recorder);
	}
	rig_fini(&r);
}

static void no_layer_looks_at_a_tensor(void)
{
	const mr_kernels *all[] = {mr_kernels_find("reference", MR_F32), mr_kernels_find("reference", MR_F64),
				   mr_kernels_find("reference", MR_BF16), mr_kernels_of("reference", MR_AS_bf16_pure)};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (size_t j = 0; layer_case_at(j); j++)
			record_case(layer_case_at(j), all[i]);
}

/* The products of pairs are counted, and a stage of them may be larger than any memory. */
static void pairs_are_counted(void)
{
	const mr_kernels *k = mr_kernels_find("reference", MR_F32);
	mr_pairs p = {.samples = (int64_t)1 << 40, .parts = 1, .of_part = {4}, .n = 4, .width = 10};
	const void *x[] = {NOWHERE};
	const mr_recorded *call;
	mr_recorder *r;
	size_t n;

	MR_CHECK_OK(mr_recorder_create(k, 1, &r));
	MR_CHECK_OK(mr_recorder_kernels(r)->pairs(mr_recorder_context(r),
						  &(mr_pairs_args){.p = &p, .x = x, .y = NOWHERE}));
	mr_recorder_calls(r, &call, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_STRING_EQUAL(mr_kernel_name(call[0].call.id), "pairs");
	CU_ASSERT_EQUAL(call[0].call.flops, 2.0 * 6 * 10 * (double)p.samples);
	CU_ASSERT_EQUAL(call[0].by, MR_BY_REFERENCE);
	mr_recorder_destroy(r);
}

void mr_suite_recorder(void);

void mr_suite_recorder(void)
{
	MR_SUITE("recorder");
	MR_TEST(no_layer_looks_at_a_tensor);
	MR_TEST(pairs_are_counted);
}
