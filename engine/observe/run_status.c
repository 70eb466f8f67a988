#include "observe/run_status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/clock.h"
#include "observe/worker_text.h"
#include "report/table.h"

#define LEAST_NS 200000000u /* a shorter time is no measure */

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

/* Entry @at of what the worker has spent, as a share of the last @ns; @ns 0: too short a time, the last share stands.
 */
static double share(mr_run_status_before *before, size_t at, uint64_t now, uint64_t ns)
{
	if (ns) {
		before->share[at] = fmin(1, (double)(now - before->spent_ns[at]) / (double)ns);
		before->spent_ns[at] = now;
	}
	return before->share[at];
}

static void take_worker(const mr_session *s, uint16_t id, uint64_t ns, mr_run_status_before *before,
			mr_run_status_worker *out)
{
	const mr_run *run = mr_executor_run_of(&s->executor);
	size_t at = (size_t)id * (1 + MR_N_WAITS);
	uint64_t busy, waited[MR_N_WAITS];

	mr_worker_cores_text(&s->place.worker[id], out->cores, sizeof(out->cores));
	mr_worker_stages_text(run, id, out->stages, sizeof(out->stages));
	take_doing(&run->worker[id], out->doing, sizeof(out->doing));
	out->n_instructions = atomic_load_explicit(&run->worker[id].beat, memory_order_relaxed);
	mr_executor_spent(&s->executor, id, &busy, waited);
	out->busy = share(before, at, busy, ns);
	for (int c = 0; c < MR_N_WAITS; c++)
		out->wait[c] = share(before, at + 1 + (size_t)c, waited[c], ns);
}

static void take_stage(const mr_run *run, uint16_t s, mr_run_status_stage *out)
{
	const mr_stage_weights *b = mr_run_weights(run, 0, s);

	out->worker = mr_plan_worker(run->c.plan, 0, s);
	out->version = atomic_load_explicit(&b->published.event.count, memory_order_relaxed);
	out->staleness = run->c.plan->contract.max_staleness;
}

static mr_status take_workers(const mr_session *s, uint64_t begin_ns, mr_run_status_before *before, mr_run_status *out)
{
	const mr_run *run = mr_executor_run_of(&s->executor);
	uint16_t n_workers = run->n_workers, n_stages = run->n_stages;
	size_t n = n_workers * (size_t)(1 + MR_N_WAITS);
	uint64_t now = mr_clock_ns(), ns = now - (before->ns ? before->ns : begin_ns);

	out->worker = calloc(n_workers, sizeof(*out->worker));
	out->stage = calloc(n_stages + 1u, sizeof(*out->stage));
	before->spent_ns = before->spent_ns ? before->spent_ns : calloc(n, sizeof(*before->spent_ns));
	before->share = before->share ? before->share : calloc(n, sizeof(*before->share));
	if (!out->worker || !out->stage || !before->spent_ns || !before->share)
		return mr_fail(MR_ERESOURCE, "no memory for the status of %u workers", n_workers);
	if (before->ns && ns < LEAST_NS)
		ns = 0;
	else
		before->ns = now;
	out->n_workers = n_workers;
	out->n_stages = n_stages;
	for (uint16_t w = 0; w < n_workers; w++)
		take_worker(s, w, ns, before, &out->worker[w]);
	for (uint16_t i = 0; i < n_stages; i++)
		take_stage(run, i, &out->stage[i]);
	return MR_OK;
}

mr_status mr_run_status_take(const mr_session *s, const mr_progress_state *p, uint64_t begin_ns,
			     uint64_t predicted_bytes, mr_run_status_before *before, mr_run_status *out)
{
	struct timespec t;
	mr_status st;

	*out = (mr_run_status){.pid = getpid(), .progress = *p, .seconds = NAN};
	clock_gettime(CLOCK_REALTIME, &t);
	out->updated = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
	if (gethostname(out->host, sizeof(out->host) - 1))
		snprintf(out->host, sizeof(out->host), "?");
	snprintf(out->state, sizeof(out->state), "trains");
	snprintf(out->name, sizeof(out->name), "%s", s->job->name ? s->job->name : "");
	snprintf(out->model, sizeof(out->model), "%s", s->job->model.name);
	snprintf(out->system, sizeof(out->system), "%s", s->plan->system);
	snprintf(out->rate_name, sizeof(out->rate_name), "%s",
		 mr_session_tokens_per_sample(s) ? "tok/s" : "samples/s");
	out->resident_bytes = mr_memory_resident_bytes();
	out->peak_bytes = mr_memory_peak_bytes();
	out->predicted_bytes = predicted_bytes;
	st = take_workers(s, begin_ns, before, out);
	if (st != MR_OK)
		mr_run_status_fini(out);
	return st;
}

void mr_run_status_forget(mr_run_status_before *before)
{
	free(before->spent_ns);
	free(before->share);
	*before = (mr_run_status_before){0};
}

void mr_run_status_fini(mr_run_status *s)
{
	free(s->worker);
	free(s->stage);
	*s = (mr_run_status){0};
}
