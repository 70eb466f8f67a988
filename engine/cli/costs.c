#include "cli/costs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/stats.h"
#include "base/str.h"

#define FIRST_WORDS "# millrace costs 1; "
#define OLD_COLUMNS "layer,kind,inputs,outputs,params,f_s,i_s,w_s,u_s" /* of files from before merged W were measured */
#define COLUMNS OLD_COLUMNS ",g_s"
#define MAX_BYTES ((size_t)64 << 20)
#define UPDATE_PASSES 7 /* as in mr_partition_cost */
#define SUM_PASSES 3    /* two gradients are read, one is written */

static mr_status allocate(const mr_session *s, mr_costs *out)
{
	*out = (mr_costs){.layer = calloc(s->graph->n_nodes, sizeof(*out->layer))};
	return out->layer ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the costs of %u layers", s->graph->n_nodes);
}

void mr_costs_fini(mr_costs *c)
{
	free(c->layer);
	*c = (mr_costs){0};
}

/* Bytes of a micro-batch that enter @stage. */
static double bytes_into(const mr_session *s, uint16_t stage)
{
	const mr_node *node = &s->graph->nodes[s->partition.first[stage]];

	return (double)s->samples * (double)mr_shape_bytes(s->graph->values[node->in[0]].shape, s->kernels->dtype);
}

static double param_bytes(const mr_session *s, uint16_t stage)
{
	double n = 0;

	for (uint32_t i = s->partition.first[stage]; i < s->partition.first[stage + 1]; i++)
		n += (double)mr_costs_params(s->graph, i);
	return n * (double)mr_dtype_bytes(s->kernels->dtype);
}

/* Bytes of the parameters that @stage stores and another one uses too: each pipe has a gradient of both uses. */
static double tied_bytes(const mr_session *s, uint16_t stage)
{
	double n = 0;

	for (uint32_t i = 0; i < s->graph->n_params; i++) {
		const mr_param *p = &s->graph->params[i];

		if (p->tied_to >= 0 && mr_partition_stage(&s->partition, s->graph->params[p->tied_to].node) == stage &&
		    mr_partition_stage(&s->partition, p->node) != stage)
			n += (double)p->n;
	}
	return n * (double)mr_dtype_bytes(s->kernels->dtype);
}

/* Each gradient but one is added to it. A norm that is no instruction is part of the step. */
static void add_reductions(const mr_session *s, const mr_costs *c, mr_stage_cost *stage)
{
	bool clips = mr_values_float(mr_config_values(s->config, MR_CONFIG_TRAIN), "clip") > 0;
	bool global = s->plan && s->plan->contract.flush != MR_FLUSH_NONE && !mr_contract_replicates(&s->plan->contract);

	for (uint16_t i = 0; i < s->partition.n_stages; i++) {
		double bytes = param_bytes(s, i), norm = bytes * c->norm_s;

		if (s->plan)
			stage[i].r = c->sum_s * (bytes * (s->plan->n_pipes - 1) + tied_bytes(s, i) * s->plan->n_pipes);
		if (s->plan && mr_contract_replicates(&s->plan->contract))
			stage[i].a = stage[i].u * s->plan->n_pipes;
		if (global)
			stage[i].n = norm;
		else if (clips)
			stage[i].u += norm;
	}
}

/* In how many of the pipes stages @a and @b lie on two workers. */
static double apart(const mr_session *s, uint16_t a, uint16_t b)
{
	unsigned n = 0;

	for (unsigned p = 0; s->plan && p < s->plan->n_pipes; p++)
		n += mr_plan_worker(s->plan, (uint8_t)p, a) != mr_plan_worker(s->plan, (uint8_t)p, b);
	return n ? (double)n / s->plan->n_pipes : 0;
}

/* Activations and gradients of one boundary have one size. */
static void add_boundaries(const mr_session *s, const mr_hand_over *r, mr_stage_cost *stage)
{
	uint16_t n = s->partition.n_stages;

	if (s->plan)
		stage[0].f += bytes_into(s, 0) * r->read_s;
	for (uint16_t i = 1; i < n; i++) {
		double bytes = bytes_into(s, i) * apart(s, (uint16_t)(i - 1), i);

		stage[i - 1].f += bytes * r->write_s;
		stage[i].f += bytes * r->read_s;
		stage[i].i += bytes * r->write_s;
		stage[i - 1].i += bytes * r->read_s;
	}
}

void mr_costs_of_stages(const mr_session *s, const mr_costs *c, mr_stage_cost *stage)
{
	for (uint16_t i = 0; i < s->partition.n_stages; i++) {
		stage[i] = (mr_stage_cost){0};
		for (uint32_t n = s->partition.first[i]; n < s->partition.first[i + 1]; n++) {
			stage[i].f += c->layer[n].f;
			stage[i].i += c->layer[n].i;
			stage[i].w += c->layer[n].w;
			stage[i].u += c->layer[n].u;
			stage[i].g += c->layer[n].g;
		}
	}
	add_boundaries(s, &c->remote, stage);
	add_reductions(s, c, stage);
}

