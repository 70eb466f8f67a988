#include "logbook/run_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/log.h"
#include "base/result.h"
#include "base/str.h"
#include "host/processor.h"
#include "timing/walk_trace.h"
#include "logbook/machine_picture.h"
#include "observe/worker_window.h"
#include "outline/stage_row.h"
#include "costs/cost_model.h"
#include "costs/forecast.h"
#include "session/shares.h"
#include "session/worker_text.h"

#define MOST_RECORDS 1500 /* of a timeline */
#define LONGEST_PLAN 200000 /* instructions of a body whose timeline is made */

/* --- texts --- */

static const char *plural(long long n)
{
	return n == 1 ? "" : "s";
}

static void put_about(mr_json_writer *w, const mr_run_facts *f)
{
	const mr_session *s = f->s;
	char params[32], flops[160], shares[160];
	mr_run_about a = {.data = s->data->describe, .flops = mr_flops_by_text(&s->flops, flops), .begun = f->begun};

	snprintf(a.model, sizeof(a.model), "%s, %s parameters, %u layers", s->job->model.name,
		 mr_count_text((uint64_t)mr_graph_n_params(mr_session_model(s)), params), mr_session_model(s)->n_nodes);
	snprintf(a.system, sizeof(a.system), "%s, %u worker%s, %u micro-batch%s of %lld sample%s a step",
		 s->plan->system, s->place.n_workers, plural(s->place.n_workers), s->n_micro,
		 s->n_micro == 1 ? "" : "es", (long long)s->samples, plural(s->samples));
	snprintf(a.plan, sizeof(a.plan), "%016" PRIx64 ", staleness at most %u", s->plan_hash,
		 s->plan->contract.max_staleness);
	a.shares = s->n_shares ? mr_session_shares_text(s, shares) : NULL;
	snprintf(a.kernels, sizeof(a.kernels), "%s, %s", s->kernels->name, mr_types_name(&s->kernels->types));
	mr_topo_print(&s->topo, a.machine, sizeof(a.machine));
	snprintf(a.peak, sizeof(a.peak), "%s %.0f GFLOP/s%s%s%s on %u core%s", f->isa ? "measured" : "given",
		 f->peak_gflops, f->isa ? " (" : "", f->isa ? f->isa : "", f->isa ? ")" : "", s->place.n_cores_used,
		 plural(s->place.n_cores_used));
	mr_json_key(w, "about");
	mr_record_put_object(MR_RECORD_ABOUT, &a, w);
}

static void put_environment(mr_json_writer *w, const mr_run_facts *f)
{
	struct utsname u;
	mr_run_environment e = {
		.program = "millrace " MR_VERSION,
#ifdef __clang__
		.compiler = __VERSION__,
#else
		.compiler = "gcc " __VERSION__,
#endif
		.products = mr_kernels_library(),
		.cpu_limit = f->s->topo.cpu_limit,
		.memory_limit = f->s->topo.memory_limit,
	};

	if (!uname(&u)) {
		snprintf(e.system, sizeof(e.system), "%s %s %s", u.sysname, u.release, u.machine);
		e.host = u.nodename;
	}
	mr_processor_name(e.processor, sizeof(e.processor));
	mr_json_key(w, "environment");
	mr_record_put_object(MR_RECORD_ENVIRONMENT, &e, w);
}

/* --- the machine and what runs on it --- */

