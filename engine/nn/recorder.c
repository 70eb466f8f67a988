#include "nn/recorder.h"

#include <stdlib.h>

/* The context of the table below. */
struct mr_kctx {
	const mr_kernels *of;
	uint32_t n_threads;
	mr_recorded *call;
	size_t n, room;
};

struct mr_recorder {
	mr_kernels kernels;
	mr_kctx kc;
};

/* Refuses a call that lacks an operand, so that no run begins with it. */
static mr_status note(mr_kctx *kc, const mr_kernel_call *c, const mr_operand *x, uint32_t n_operands)
{
	mr_kernel_by e = kc->of->executor ? kc->of->executor(kc->of, kc->n_threads, c) : MR_BY_REFERENCE;

	MR_TRY(mr_operands_check(mr_kernel_name(c->id), x, n_operands));
	if (kc->n == kc->room) {
		size_t room = kc->room ? 2 * kc->room : 64;
		mr_recorded *more = realloc(kc->call, room * sizeof(*more));

		if (!more)
			return mr_fail(MR_ERESOURCE, "no memory for the calls of a stage");
		kc->call = more;
		kc->room = room;
	}
	kc->call[kc->n++] = (mr_recorded){*c, e};
	return MR_OK;
}

static bool takes_recurrence(const mr_kctx *kc, const mr_recurrence *r)
{
	mr_recurrence_room room;

	return kc->of->recurrence_room && kc->of->recurrence_room(kc->of, r, &room);
}

static uint64_t library_of(const mr_kctx *kc, const mr_recurrence *r)
{
	mr_recurrence_room room;

	return kc->of->recurrence_room(kc->of, r, &room) ? room.library : 0;
}

/* An operation of each row, which notes its call. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	static mr_status id(mr_kctx *kc, const mr_##id##_args *o) \
	{ \
		mr_kernel_call call = mr_call_of_##id(o); \
		mr_operand operand[MR_OPERANDS]; \
\
		return note(kc, &call, operand, mr_operands_of_##id(kc->of, o, operand)); \
	}
#define MR_OPERATION_WHOLE(id, what) \
	static mr_status id(mr_kctx *kc, const mr_##id##_args *o) \
	{ \
		mr_kernel_call call = mr_call_of_##id(o); \
\
		call.library = library_of(kc, o->r); \
		return note(kc, &call, NULL, 0); \
	}
#include "nn/kernels.def"

/* --- the recorder ------------------------------------------------------------------------------------------------- */

mr_status mr_recorder_create(const mr_kernels *of, uint32_t n_threads, mr_recorder **out)
{
	mr_recorder *r = malloc(sizeof(*r));

	*out = r;
	if (!r)
		return mr_fail(MR_ERESOURCE, "no memory for a recorder");
	*r = (mr_recorder){.kernels = *of, .kc = {.of = of, .n_threads = n_threads}};
	r->kernels.recorded = true;
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) r->kernels.id = id;
#define MR_OPERATION_WHOLE(id, what) r->kernels.id = id;
#include "nn/kernels.def"
	r->kernels.takes_recurrence = takes_recurrence;
	return MR_OK;
}

void mr_recorder_destroy(mr_recorder *r)
{
	if (!r)
		return;
	free(r->kc.call);
	free(r);
}

const mr_kernels *mr_recorder_kernels(const mr_recorder *r)
{
	return &r->kernels;
}

mr_kctx *mr_recorder_context(mr_recorder *r)
{
	return &r->kc;
}

void mr_recorder_calls(const mr_recorder *r, const mr_recorded **calls, size_t *n)
{
	*calls = r->kc.call;
	*n = r->kc.n;
}

const char *mr_kernel_by_name(mr_kernel_by e)
{
	static const char *const names[MR_N_KERNEL_BY] = {"reference", "fused", "onednn", "f32 inside"};

	return names[e];
}