/* --- nominal --- */

int64_t mr_costs_params(const mr_graph *g, uint32_t node)
{
	int64_t n = 0;

	for (uint32_t p = g->nodes[node].first_param; p < g->nodes[node].first_param + g->nodes[node].n_params; p++)
		n += g->params[p].tied_to < 0 ? g->params[p].n : 0;
	return n;
}

static mr_layer_cost nominal(const mr_session *s, uint32_t node)
{
	const mr_graph *g = s->graph;
	const mr_node *nd = &g->nodes[node];
	uint16_t stage = mr_partition_stage(&s->partition, node);
	double threads = s->place.worker[s->plan ? mr_plan_worker(s->plan, 0, stage) : 0].n_threads;
	double all = mr_partition_cost(g, node, s->samples, s->kernels) / threads, share[3];
	mr_layer_cost c = {0};
	mr_layer_needs z;

	c.u = UPDATE_PASSES * (double)mr_costs_params(g, node) * (double)mr_dtype_bytes(s->kernels->dtype) /
	      MR_PARTITION_BYTES / threads;
	nd->ops->needs(&nd->cfg, g->values[nd->in[0]].shape, s->samples, NULL, &z);
	share[0] = z.flops_f;
	share[1] = mr_graph_wants_dx(g, node, 0) ? z.flops_i : 0;
	share[2] = z.flops_w;
	if (z.flops_f <= 0) {
		share[0] = 1;
		share[1] = mr_graph_wants_dx(g, node, 0) && !nd->ops->loss;
		share[2] = nd->n_params > 0;
	}
	all = (all - c.u) / (share[0] + share[1] + share[2]);
	c.f = all * share[0];
	c.i = all * share[1];
	c.w = all * share[2];
	return c;
}

mr_status mr_costs_nominal(const mr_session *s, mr_costs *out)
{
	MR_TRY(allocate(s, out));
	for (uint32_t i = 0; i < s->graph->n_nodes; i++)
		out->layer[i] = nominal(s, i);
	out->norm_s = 1 / MR_PARTITION_BYTES / s->place.worker[0].n_threads;
	out->sum_s = SUM_PASSES * out->norm_s;
	snprintf(out->source, sizeof(out->source),
		 "nominal: %g GFLOP/s and %g GB/s a thread; measure them with profile -o FILE, then --costs FILE",
		 MR_PARTITION_FLOPS / 1e9, MR_PARTITION_BYTES / 1e9);
	return MR_OK;
}

/* --- measured --- */

mr_status mr_costs_scale(const mr_costs *from, const mr_session *s, double by, mr_costs *out)
{
	mr_layer_cost *layer;

	MR_TRY(allocate(s, out));
	layer = out->layer;
	*out = *from;
	out->layer = layer;
	for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
		const mr_layer_cost *c = &from->layer[i];

		layer[i] = (mr_layer_cost){c->f * by, c->i * by, c->w * by, c->u, c->g * by};
	}
	return MR_OK;
}

mr_status mr_costs_at_hand(const char *path, const mr_session *s, mr_costs *out)
{
	if (*path)
		return mr_costs_read(path, s, out);
	return s->costs ? mr_costs_scale(s->costs, s, 1, out) : mr_costs_nominal(s, out);
}

/* Seconds a byte, of what took each stage @seconds. */
static double rate_of(const mr_session *s, const double *seconds)
{
	double sum = 0, bytes = 0;

	for (uint16_t i = 0; i < s->partition.n_stages; i++) {
		sum += seconds[i];
		bytes += param_bytes(s, i);
	}
	return bytes > 0 ? sum / bytes : 0;
}

mr_status mr_costs_of_profile(const mr_session *s, const mr_profile *p, mr_costs *out)
{
	MR_TRY(allocate(s, out));
	out->measured = true;
	out->remote = p->hand_over;
	out->sum_s = rate_of(s, p->sum_s);
	out->norm_s = rate_of(s, p->norm_s);
	snprintf(out->source, sizeof(out->source), "measured");
	for (uint16_t stage = 0; stage < s->partition.n_stages; stage++) {
		uint32_t first = s->partition.first[stage], end = s->partition.first[stage + 1];
		int64_t all = 0;

		for (uint32_t i = first; i < end; i++)
			all += mr_costs_params(s->graph, i);
		for (uint32_t i = first; i < end; i++) {
			double part = all ? (double)mr_costs_params(s->graph, i) / (double)all : 0;

			out->layer[i] =
				(mr_layer_cost){p->layer[i].f, p->layer[i].i, p->layer[i].w, part * p->update_s[stage],
						p->layer[i].g};
		}
	}
	return MR_OK;
}

