#include "session/kernel_memory.h"

#include <stdlib.h>
#include <string.h>

#include "exec/run_plan.h"
#include "nn/kernel_room.h"

mr_status mr_session_stage_calls(const mr_session *s, const mr_run *run, uint16_t i, mr_stage_calls *c)
{
	return mr_stage_calls_init(c, run->stage[i], s->place.worker[mr_plan_worker(s->plan, 0, i)].n_threads,
				   mr_run_steps_inside(s->plan, i) && !s->optim.form);
}

/* In bf16 the operands of a product over several micro-batches are packed beside each other; those of one are counted.
 */
static uint64_t of_spans(const mr_session *s, uint16_t w, const mr_recorded *call, size_t n)
{
	uint64_t one = 0;
	uint32_t span = 1;

	for (int section = 0; s->kernels->types.weights == MR_BF16 && section < MR_N_SECTIONS; section++)
		for (uint32_t k = 0; k < mr_plan_list(s->plan, w, (mr_section)section)->n; k++) {
			uint32_t more = mr_plan_list(s->plan, w, (mr_section)section)->at[k].span;

			span = more > span ? more : span;
		}
	for (size_t i = 0; i < n; i++) {
		const mr_gemm *g = &call[i].call.gemm;
		uint64_t bytes = sizeof(uint16_t) * (uint64_t)(g->k * (g->m + g->n));

		one = call[i].call.is_gemm && g->ta && bytes > one ? bytes : one;
	}
	return (span - 1) * one;
}

/* The stages of worker @w share its context. @all has room for the calls of all stages. */
static uint64_t of_worker(const mr_session *s, const mr_run *run, uint16_t w, const mr_stage_calls *calls,
			  mr_recorded *all)
{
	size_t n = 0;

	for (uint16_t i = 0; i < run->n_stages; i++) {
		bool has = false;

		for (uint8_t p = 0; p < run->n_pipes; p++)
			has = has || mr_plan_worker(s->plan, p, i) == w;
		if (has && calls[i].n) {
			memcpy(all + n, calls[i].call, calls[i].n * sizeof(*all));
			n += calls[i].n;
		}
	}
	return mr_kernel_room(s->kernels, s->place.worker[w].n_threads, all, n) + of_spans(s, w, all, n);
}

static mr_status of_all(const mr_session *s, const mr_run *run, mr_stage_calls *calls, mr_kernel_bytes *out)
{
	mr_recorded *all;
	size_t n = 0;

	*out = (mr_kernel_bytes){0};
	for (uint16_t i = 0; i < run->n_stages; i++) {
		uint64_t code;

		MR_TRY(mr_session_stage_calls(s, run, i, &calls[i]));
		mr_flops_by_add(&out->flops, &calls[i]);
		n += calls[i].n;
		code = mr_kernel_code(calls[i].call, calls[i].n);
		out->code = code > out->code ? code : out->code;
	}
	all = malloc((n + 1) * sizeof(*all));
	if (!all)
		return mr_fail(MR_ERESOURCE, "no memory for a plan");
	for (uint16_t w = 0; w < run->n_workers; w++)
		if (mr_run_is_here(&run->c, w))
			out->contexts += of_worker(s, run, w, calls, all);
	free(all);
	return MR_OK;
}

mr_status mr_kernel_memory(const mr_session *s, const mr_run *run, mr_kernel_bytes *out)
{
	mr_stage_calls *calls = calloc(run->n_stages, sizeof(*calls));
	mr_status st;

	if (!calls)
		return mr_fail(MR_ERESOURCE, "no memory for a plan");
	st = of_all(s, run, calls, out);
	for (uint16_t i = 0; i < run->n_stages; i++)
		mr_stage_calls_fini(&calls[i]);
	free(calls);
	return st;
}
