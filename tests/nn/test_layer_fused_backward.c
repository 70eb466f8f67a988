/*
 * test_layer_fused_backward.c - layers whose I goes on through the activation of the layer in front
 * (mr_layer_ops.produces_dz): the bits of act_backward before and after a plain I, on every backend.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "layer_rig.h"

static void same(const layer_rig *r, const void *got, const void *want, int64_t n)
{
	bool ok = !memcmp(got, want, (size_t)n * mr_dtype_bytes(r->k->types.weights));

	if (!ok)
		fprintf(stderr, "\n%s (%s), %s: dx has other bits\n", r->what->layer, r->what->label, r->k->name);
	CU_ASSERT(ok);
}

static void check(layer_rig *r, mr_act front)
{
	int64_t n = rig_n_x(r, 0);
	void *plain = malloc((size_t)n * mr_dtype_bytes(r->k->types.weights));
	mr_layer_call call;

	CU_ASSERT_PTR_NOT_NULL_FATAL(plain);
	rig_forward(r);
	rig_input(r);
	MR_CHECK_OK(r->k->act_backward(r->kc, &(mr_act_backward_args){.act = front, .n = n, .aux = r->x[0],
								      .dy = r->dx[0],
								      .dz = plain})); /* aux: any numbers will do */
	r->call.fuse_act_backward = front;
	r->call.fuse_act_backward_aux = r->x[0];
	rig_input(r);
	same(r, r->dx[0], plain, n);
	if (r->what->cfg.act != MR_ACT_NONE) { /* and the layer behind does the same for this one */
		call = r->call;
		call.dy[0] = call.kept;
		call.dy_is_pre_activation = true;
		rig_poison(r, r->dx[0], n);
		MR_CHECK_OK(r->ops->backward_input(&call));
		same(r, r->dx[0], plain, n);
	}
	free(plain);
}

static void gradients_may_come_through_the_activation_in_front(void)
{
	const mr_kernels *of[3] = {mr_kernels_find("reference", MR_F64), mr_kernels_find("reference", MR_F32),
				   mr_kernels_find("fused", MR_F32)};
	const layer_case *what;
	uint32_t n = 0;

	for (int i = 0; i < 3; i++)
		for (size_t j = 0; of[i] && (what = layer_case_at(j)); j++)
			for (int act = MR_ACT_RELU; act <= MR_ACT_GELU && mr_layer_find(what->layer)->produces_dz;
			     act++, n++) {
				layer_rig r;

				rig_init(&r, what, of[i], 2, 5);
				check(&r, (mr_act)act);
				rig_fini(&r);
			}
	CU_ASSERT(n > 0);
}

void mr_suite_layer_fused_backward(void);

void mr_suite_layer_fused_backward(void)
{
	MR_SUITE("layer_fused_backward");
	MR_TEST(gradients_may_come_through_the_activation_in_front);
}
