/*
 * auto.c - the backend `auto`: every operation that a table of choices gives to oneDNN by the functions of `onednn`,
 * the rest by those of `fused`, in the one context that both have.
 *
 * Products choose in fused.c: the sums of columns, GELU and everything else that goes with a product is then done as
 * `fused` does it after oneDNN's product, so that the column sums of any product have the bits of colsum, and GELU
 * keeps the input that act_backward needs. The tables of bf16 are in fused_bf16.c.
 */
#include "nn/kernels/backend.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/onednn/onednn.h"

/* What the column `choice` of nn/kernels.def says beside the kinds of a table. */
enum { MR_CHOICE_none = MR_N_CHOICES, MR_CHOICE_product };

/* Does the table give this call, which is no product, to oneDNN? */
static bool by_onednn(const mr_chosen *chosen, int choice, const mr_kernel_call *c)
{
	if (choice >= MR_N_CHOICES)
		return false;
	return mr_chosen_onednn(chosen, (mr_choice_kind)choice, c->rows,
				c->is_conv ? mr_conv_weights(&c->conv) : c->rows * c->cols);
}

/* The operations for which oneDNN has a primitive. */
#define CHOSEN_OURS(id, choice)
#define CHOSEN_BOTH(id, choice) CHOSEN_ONEDNN(id, choice)
#define CHOSEN_ONEDNN(id, choice) \
	static mr_status chosen_##id(mr_kctx *kc, const mr_##id##_args *o) \
	{ \
		mr_kernel_call call = mr_call_of_##id(o); \
\
		return (by_onednn(&kc->chosen, MR_CHOICE_##choice, &call) ? mr_by_onednn_##id : mr_fused_##id)(kc, o); \
	}
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) CHOSEN_##onednn(id, choice)
#include "nn/kernels.def"

static mr_kernel_by executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c)
{
	static const int choices[MR_N_KERNELS] = {
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) MR_CHOICE_##choice,
#define MR_OPERATION_WHOLE(id, what) MR_CHOICE_none,
#include "nn/kernels.def"
	};
	mr_chosen chosen;

	mr_choices_select(k->choices, mr_kernels_fused_isa(k->types.weights), k->types.weights, n_threads, &chosen);
	if (c->is_gemm)
		return mr_chosen_gemm(&chosen, &c->gemm) ? MR_BY_ONEDNN : mr_fused_executor(k, n_threads, c);
	return by_onednn(&chosen, choices[c->id], c) ? mr_onednn_executor(k, n_threads, c)
						     : mr_fused_executor(k, n_threads, c);
}

static mr_choice_kind recurrence_kind(const mr_recurrence *r)
{
	return r->kind == MR_CELL_LSTM ? MR_CHOICE_lstm : MR_CHOICE_gru;
}

static bool chosen_for_recurrence(const mr_chosen *c, const mr_recurrence *r)
{
	return mr_chosen_onednn(c, recurrence_kind(r), r->samples * r->t,
				mr_cell_gates(r->kind) * r->width * (r->in + r->width));
}

static bool takes_recurrence(const mr_kctx *kc, const mr_recurrence *r)
{
	return chosen_for_recurrence(&kc->chosen, r);
}

static bool recurrence_room(const mr_kernels *k, const mr_recurrence *r, mr_recurrence_room *out)
{
	mr_chosen chosen;

	mr_choices_select(k->choices, mr_kernels_fused_isa(MR_F32), MR_F32, 1, &chosen);
	return chosen_for_recurrence(&chosen, r) && mr_by_onednn_recurrence_room(k, r, out);
}

#define BY_OURS(id) mr_fused_##id
#define BY_BOTH(id) chosen_##id
#define BY_ONEDNN(id) chosen_##id

const mr_kernels mr_kernels_auto_f32 = {
	.name = "auto",
	.types = MR_TYPES_ALL(MR_F32),
	.refusal = mr_kernels_fused_refusal,
	.gelu_aux = "slope of GELU", /* as fused */
	.choices = &mr_choices_built_in,
	.executor = executor,
	.packed_bytes = mr_fused_packed_bytes,
	.recurrence_room = recurrence_room,
	.takes_recurrence = takes_recurrence,
#define MR_KERNEL_PART(type, id, args) .id = mr_fused_##id,
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) .id = BY_##onednn(id),
#define MR_OPERATION_WHOLE(id, what) .id = mr_by_onednn_##id,
#include "nn/kernels.def"
};
