#include "run/executor.h"

mr_status mr_executor_run(mr_executor *x, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	return x->engine ? mr_engine_run(x->engine, until, progress, arg, reached)
			 : mr_sequential_run(x->sequential, until, progress, arg, reached);
}

mr_status mr_executor_eval(mr_executor *x, double *loss)
{
	return x->engine ? mr_engine_eval(x->engine, loss) : mr_sequential_eval(x->sequential, loss);
}

mr_status mr_executor_state(mr_executor *x, mr_state *out)
{
	return x->engine ? mr_state_of_run(mr_engine_run_of(x->engine), out) : mr_state_of_sequential(x->sequential, out);
}

mr_status mr_executor_stand_at(mr_executor *x, uint64_t step)
{
	if (x->engine)
		return mr_engine_resume_at(x->engine, step);
	mr_sequential_resume_at(x->sequential, step);
	return MR_OK;
}

uint64_t mr_executor_bytes(const mr_executor *x)
{
	uint64_t sum = 0;
	mr_run *run;

	if (!x->engine)
		return mr_sequential_bytes(x->sequential);
	run = mr_engine_run_of(x->engine);
	for (uint16_t w = 0; w < run->n_workers; w++)
		sum += run->c.kernels->ctx_bytes(run->worker[w].kc);
	return sum + mr_run_mapped_bytes(run);
}

void mr_executor_fini(mr_executor *x)
{
	mr_engine_destroy(x->engine);
	mr_sequential_destroy(x->sequential);
	*x = (mr_executor){0};
}
