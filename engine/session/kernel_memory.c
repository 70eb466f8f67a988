#include "session/kernel_memory.h"

#include <stdlib.h>
#include <string.h>

#include "exec/run_plan.h"
#include "nn/kernel_room.h"

mr_status mr_session_stage_calls(const mr_session *s, const mr_run *run, uint16_t i, mr_stage_calls *c)
{
	return mr_stage_calls_init(c, run->stage[i], s->place.worker[mr_plan_worker(s->plan, 0, i)].n_threads,
				   mr_run_steps_inside(s->plan, i));
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
	return mr_kernel_room(s->kernels, s->place.worker[w].n_threads, all, n);
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
		out->contexts += of_worker(s, run, w, calls, all);
	free(all);
	return MR_OK;
}

mr_status mr_kernel_memory(const mr_session *s, const mr_run *run, mr_kernel_bytes *out)
{
	mr_stage_calls *calls;
	mr_status st;

	calls = calloc(run->n_stages, sizeof(*calls));
	if (!calls)
		return mr_fail(MR_ERESOURCE, "no memory for a plan");
	st = of_all(s, run, calls, out);
	for (uint16_t i = 0; i < run->n_stages; i++)
		mr_stage_calls_fini(&calls[i]);
	free(calls);
	return st;
}