/* --- the file --- */

/* What a row says about its layer, which the reader compares. */
typedef struct shape {
	long long inputs, outputs, params;
} shape;

static shape shape_of(const mr_graph *g, uint32_t node)
{
	const mr_node *nd = &g->nodes[node];
	mr_shape in = g->values[nd->in[0]].shape, out = {0};

	if (nd->out != MR_GRAPH_NO_VALUE)
		out = g->values[nd->out].shape;
	return (shape){in.rows * in.cols, out.rows * out.cols, mr_costs_params(g, node)};
}

static void machine_text(const mr_session *s, char *text, size_t size)
{
	mr_topo_print(&s->topo, text, size);
	for (char *c = text; *c; c++)
		if (*c == ';' || *c == '\n')
			*c = ',';
}

mr_status mr_costs_write(const char *path, const mr_session *s, const mr_costs *c)
{
	char machine[400];
	mr_strbuf b;
	mr_status st;

	mr_strbuf_init(&b);
	machine_text(s, machine, sizeof(machine));
	mr_strbuf_printf(&b,
			 FIRST_WORDS "machine=%s; kernels=%s; backend=%s; dtype=%s; threads=%u; samples=%lld; "
				     "optimizer=%s; reads=%.3g; writes=%.3g; sums=%.3g; norms=%.3g\n" COLUMNS "\n",
			 machine, mr_kernels_library(), s->kernels->name, mr_dtype_name(s->kernels->dtype),
			 s->place.worker[0].n_threads, (long long)s->samples, s->optim.ops->name, c->remote.read_s, c->remote.write_s,
			 c->sum_s, c->norm_s);
	for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
		shape z = shape_of(s->graph, i);

		mr_strbuf_printf(&b, "%s,%s,%lld,%lld,%lld,%.6g,%.6g,%.6g,%.6g,%.6g\n", s->graph->nodes[i].name,
				 s->graph->nodes[i].ops->name, z.inputs, z.outputs, z.params, c->layer[i].f,
				 c->layer[i].i, c->layer[i].w, c->layer[i].u, c->layer[i].g);
	}
	st = b.failed ? mr_fail(MR_ERESOURCE, "no memory for %s", path) : mr_file_replace(path, b.data, b.len);
	mr_strbuf_fini(&b);
	return st;
}

/* Value of "key=" in the first line @head; false: it is not there. */
static bool head_value(const char *head, const char *key, char *value, size_t size)
{
	char want[32];
	const char *at;

	snprintf(want, sizeof(want), " %s=", key);
	at = strstr(head, want);
	if (!at)
		return false;
	at += strlen(want);
	snprintf(value, size, "%.*s", (int)strcspn(at, ";\n"), at);
	return true;
}

static mr_status expect(const char *head, const char *key, const char *want)
{
	char value[64];

	if (!head_value(head, key, value, sizeof(value)))
		return mr_fail(MR_ECONFIG, "line 1 does not say what %s was", key);
	if (strcmp(value, want))
		return mr_fail(MR_ECONFIG, "it was measured with %s = %s, the configuration has %s", key, value, want);
	return MR_OK;
}

static void warn(const char *path, const char *head, const char *key, const char *want)
{
	char value[64];

	if (head_value(head, key, value, sizeof(value)) && strcmp(value, want))
		fprintf(stderr, "millrace: warning: %s was measured with %s = %s, this is %s\n", path, key, value,
			want);
}

/* Seconds a byte behind @key; 0 when it is missing: older files do not have it. */
static mr_status read_rate(const char *head, const char *key, double *rate)
{
	char value[64], *end;

	*rate = 0;
	if (!head_value(head, key, value, sizeof(value)))
		return MR_OK;
	*rate = strtod(value, &end);
	return end != value && !*end && *rate >= 0 && *rate < 1
		       ? MR_OK
		       : mr_fail(MR_ECONFIG, "line 1: %s is seconds a byte, from 0, got \"%s\"", key, value);
}

static mr_status read_head(const char *path, const mr_session *s, const char *head, mr_costs *out)
{
	char samples[24], threads[16];

	if (strncmp(head, FIRST_WORDS, strlen(FIRST_WORDS)))
		return mr_fail(MR_ECONFIG, "line 1 does not begin with \"%s\": this is no file of millrace profile",
			       FIRST_WORDS);
	snprintf(samples, sizeof(samples), "%lld", (long long)s->samples);
	snprintf(threads, sizeof(threads), "%u", s->place.worker[0].n_threads);
	MR_TRY(expect(head, "samples", samples));
	MR_TRY(expect(head, "dtype", mr_dtype_name(s->kernels->dtype)));
	MR_TRY(expect(head, "optimizer", s->optim.ops->name));
	MR_TRY(read_rate(head, "reads", &out->remote.read_s));
	MR_TRY(read_rate(head, "writes", &out->remote.write_s));
	MR_TRY(read_rate(head, "sums", &out->sum_s));
	MR_TRY(read_rate(head, "norms", &out->norm_s));
	warn(path, head, "threads", threads);
	warn(path, head, "backend", s->kernels->name);
	out->measured = true;
	snprintf(out->source, sizeof(out->source), "measured, %s: %.*s", path,
		 (int)strcspn(head + strlen(FIRST_WORDS), "\n"), head + strlen(FIRST_WORDS));
	return MR_OK;
}