static void put_nodes(mr_json_writer *w, const mr_topo *t)
{
	mr_json_field_array(w, "nodes");
	for (const mr_topo_node *n = t->node; n < t->node + t->n_nodes; n++) {
		mr_json_begin_object(w);
		mr_record_put(MR_RECORD_NODE, &(mr_node_row){n->os_index, n->memory_bytes}, w);
		mr_json_field_array(w, "caches");
		for (const mr_topo_l3 *c = t->l3 + n->first_l3; c < t->l3 + n->first_l3 + n->n_l3s; c++) {
			const mr_topo_core *core = &t->core[c->first_core];
			mr_counts cpus = {&core->cpu, c->n_cores, sizeof(core->cpu), sizeof(*core), NULL};

			mr_record_put_object(MR_RECORD_CACHE, &(mr_cache_row){c->bytes, cpus}, w);
		}
		mr_json_end_array(w);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
}

/* Of all sessions. */
static void put_times(mr_json_writer *w, const mr_run_facts *f, uint32_t row, uint32_t n_rows)
{
	mr_times t = {.elapsed = 0};

	if (f->train_ns)
		t = mr_worker_times(&f->s->executor, row, f->train_ns);
	mr_run_sessions_add_times(&f->sessions, n_rows, row, &t);
	if (t.elapsed > 0)
		mr_record_put(MR_RECORD_TIMES, &t, w);
}

static void put_workers(mr_json_writer *w, const mr_run_facts *f)
{
	uint32_t shares = f->s->n_shares ? f->s->n_shares : 1, n = f->s->place.n_workers * shares;
	mr_strbuf text = {0};

	mr_json_field_array(w, "workers");
	for (uint32_t i = 0; i < n; i++) {
		const mr_place_worker *at = mr_session_row_place(f->s, i);
		mr_place_row row = {i / shares, shares > 1 ? i % shares : (double)NAN, at->node_os,
				    MR_COUNTS(at->cpu, at->n_threads), NULL};

		mr_strbuf_reset(&text);
		mr_machine_row_text(f->s, i, &text);
		row.text = mr_strbuf_text(&text);
		mr_json_begin_object(w);
		mr_record_put(MR_RECORD_PLACE, &row, w);
		put_times(w, f, i, n);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
	mr_strbuf_fini(&text);
}

/* The messages between ranks, a step of this session. */
static void put_between(mr_json_writer *w, const mr_run_facts *f)
{
	const mr_run *run = mr_executor_run_of(&f->s->executor);
	const mr_ranks *r = run->c.ranks;
	double steps = (double)f->figures.step - (double)f->sessions.from;
	char hosts[2 * MR_RANKS_HOST + 8];

	if (!r || steps <= 0)
		return;
	mr_json_field_array(w, "between");
	for (uint32_t i = 0; i < r->n * r->n; i++) {
		const mr_message_sum *s = &run->between[i];
		mr_between_row row = {.from = i / r->n, .to = i % r->n, .hosts = hosts, .hidden = NAN};

		if (!s->n)
			continue;
		snprintf(hosts, sizeof(hosts), "%s to %s", r->at[row.from].host, r->at[row.to].host);
		row.messages = (double)s->n / steps;
		row.bytes = (double)s->bytes / steps;
		row.send = (double)s->send_ns / 1e9 / steps;
		row.wire = (double)s->wire_ns / 1e9 / steps;
		row.wait = (double)s->wait_ns / 1e9 / steps;
		if (s->wire_ns)
			row.hidden = 1 - row.wait / row.wire;
		mr_record_put_object(MR_RECORD_BETWEEN, &row, w);
	}
	mr_json_end_array(w);
}

static void put_stages(mr_json_writer *w, const mr_session *s)
{
	const mr_run *run = mr_executor_run_of(&s->executor);
	uint32_t pipes = s->plan->n_pipes;

	mr_json_field_array(w, "stages");
	for (uint32_t i = 0; i < s->partition.n_stages * pipes; i++) {
		mr_stage_row r;
		mr_stage_bytes bytes;

		mr_stage_row_of(s, run, (uint8_t)(i % pipes), (uint16_t)(i / pipes), &r, &bytes);
		mr_json_begin_object(w);
		mr_record_put(MR_RECORD_STAGE, &r, w);
		mr_record_put(MR_RECORD_STAGE_BYTES, &bytes, w);
		mr_json_end_object(w);
	}
	mr_json_end_array(w);
}

/* --- what was measured --- */

/* Of all sessions. Counts end with the last that is not 0. */
static void put_staleness(mr_json_writer *w, const mr_run_facts *f)
{
	const mr_run *run = mr_executor_run_of(&f->s->executor);
	uint64_t count[MR_STALENESS_BINS];

	mr_json_field_array(w, "staleness");
	for (uint16_t s = 0; s < run->n_stages; s++) {
		uint32_t n = MR_STALENESS_BINS, bins = 0;

		mr_run_staleness(run, s, count);
		for (uint32_t k = 0; k < n && (!k || k < bins); k++)
			count[k] += mr_run_sessions_stale(&f->sessions, run->n_stages, s, k, &bins);
		while (n && !count[n - 1])
			n--;
		mr_record_put_object(MR_RECORD_STALENESS, &(mr_staleness_row){s, MR_COUNTS(count, n)}, w);
	}
	mr_json_end_array(w);
}

static void put_timeline(mr_json_writer *w, const mr_run_facts *f)
{
	mr_timeline_row row = {f->what, f->traced, f->s->plan->contract.flush == MR_FLUSH_NONE};
	uint32_t shares = f->traced ? mr_executor_shares(&f->s->executor) : 1;
	uint64_t from = f->rec[0].begin_ns; /* keep() has sorted them */

	mr_json_field_object(w, "timeline");
	mr_record_put(MR_RECORD_TIMELINE, &row, w);
	mr_json_field_array(w, "records");
	for (size_t i = 0; i < f->n_rec; i++) {
		const mr_trace_rec *r = &f->rec[i];
		mr_instruction_row x = {r->worker / shares, r->op, r->stage, r->pipe, r->micro, r->version,
					r->begin_ns - from, r->end_ns - from, r->share};

		mr_record_put_array(MR_RECORD_INSTRUCTION, &x, w);
	}
	mr_json_end_array(w);
	mr_json_end_object(w);
}

static void put_sessions(mr_json_writer *w, const mr_run_facts *f)
{
	mr_session_row now = {.from = f->sessions.from, .to = NAN, .seconds = NAN, .busy = NAN};
	struct utsname u;

	snprintf(now.begun, sizeof(now.begun), "%s", f->begun);
	snprintf(now.host, sizeof(now.host), "%s", uname(&u) ? "" : u.nodename);
	if (f->train_ns) {
		now.to = (double)f->figures.step;
		now.seconds = (double)f->train_ns / 1e9;
		now.busy = f->figures.busy;
	}
	mr_run_sessions_put(&f->sessions, &now, w);
}

/* What a session measures at its end, or what the one before had measured. */
static void put_measured(mr_json_writer *w, const mr_run_facts *f)
{
	if (!f->train_ns) {
		mr_run_sessions_keep(&f->sessions, "between", w);
		mr_run_sessions_keep(&f->sessions, "staleness", w);
		mr_run_sessions_keep(&f->sessions, "figures", w);
	} else {
		put_between(w, f);
		put_staleness(w, f);
		mr_json_field_object(w, "figures");
		mr_figures_put(&f->figures, false, w);
		mr_json_end_object(w);
	}
	if (f->roofline.n) {
		mr_json_key(w, "roofline");
		mr_roofline_json(&f->roofline, w);
	} else {
		mr_run_sessions_keep(&f->sessions, "roofline", w);
	}
	if (f->n_rec && (f->traced || !mr_run_sessions_traced(&f->sessions)))
		put_timeline(w, f);
	else
		mr_run_sessions_keep(&f->sessions, "timeline", w);
}

static mr_status write_json(const mr_run_facts *f, FILE *out)
{
	mr_json_writer w = mr_json_begin(out, true);

	put_about(&w, f);
	put_environment(&w, f);
	put_nodes(&w, &f->s->topo);
	put_workers(&w, f);
	put_stages(&w, f->s);
	put_sessions(&w, f);
	put_measured(&w, f);
	return mr_json_finish(&w);
}

static mr_status write_file(const mr_run_facts *f)
{
	mr_result r;

	MR_TRY(mr_result_begin(&r, f->path, MR_RESULT_OWN));
	return mr_result_end(&r, write_json(f, r.file));
}

mr_status mr_run_facts_begin(mr_run_facts *f, const mr_session *s, const char *path, uint64_t step, double peak_gflops,
			     const char *isa)
{
	time_t now = time(NULL);
	struct tm utc;

	*f = (mr_run_facts){.s = s, .path = path, .peak_gflops = peak_gflops, .isa = isa};
	mr_run_sessions_open(&f->sessions, path, step);
	if (gmtime_r(&now, &utc))
		strftime(f->begun, sizeof(f->begun), "%Y-%m-%d %H:%M:%S UTC", &utc);
	return write_file(f);
}

/* --- timeline --- */

static int by_begin(const void *a, const void *b)
{
	const mr_trace_rec *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Keep the first of @rec, which the facts take over. */
static void keep(mr_run_facts *f, mr_trace_rec *rec, size_t n)
{
	qsort(rec, n, sizeof(*rec), by_begin);
	free(f->rec);
	f->rec = rec;
	f->n_rec = n < MOST_RECORDS ? n : MOST_RECORDS;
}

mr_status mr_run_facts_trace(mr_run_facts *f, uint64_t first, uint64_t last)
{
	const mr_executor *x = &f->s->executor;
	mr_trace_rec *rec;
	size_t n;

	last = last > first + 1 ? first + 1 : last; /* two steps show what a step is */
	rec = calloc(mr_executor_records(x, first, last, NULL) + 1, sizeof(*rec));
	if (!rec)
		return mr_fail(MR_ERESOURCE, "no memory for a timeline");
	n = mr_executor_records(x, first, last, rec);
	if (first == last)
		snprintf(f->what, sizeof(f->what), "Step %llu as it was measured.", (unsigned long long)first);
	else
		snprintf(f->what, sizeof(f->what), "Steps %llu and %llu as they were measured.",
			 (unsigned long long)first, (unsigned long long)last);
	keep(f, rec, n);
	f->traced = true;
	return MR_OK;
}

/* The plan's timeline, for a run without a trace. */
static mr_status plan_timeline(mr_run_facts *f)
{
	mr_forecast forecast = {.of = mr_session_workload(f->s)};
	mr_trace_rec *rec = NULL;
	uint64_t longest = 0;
	size_t n = 0;
	mr_status st;

	for (uint16_t w = 0; w < f->s->plan->n_workers; w++)
		longest += mr_plan_list(f->s->plan, w, MR_PROLOGUE)->n + mr_plan_list(f->s->plan, w, MR_BODY)->n;
	if (longest > LONGEST_PLAN)
		return MR_OK;
	st = mr_costs_forecast(&forecast.of, 0, &forecast.costs);
	if (st == MR_OK)
		st = mr_forecast_time(&forecast);
	if (st == MR_OK)
		st = mr_walk_trace(f->s->plan, forecast.walk, 1e9, &rec, &n);
	if (st == MR_OK) {
		snprintf(f->what, sizeof(f->what),
			 "The plan, with costs %s. Nothing was traced: trace.steps = \"100-101\" in the configuration "
			 "shows two steps as they were measured.",
			 forecast.costs.source);
		keep(f, rec, n);
	}
	mr_forecast_fini(&forecast);
	return st;
}

mr_status mr_run_facts_end(mr_run_facts *f, const mr_figures *figures, uint64_t train_ns, const mr_roofline *roofline)
{
	f->figures = *figures;
	f->train_ns = train_ns;
	f->roofline = *roofline;
	if (!f->n_rec && f->s->plan && !mr_run_sessions_traced(&f->sessions) && plan_timeline(f) != MR_OK)
		mr_log(MR_LOG_INFO, "report", "no timeline of the plan: %s", mr_error_text());
	return write_file(f);
}

void mr_run_facts_fini(mr_run_facts *f)
{
	free(f->rec);
	f->rec = NULL;
	mr_run_sessions_fini(&f->sessions);
}
