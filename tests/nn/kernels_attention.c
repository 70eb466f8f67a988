/* kernels_attention.c - attention, rotary positions and activations of transformers, as operations of kernels_ops.h. */
#include <stdlib.h>

#include "check.h"
#include "kernels_ops.h"

/* dims samples, t, heads, dim; variant 1: one key and value head, 2: in both directions, 3: both */
void run_attn(const op_case *c)
{
	mr_attn a = {.samples = c->dim[0], .t = c->dim[1], .heads = c->dim[2], .dim = c->dim[3],
		     .kv_heads = c->variant & 1, .bidirectional = c->variant & 2};
	int64_t rows = a.samples * a.t, width = a.heads * a.dim, all = mr_attn_width(&a);
	const mr_kernels *k = c->k;
	void *qkv = make_input(k, rows * all, 1, -2, 2), *dy = make_input(k, rows * width, 2, -1, 1);
	void *y = make_output(k, rows * width), *dqkv = make_output(k, rows * all);
	void *saved = malloc(saved_bytes(k, &a)), *scratch = malloc(k->attn_scratch_bytes(&a) + 1);

	MR_CHECK_OK(k->attn(c->kc, &(mr_attn_args){.a = &a, .qkv = qkv, .y = y, .saved = saved, .scratch = scratch}));
	MR_CHECK_OK(k->attn_backward(c->kc, &(mr_attn_backward_args){.a = &a, .qkv = qkv, .saved = saved, .dy = dy,
								     .dqkv = dqkv, .scratch = scratch}));
	put(c->out, k, y, rows * width);
	put(c->out, k, dqkv, rows * all);
	c->out->loose = (size_t)(rows * all); /* a hidden pair counts 0 times NaN */
	free(qkv), free(dy), free(y), free(dqkv), free(saved), free(scratch);
}

/* dims samples, t, heads, half a head; variant 1: one key and value head */
void run_rope(const op_case *c)
{
	mr_rope r = {.samples = c->dim[0], .t = c->dim[1], .heads = c->dim[2], .dim = 2 * c->dim[3], .theta = 1000,
		     .kv_heads = c->variant ? 1 : c->dim[2]};
	int64_t rows = r.samples * r.t, n_q = rows * r.heads * r.dim, n_k = rows * r.kv_heads * r.dim;
	const mr_kernels *k = c->k;
	void *x[3] = {make_input(k, n_q, 1, -1, 1), make_input(k, n_k, 2, -1, 1), make_input(k, n_k, 3, -1, 1)};
	void *y = make_output(k, n_q + 2 * n_k), *dy = make_input(k, n_q + 2 * n_k, 4, -1, 1);

	MR_CHECK_OK(k->rope(c->kc, &(mr_rope_args){.r = &r, .q = x[0], .k = x[1], .v = x[2], .y = y}));
	put(c->out, k, y, n_q + 2 * n_k);
	MR_CHECK_OK(k->rope_backward(
		c->kc, &(mr_rope_backward_args){.r = &r, .dy = dy, .dq = x[0], .dk = x[1], .dv = x[2]}));
	for (int i = 0; i < 3; i++) {
		put(c->out, k, x[i], i ? n_k : n_q);
		free(x[i]);
	}
	free(y), free(dy);
}

/* dims product; variant 1: in place */
void run_swiglu(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	const mr_kernels *k = c->k;
	void *gate = make_input(k, n, 1, -9, 9), *up = make_input(k, n, 2, -1, 1), *dy = make_input(k, n, 3, -1, 1);
	void *y = make_output(k, n), *dgate = make_output(k, n), *copy = make_input(k, n, 1, -9, 9);

	MR_CHECK_OK(k->swiglu(c->kc, &(mr_swiglu_args){.n = n, .gate = c->variant ? copy : gate, .up = up,
						       .y = c->variant ? copy : y}));
	put(c->out, k, c->variant ? copy : y, n);
	MR_CHECK_OK(k->swiglu_backward(c->kc, &(mr_swiglu_backward_args){.n = n, .gate = gate, .up = up, .dy = dy,
									 .dgate = c->variant ? gate : dgate,
									 .dup = c->variant ? dy : y}));
	put(c->out, k, c->variant ? gate : dgate, n);
	put(c->out, k, c->variant ? dy : y, n);
	free(gate), free(up), free(dy), free(y), free(dgate), free(copy);
}

/* dims product; variant 1: in place */
void run_gelu_erf(const op_case *c)
{
	int64_t n = c->dim[0] * c->dim[1];
	void *x = make_input(c->k, n, 1, -7, 7), *dy = make_input(c->k, n, 2, -1, 1), *y = make_output(c->k, n);

	MR_CHECK_OK(c->k->gelu_erf(c->kc, &(mr_gelu_erf_args){.n = n, .x = x, .y = y}));
	put(c->out, c->k, y, n);
	MR_CHECK_OK(c->k->gelu_erf_backward(c->kc, &(mr_gelu_erf_backward_args){.n = n, .x = x, .dy = dy,
										.dx = c->variant ? dy : y}));
	put(c->out, c->k, c->variant ? dy : y, n);
	free(x), free(dy), free(y);
}
