#include "outline/plan_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "session/objective_report.h"
#include "costs/measured_machine.h"
#include "session/host_map.h"
#include "session/machine_levels.h"
#include "session/memory_plan.h"
#include "session/rank_memory.h"
#include "session/shares.h"
#include "report/output.h"
#include "outline/plan_bits.h"
#include "outline/plan_kernels.h"
#include "outline/proof.h"
#include "outline/rank_table.h"
#include "outline/stable_rates.h"
#include "host/node_memory.h"
#include "host/probe.h"
#include "timing/metrics.h"
#include "timing/walk_trace.h"
#include "report/schedule_picture.h"
#include "report/table.h"
#include "ir/stage_ops.h"

#define TEXT_WORKERS 64  /* beyond this many rows the text picture is left out */
#define PROBED_CORES 16u /* of the latency matrix: pairs grow with the square */
#define PROBE_US 2000u   /* for each pair */
#define SAME_TIME 1e-6   /* relative: smaller differences are rounding */

/* --- the picture --- */

typedef struct unit {
	const char *name;
	double seconds;
} unit;

/* The unit in which a time of @seconds is easy to read. */
static const unit *unit_of(double seconds)
{
	static const unit units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};

	return &units[seconds < 1e-3 ? 0 : seconds < 10 ? 1 : 2];
}

mr_status mr_forecast_draw(const mr_session *s, const mr_forecast *f, bool svg, FILE *out)
{
	char title[200], subtitle[600];
	const unit *u = unit_of(f->step_s);
	mr_schedule_picture p = {
		.n_workers = (uint16_t)s->place.n_workers,
		.unit = u->seconds * 1e9,
		.unit_name = u->name,
		.title = title,
		.subtitle = subtitle,
	};
	mr_trace_rec *rec;
	mr_status st;

	MR_TRY(mr_walk_trace(s->plan, f->walk, 1e9, &rec, &p.n_rec));
	snprintf(title, sizeof(title), "%s: %s, %u worker%s, %u micro-batch%s a step", s->job->name,
		 s->plan->system, s->place.n_workers, s->place.n_workers == 1 ? "" : "s", s->n_micro,
		 s->n_micro == 1 ? "" : "es");
	snprintf(subtitle, sizeof(subtitle), "step %.4g %s; costs %s", f->step_s / u->seconds, u->name,
		 f->costs.source);
	p.rec = rec;
	p.versions = s->plan->contract.flush == MR_FLUSH_NONE;
	st = svg ? mr_schedule_picture_svg(&p, out) : mr_schedule_picture_text(&p, mr_output_columns(out), out);
	free(rec);
	return st;
}

/* --- tables --- */

static mr_status print_known(const mr_session *s, FILE *out)
{
	mr_objective_report *k;

	MR_TRY(mr_objective_report_create(s, &k));
	mr_objective_report_print(k, out);
	mr_objective_report_destroy(k);
	return MR_OK;
}

