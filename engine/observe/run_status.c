#include "observe/run_status.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "session/shares.h"
#include "session/worker_text.h"

static void take_doing(const mr_worker *w, char *text, size_t size)
{
	uint64_t doing = atomic_load_explicit(&w->doing, memory_order_relaxed);
	uint32_t why = atomic_load_explicit(&w->waiter.why, memory_order_relaxed);

	if (doing == MR_DOING_NOTHING)
		snprintf(text, size, "idle");
	else if (why && why < MR_N_WAITS)
		snprintf(text, size, "%s s%u m%u waits: %s", mr_op_name((mr_op)(doing >> 56)),
			 (unsigned)(uint16_t)(doing >> 40), (unsigned)doing, mr_report_wait_name((mr_wait_cause)why));
	else
		snprintf(text, size, "%s s%u m%u", mr_op_name((mr_op)(doing >> 56)), (unsigned)(uint16_t)(doing >> 40),
			 (unsigned)doing);
}

static void take_row(const mr_session *s, uint32_t i, const mr_worker_window *w, mr_run_status_worker *out)
{
	const mr_worker *worker = mr_executor_row(&s->executor, i);
	uint32_t shares = mr_executor_shares(&s->executor);
	mr_worker_row *row = &out->row;

	row->worker = worker->id;
	row->share = shares > 1 ? i % shares : (double)NAN;
	mr_worker_cores_text(mr_session_row_place(s, i), row->cores, sizeof(row->cores));
	mr_worker_stages_text(worker->run->c.plan, worker->id, row->stages, sizeof(row->stages));
	take_doing(worker, row->doing, sizeof(row->doing));
	row->instructions = atomic_load_explicit(&worker->beat, memory_order_relaxed);
	out->part = i < w->n_rows ? w->row[i] : mr_times_unknown();
}

static mr_weights_row weights_of(const mr_run *run, uint16_t s)
{
	const mr_stage_weights *b = mr_run_weights(run, 0, s);

	return (mr_weights_row){.stage = s, .worker = mr_plan_worker(run->c.plan, 0, s),
				.version = atomic_load_explicit(&b->published.event.count, memory_order_relaxed),
				.staleness = run->c.plan->contract.max_staleness};
}

static mr_status take_workers(const mr_session *s, const mr_worker_window *w, mr_run_status *out)
{
	const mr_run *run = mr_executor_run_of(&s->executor);
	uint32_t n = mr_executor_rows(&s->executor);

	out->worker = calloc(n, sizeof(*out->worker));
	out->stage = calloc(run->n_stages + 1u, sizeof(*out->stage));
	if (!out->worker || !out->stage)
		return mr_fail(MR_ERESOURCE, "no memory for the status of %u workers", n);
	out->n_workers = n;
	out->n_stages = run->n_stages;
	for (uint32_t i = 0; i < n; i++)
		take_row(s, i, w, &out->worker[i]);
	for (uint16_t i = 0; i < out->n_stages; i++)
		out->stage[i] = weights_of(run, i);
	return MR_OK;
}

mr_status mr_run_status_take(const mr_session *s, const mr_figures *now, const mr_worker_window *w, mr_run_status *out)
{
	struct timespec t;
	mr_status st;

	*out = (mr_run_status){.row.pid = (uint64_t)getpid(), .now = *now};
	clock_gettime(CLOCK_REALTIME, &t);
	out->row.updated = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
	if (gethostname(out->row.host, sizeof(out->row.host) - 1))
		snprintf(out->row.host, sizeof(out->row.host), "?");
	snprintf(out->row.state, sizeof(out->row.state), "trains");
	snprintf(out->row.name, sizeof(out->row.name), "%s", s->job->name ? s->job->name : "");
	snprintf(out->row.model, sizeof(out->row.model), "%s", s->job->model.name);
	snprintf(out->row.system, sizeof(out->row.system), "%s", s->plan->system);
	snprintf(out->row.rate_name, sizeof(out->row.rate_name), "%s",
		 mr_session_tokens_per_sample(s) ? "tok/s" : "samples/s");
	st = take_workers(s, w, out);
	if (st != MR_OK)
		mr_run_status_fini(out);
	return st;
}

void mr_run_status_fini(mr_run_status *s)
{
	free(s->worker);
	free(s->stage);
	*s = (mr_run_status){0};
}