static bool is_time(double x)
{
	return isfinite(x) && x >= 0 && x <= 1e6;
}

static mr_status read_row(const mr_graph *g, uint32_t node, const char *line, bool old, mr_layer_cost *c)
{
	const mr_node *nd = &g->nodes[node];
	shape want = shape_of(g, node), z;
	char name[64], kind[32];
	int used = -1, n;

	n = sscanf(line, "%63[^,\n],%31[^,\n],%lld,%lld,%lld,%lf,%lf,%lf,%lf%n", name, kind, &z.inputs, &z.outputs, &z.params,
		   &c->f, &c->i, &c->w, &c->u, &used);
	if (n == 9 && used >= 0 && !old) {
		int more = -1;

		n += sscanf(line + used, ",%lf%n", &c->g, &more);
		used = more < 0 ? -1 : used + more;
	}
	if (n != (old ? 9 : 10) || used < 0 || line[used] != '\n')
		return mr_fail(MR_ECONFIG, "expected \"%s\" of layer %s, got \"%.*s\"",
			       old ? OLD_COLUMNS : COLUMNS, nd->name, (int)strcspn(line, "\n"), line);
	if (strcmp(name, nd->name) || strcmp(kind, nd->ops->name))
		return mr_fail(MR_ECONFIG, "it is of another model: layer %s (%s), where the configuration has %s (%s)",
			       name, kind, nd->name, nd->ops->name);
	if (memcmp(&z, &want, sizeof(z)))
		return mr_fail(MR_ECONFIG,
			       "it is of another model: layer %s has %lld inputs, %lld outputs, %lld parameters, where "
			       "the configuration has %lld, %lld, %lld",
			       name, z.inputs, z.outputs, z.params, want.inputs, want.outputs, want.params);
	if (!is_time(c->g) || c->g > c->w)
		return mr_fail(MR_ECONFIG, "layer %s: times are seconds from 0, and g_s is at most w_s = %g, got %g", name, c->w, c->g);
	if (!is_time(c->f) || !is_time(c->i) || !is_time(c->w) || !is_time(c->u))
		return mr_fail(MR_ECONFIG, "layer %s: times are seconds from 0, got %g, %g, %g, %g", name, c->f, c->i,
			       c->w, c->u);
	return MR_OK;
}

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

static mr_status read_text(const char *path, const mr_session *s, const char *text, mr_costs *out)
{
	const char *at = text;
	bool old;

	MR_TRY(read_head(path, s, at, out));
	at = next_line(at);
	old = !strncmp(at, OLD_COLUMNS "\n", strlen(OLD_COLUMNS "\n"));
	if (!old && strncmp(at, COLUMNS "\n", strlen(COLUMNS "\n")))
		return mr_fail(MR_ECONFIG, "line 2 is not \"" COLUMNS "\"");
	at = next_line(at);
	for (uint32_t i = 0; i < s->graph->n_nodes; i++, at = next_line(at)) {
		if (!*at)
			return mr_fail(MR_ECONFIG, "it ends after %u of the model's %u layers", i, s->graph->n_nodes);
		if (read_row(s->graph, i, at, old, &out->layer[i]) != MR_OK)
			return mr_fail_in(MR_ECONFIG, "line %u", i + 3);
	}
	return *at ? mr_fail(MR_ECONFIG, "line %u: the model has only %u layers", s->graph->n_nodes + 3,
			     s->graph->n_nodes)
		   : MR_OK;
}

mr_status mr_costs_read(const char *path, const mr_session *s, mr_costs *out)
{
	char *text;
	size_t len;
	mr_status st = mr_file_read(path, MAX_BYTES, &text, &len);

	if (st != MR_OK)
		return st == MR_ERESOURCE ? st : mr_fail(MR_ECONFIG, "%s", mr_error_text());
	st = allocate(s, out);
	if (st == MR_OK && strlen(text) != len)
		st = mr_fail(MR_ECONFIG, "it has a NUL byte");
	if (st == MR_OK)
		st = read_text(path, s, text, out);
	out->hash = mr_hash64(0, text, len);
	free(text);
	if (st != MR_OK) {
		mr_costs_fini(out);
		return mr_fail_in(st, "%s", path);
	}
	return MR_OK;
}