static mr_status print_head(const mr_session *s, FILE *out)
{
	const char *bf16 = mr_kernels_bf16_engine(s->kernels);
	char params[16], text[512];

	fprintf(out, "model    %s, %s parameters, %u layers; %s, %s\n", s->job->model.name,
		mr_count_text((uint64_t)mr_graph_n_params(mr_session_model(s)), params), mr_session_model(s)->n_nodes,
		s->kernels->name, mr_types_name(&s->kernels->types));
	if (s->kernels->choices)
		fprintf(out, "kernels  %s by choices %016" PRIx64 ", %s\n", mr_kernels_isa(s->kernels->types.weights),
			mr_choices_hash(s->kernels->choices), s->kernels->choices->source);
	if (s->kernels->choices && s->kernels->choices->made && *s->kernels->choices->made)
		fprintf(out, "         measured on %s; `millrace tune` measures this machine\n",
			s->kernels->choices->made);
	if (bf16)
		fprintf(out, "bf16     products by %s\n", bf16);
	fprintf(out, "data     %s\n", s->data->describe);
	MR_TRY(print_known(s, out));
	fprintf(out, "system   %s, %u worker%s, %u micro-batch%s of %lld sample%s a step",
		s->plan->system, s->place.n_workers,
		s->place.n_workers == 1 ? "" : "s", s->n_micro, s->n_micro == 1 ? "" : "es", (long long)s->samples,
		s->samples == 1 ? "" : "s");
	fprintf(out, "; plan %016" PRIx64, s->plan_hash);
	if (s->n_tries)
		fprintf(out, ", that of %s = %" PRIu64, mr_job_system(s->job)->tries_option, s->n_tries);
	fprintf(out, "\nmachine  %s\n", mr_topo_print(&s->topo, text, sizeof(text)));
	if (*mr_place_print_notes(&s->place, text, sizeof(text)))
		fprintf(out, "         %s\n", text);
	if (s->n_shares)
		fprintf(out, "shares   %s\n", mr_session_shares_text(s, text));
	return MR_OK;
}

static void put_versions(mr_table *t, const mr_forecast *f, uint8_t pipe, uint16_t i, const uint32_t *stale)
{
	const mr_plan *p = f->of.plan;
	size_t at = mr_plan_at(p, pipe, i);
	const mr_stage_cost *c = &f->stage[i];
	double sums = mr_plan_partial_sums(p, i), ms[] = {c->f, c->i, c->w, c->u / sums,
							   mr_stage_has(p, i, MR_OP_AR) ? c->r / sums : 0,
							   p->contract.clip ? c->n : 0};

	mr_table_put(t, p->n_pipes > 1 ? "%u p%u" : "%u", i, pipe);
	mr_table_cells(t, "%u\t%u\t%u\t%u\t%u", p->n_versions[i], stale[i], p->n_slots[at], p->n_fwd[at],
		       i + 1 < p->n_stages ? p->n_bwd[at + 1] : 0u);
	for (size_t k = 0; k < sizeof(ms) / sizeof(ms[0]); k++)
		mr_table_put(t, "%.4g", ms[k] * 1e3);
}

/* The versions that the plan stores, the ages of weights, and the source of its costs. */
static mr_status print_versions(const mr_forecast *f, FILE *out)
{
	static const mr_table_column columns[] = {
		{"stage", true},   {"versions", true}, {"staleness", true}, {"slots", true}, {"buffers in", true},
		{"grad in", true}, {"F ms", true},     {"I ms", true},      {"W ms", true},  {"U ms", true},
		{"AR ms", true},   {"N ms", true},
	};
	const mr_plan *p = f->of.plan;
	uint32_t *stale = calloc(p->n_stages, sizeof(*stale));
	mr_table *t;
	mr_status st;

	if (!stale)
		return mr_fail(MR_ERESOURCE, "no memory for a table");
	st = mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t);
	if (st != MR_OK) {
		free(stale);
		return st;
	}
	mr_metrics_staleness(p, stale);
	for (uint32_t k = 0; k < (uint32_t)p->n_stages * p->n_pipes; k++)
		put_versions(t, f, (uint8_t)(k % p->n_pipes), (uint16_t)(k / p->n_pipes), stale);
	st = mr_table_finish(t, out);
	free(stale);
	return st;
}

/* The last columns of a row: @planned bytes of a node's memory @m, which has @bytes; a machine that is not at hand has
 * no free bytes. */
static void put_memory(mr_table *t, uint64_t planned, uint64_t bytes, const mr_topo_memory *m)
{
	char text[16];

	mr_table_put(t, "%s", mr_bytes_text(planned, text));
	if (bytes)
		mr_table_cells(t, "%s\t%.1f%%", mr_bytes_text(bytes, text), 100 * (double)planned / (double)bytes);
	else
		mr_table_cells(t, "unknown\t-");
	if (m->free_bytes < MR_NODE_MEMORY_UNKNOWN)
		mr_table_put(t, "%s", mr_bytes_text(m->free_bytes, text));
	else
		mr_table_put(t, "-");
}

