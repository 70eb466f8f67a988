#include "session/executor.h"

#include <string.h>

mr_status mr_executor_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	if (x->engine)
		return mr_engine_run(x->engine, until, progress, arg, reached);
	if (!x->replay)
		return mr_sequential_run(x->sequential, until, progress, arg, reached);
	return x->source ? mr_replay_follow(x->replay, until, x->source, x->source_arg, progress, arg, reached)
			 : mr_replay_by_clock(x->replay, until, x->clock, progress, arg, reached);
}

mr_status mr_executor_eval(mr_executor *x, mr_eval_wanted *wanted, void *arg, double *loss)
{
	if (x->engine)
		return mr_engine_eval(x->engine, wanted, arg, loss);
	return x->replay ? mr_replay_eval(x->replay, wanted, arg, loss)
			 : mr_sequential_eval(x->sequential, wanted, arg, loss);
}

mr_scores mr_executor_scores(mr_executor *x)
{
	return x->sequential ? mr_sequential_scores(x->sequential) : mr_run_eval_scores(mr_executor_run_of(x));
}

mr_status mr_executor_state(mr_executor *x, mr_state *out)
{
	return x->sequential ? mr_state_of_sequential(x->sequential, out) : mr_state_of_run(mr_executor_run_of(x), out);
}

mr_run *mr_executor_run_of(const mr_executor *x)
{
	return x->engine ? mr_engine_run_of(x->engine) : x->replay ? mr_replay_run_of(x->replay) : NULL;
}

const mr_region *mr_executor_region(const mr_executor *x, uint16_t w)
{
	mr_run *run = mr_executor_run_of(x);

	return run ? &run->worker[w].region : mr_sequential_region(x->sequential);
}

const mr_node_list *mr_executor_nodes(const mr_executor *x, uint16_t w)
{
	mr_run *run = mr_executor_run_of(x);

	return run ? &run->worker[w].nodes : mr_sequential_nodes(x->sequential);
}

double mr_executor_largest_gradient(const mr_executor *x)
{
	return x->sequential ? mr_sequential_largest_gradient(x->sequential)
			     : mr_run_largest_gradient(mr_executor_run_of(x));
}

void mr_executor_spent(const mr_executor *x, uint16_t w, uint64_t *busy, uint64_t waited[MR_N_WAITS])
{
	mr_run *run = mr_executor_run_of(x);
	uint64_t f, b, u;

	if (run) {
		*busy = atomic_load_explicit(&run->worker[w].busy_ns, memory_order_relaxed);
		for (int c = 0; c < MR_N_WAITS; c++)
			waited[c] = atomic_load_explicit(&run->worker[w].waited_ns[c], memory_order_relaxed);
		return;
	}
	mr_sequential_busy(x->sequential, &f, &b, &u);
	*busy = f + b + u;
	memset(waited, 0, MR_N_WAITS * sizeof(*waited));
	waited[MR_WAIT_DATA] = mr_sequential_data_ns(x->sequential);
	mr_sequential_lost(x->sequential, &waited[MR_WAIT_DESCHEDULED]);
}

static uint16_t n_workers(const mr_executor *x)
{
	mr_run *run = mr_executor_run_of(x);

	return run ? run->n_workers : 1;
}

uint64_t mr_executor_busy_ns(const mr_executor *x)
{
	uint64_t sum = 0, busy, waited[MR_N_WAITS];

	for (uint16_t w = 0; w < n_workers(x); w++) {
		mr_executor_spent(x, w, &busy, waited);
		sum += busy;
	}
	return sum;
}

void mr_executor_waited_ns(const mr_executor *x, uint64_t ns[MR_N_WAITS])
{
	uint64_t busy, waited[MR_N_WAITS];

	memset(ns, 0, MR_N_WAITS * sizeof(*ns));
	for (uint16_t w = 0; w < n_workers(x); w++) {
		mr_executor_spent(x, w, &busy, waited);
		for (int c = 0; c < MR_N_WAITS; c++)
			ns[c] += waited[c];
	}
}

uint64_t mr_executor_stands_ns(const mr_executor *x)
{
	return mr_replay_stands_ns(x->replay);
}

mr_status mr_executor_stand_at(mr_executor *x, uint64_t step)
{
	if (x->engine)
		return mr_engine_resume_at(x->engine, step);
	if (x->replay)
		return mr_fail(MR_EINVAL, "a simulated run begins at step 0, not at step %llu",
			       (unsigned long long)step);
	mr_sequential_resume_at(x->sequential, step);
	return MR_OK;
}

uint64_t mr_executor_bytes(const mr_executor *x)
{
	uint64_t sum = 0;
	mr_run *run;

	run = mr_executor_run_of(x);
	if (!run)
		return mr_sequential_bytes(x->sequential);
	for (uint16_t w = 0; w < run->n_workers; w++)
		sum += run->c.kernels->ctx_bytes(run->worker[w].kc) + (run->worker[w].trace ? MR_TRACE_BYTES : 0);
	return sum + mr_run_mapped_bytes(run);
}

void mr_executor_fini(mr_executor *x)
{
	mr_engine_destroy(x->engine);
	mr_replay_destroy(x->replay);
	mr_sequential_destroy(x->sequential);
	*x = (mr_executor){0};
}