static mr_status print_nodes(const mr_forecast *f, FILE *out)
{
	static const mr_table_column columns[] = {
		{"node", true},    {"cores", true},  {"workers", true}, {"threads", true},
		{"planned", true}, {"memory", true}, {"part", true},    {"free now", true},
	};
	const mr_topo *topo = f->of.topo;
	mr_table *t;

	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint32_t i = 0; i < topo->n_nodes; i++) {
		const mr_topo_node *n = &topo->node[i];
		uint32_t workers = 0, threads = 0;

		for (uint32_t w = 0; w < f->of.place->n_workers; w++) {
			uint32_t here = mr_place_threads_on(&f->of.place->worker[w], topo, i);

			workers += here > 0;
			threads += here;
		}
		mr_table_cells(t, "%u\t%u\t%u\t%u", n->os_index, n->n_cores, workers, threads);
		put_memory(t, f->node_bytes[i], n->memory_bytes, &f->of.place->memory[n->memory]);
	}
	for (uint32_t i = 0; i < topo->n_memories; i++) {
		if (!topo->memory[i].spare)
			continue;
		mr_table_cells(t, "%u\t0\t0\t0", topo->memory[i].os_index);
		put_memory(t, f->memory_bytes[i], topo->memory[i].bytes, &f->of.place->memory[i]);
	}
	return mr_table_finish(t, out);
}

static mr_status print_process(const mr_session *s, const mr_forecast *f, FILE *out)
{
	mr_memory_plan m;
	mr_strbuf text = {0};

	if (mr_session_plans_ranks(s))
		return mr_rank_table_print(s, out);
	MR_TRY(mr_memory_plan_of(s, f->run, &m));
	mr_memory_plan_print(&m, &text);
	fprintf(out, "\nmemory of the process\n%s", mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
	return MR_OK;
}

/* The present travel time of a cache line between cores: no table of the machine has it (host/probe.h). */
static mr_status print_latency(const mr_topo *topo, FILE *out)
{
	uint32_t n = topo->n_usable < PROBED_CORES ? topo->n_usable : PROBED_CORES;
	mr_table_column columns[PROBED_CORES + 1] = {{"cpu", true}};
	char heads[PROBED_CORES][12];
	mr_table *t;

	for (uint32_t i = 0; i < n; i++) {
		snprintf(heads[i], sizeof(heads[i]), "%u", topo->core[i].cpu);
		columns[i + 1] = (mr_table_column){heads[i], true};
	}
	MR_TRY(mr_table_create(columns, n + 1, &t));
	for (uint32_t i = 0; i < n; i++) {
		mr_table_put(t, "%s", heads[i]);
		for (uint32_t j = 0; j < n; j++) {
			mr_probe_pingpong p;

			if (j >= i)
				mr_table_put(t, "%s", j == i ? "." : "");
			else if (mr_probe_pair(topo->core[i].cpu, topo->core[j].cpu, PROBE_US, &p) == MR_OK &&
				 !isnan(p.one_way_ns))
				mr_table_put(t, "%.0f %s", p.one_way_ns, mr_probe_name(p.distance));
			else
				mr_table_put(t, "?");
		}
	}
	fprintf(out, "\na cache line one way between cores, ns, now%s\n",
		n < topo->n_usable ? " (the first cores)" : "");
	return mr_table_finish(t, out);
}

static void print_measured(const mr_measured_machine *m, FILE *out)
{
	fputc('\n', out);
	mr_bandwidth_print(&m->bandwidth, out);
	fprintf(out, "peak of a core, GFLOP/s   f32 %.0f (%s)", m->f32, m->isa);
	if (m->bf16 > 0)
		fprintf(out, ", bf16 %.0f", m->bf16);
	fputc('\n', out);
	if (*m->busy)
		fprintf(out, "%s\n", m->busy);
}

/* The idle percentage of a step with @busy seconds of work; rounding may make it slightly negative. */
static double idle_percent(const mr_forecast *f, double busy)
{
	double part = 1 - busy / f->step_s;

	return part > 0 ? 100 * part : 0;
}

/* What goes between ranks, and by what figures that was timed. */
static void print_hosts(const mr_host_map *m, const mr_forecast *f, FILE *out)
{
	double latency = 0, byte_s = 0;
	char bytes[16], rate[16];

	for (size_t i = 0; i < (size_t)m->hosts.n_hosts * m->hosts.n_hosts; i++) {
		latency = fmax(latency, m->hosts.link[i].latency);
		byte_s = fmax(byte_s, m->hosts.link[i].byte_s);
	}
	fprintf(out, "hosts      %u rank%s on %u host%s; a step sends %s between ranks; links %.3g us, %s/s at worst\n",
		m->hosts.n_ranks, m->hosts.n_ranks == 1 ? "" : "s", m->hosts.n_hosts,
		m->hosts.n_hosts == 1 ? "" : "s", mr_bytes_text((uint64_t)mr_forecast_sent(f), bytes), latency * 1e6,
		mr_bytes_text((uint64_t)(1 / byte_s), rate));
}

static void print_times(const mr_session *s, const mr_forecast *f, FILE *out)
{
	double samples = (double)s->samples * s->n_micro, tokens = (double)mr_session_tokens_per_sample(s);
	double per_s = samples * (tokens > 0 ? tokens : 1) / f->step_s;
	const unit *u = unit_of(f->step_s);
	char rate[16], proof[200];

	if (per_s < 100)
		snprintf(rate, sizeof(rate), "%.3g", per_s);
	else
		mr_count_text((uint64_t)per_s, rate);
	fprintf(out, "\npredicted  step %.4g %s, %s %s/s", f->step_s / u->seconds, u->name, rate,
		tokens > 0 ? "tok" : "samples");
	if (f->costs.measured)
		fprintf(out, ", %.1f GFLOP/s", mr_graph_flops_train(mr_session_model(s)) * samples / f->step_s / 1e9);
	fprintf(out, "; bubble %.1f%% (mean of the workers), %.1f%% (busiest worker)\n", idle_percent(f, f->busy_s),
		idle_percent(f, f->busiest_s));
	u = unit_of(f->walk->makespan);
	if (f->walk->n_bodies == 1 &&
	    f->walk->makespan > f->step_s * mr_forecast_steps(s->plan) * (1 + SAME_TIME))
		fprintf(out, "           steps overlap: the first by itself takes %.4g %s\n",
			f->walk->makespan / u->seconds, u->name);
	if (f->walk->n_bodies > 1)
		fprintf(out, "           steps overlap: the first %u take %.4g %s\n",
			f->walk->n_bodies * mr_plan_steps(s->plan), f->walk->makespan / u->seconds, u->name);
	if (f->walk->plan)
		fprintf(out, "           %zu weight gradient%s taken over from another worker\n", f->walk->n_stolen,
			f->walk->n_stolen == 1 ? " is" : "s are");
	if (*mr_proof_text(&s->proof, unit_of(s->proof.makespan)->seconds, unit_of(s->proof.makespan)->name, proof,
			   sizeof(proof)))
		fprintf(out, "order      %s\n", proof);
	if (s->place.shared)
		fprintf(out,
			"           %u workers share %u core%s: no step is shorter than what they compute on one core; "
			"it may take longer\n",
			s->place.n_workers, s->place.n_cores_used, s->place.n_cores_used == 1 ? "" : "s");
	fprintf(out, "costs      %s\n", f->costs.source);
	if (s->hosts)
		print_hosts(s->hosts, f, out);
}

/* In bf16 some products may be computed in f32. */
static void print_in_f32(const mr_plan_kernels *k, FILE *out)
{
	size_t in_f32 = 0, all = 0;

	for (uint32_t i = 0; i < k->n; i++)
		for (size_t j = 0; j < k->stage[i].n; j++) {
			in_f32 += k->stage[i].call[j].by == MR_BY_F32;
			all += k->stage[i].call[j].call.is_gemm;
		}
	if (in_f32)
		fprintf(out, "%zu of %zu products are computed with f32 inside: the table of choices has them slower "
			     "in bf16\n",
			in_f32, all);
}

static void print_share(const mr_plan_kernels *k, FILE *out)
{
	mr_flops_by f = {0};
	char text[160];

	for (uint32_t i = 0; i < k->n; i++)
		mr_flops_by_add(&f, &k->stage[i]);
	fprintf(out, "FLOPs of a step by %s\n", mr_flops_by_text(&f, text));
}

static mr_status print_stages(const mr_session *s, const mr_forecast *f, FILE *out)
{
	mr_plan_kernels k;
	mr_status st = mr_plan_kernels_init(&k, s, f);

	if (st == MR_OK)
		st = mr_stage_table_print(s, f->run, &k, out);
	if (st == MR_OK) {
		print_share(&k, out);
		print_in_f32(&k, out);
		mr_plan_bits_print(&k, s, f, out);
	}
	mr_plan_kernels_fini(&k);
	return st;
}

mr_status mr_forecast_print(const mr_session *s, const mr_forecast *f, FILE *out)
{

	MR_TRY(print_head(s, out));
	fputc('\n', out);
	MR_TRY(print_stages(s, f, out));
	fputc('\n', out);
	MR_TRY(print_versions(f, out));
	mr_stable_rates_print(s, f->of.plan, out);
	fputc('\n', out);
	MR_TRY(print_nodes(f, out));
	MR_TRY(print_process(s, f, out));
	if (!s->topo.synthetic && s->topo.n_usable > 1)
		MR_TRY(print_latency(&s->topo, out));
	if (s->measured)
		print_measured(s->measured, out);
	if (s->place.n_workers <= TEXT_WORKERS) {
		fputc('\n', out);
		MR_TRY(mr_forecast_draw(s, f, false, out));
	}
	print_times(s, f, out);
	return ferror(out) ? mr_fail(MR_EIO, "cannot write the plan") : MR_OK;
}

/* --- the table of layers --- */

/* Bytes of the values that a stage which begins at @node takes from the one before it. */
static double crossing(const mr_session *s, uint32_t node)
{
	return (double)s->samples * (double)mr_graph_crossing(s->graph, node, s->kernels->types.activations, false);
}

mr_status mr_plan_layers_print(const mr_session *s, const mr_forecast *f, FILE *out)
{
	const mr_graph *g = s->graph;
	mr_strbuf levels = {0};

	MR_TRY(mr_session_levels_text(s, &levels));
	fprintf(out, "# %s, micro-batches of %lld samples; %s\n", mr_job_model(s->job)->name, (long long)s->samples,
		f->costs.source);
	fprintf(out, MR_LAYER_TABLE_LEVELS "%s\n", mr_strbuf_text(&levels));
	mr_strbuf_fini(&levels);
	fprintf(out, "name,forward,backward,activation,weights\n");
	for (uint32_t i = 0, end; i < g->n_nodes; i = end) {
		mr_stage_cost sum = {0};
		double weights = 0;

		for (end = i; end == i || (end < g->n_nodes && !mr_graph_cut_ok(g, end)); end++) {
			mr_costs_add(g, end, &f->costs.layer[end], &sum);
			weights += (double)mr_costs_params(g, end) * (double)mr_dtype_bytes(s->kernels->types.weights);
		}
		fprintf(out, "%s,%.6g,%.6g,%.0f,%.0f\n", g->nodes[i].name, sum.f, sum.i + sum.w + sum.u,
			end < g->n_nodes ? crossing(s, end) : 0, weights);
	}
	return MR_OK;
}
