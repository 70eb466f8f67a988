/* costs_file.c - costs of layers as a file (costs.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/notice.h"
#include "base/result.h"
#include "base/stats.h"
#include "base/str.h"
#include "costs/link_costs.h"
#include "costs/team_costs.h"

#define FIRST_WORDS "# millrace costs 1; "
#define COLUMNS "layer,kind,inputs,outputs,params,f_s,i_s,w_s,u_s,g_s,spread"
#define TEAM_WORDS "# threads="
#define TEAM_COLUMNS "layer,f_s,i_s,w_s,u_s"
#define MAX_BYTES ((size_t)64 << 20)

/* The description of a layer in its row, which the reader compares. */
typedef struct shape {
	long long inputs, outputs, params;
} shape;

static shape shape_of(const mr_graph *g, uint32_t node)
{
	const mr_node *nd = &g->nodes[node];
	shape s = {.inputs = mr_shape_count(nd->in_shape[0]), .params = mr_costs_params(g, node)};

	for (uint32_t i = 0; i < nd->n_out; i++)
		s.outputs += mr_shape_count(nd->out_shape[i]);
	return s;
}

static void machine_text(const mr_workload *of, char *text, size_t size)
{
	mr_topo_print(of->topo, text, size);
	for (char *c = text; *c; c++)
		if (*c == ';' || *c == '\n')
			*c = ',';
}

static void write_teams(const mr_workload *of, const mr_team_costs *t, mr_strbuf *b)
{
	for (uint32_t k = 0; t && k < t->n; k++) {
		mr_strbuf_printf(b, TEAM_WORDS "%u\n", t->threads[k]);
		for (uint32_t i = 0; i < t->n_layers; i++) {
			const mr_stage_cost *l = &t->layer[k][i];

			mr_strbuf_printf(b, "%s,%.6g,%.6g,%.6g,%.6g\n", of->graph->nodes[i].name, l->f, l->i, l->w,
					 l->u);
		}
	}
}

mr_status mr_costs_write(const char *path, const mr_workload *of, const mr_costs *c)
{
	char machine[400], error[32] = "";
	mr_strbuf b = {0};
	mr_status st;

	machine_text(of, machine, sizeof(machine));
	if (!isnan(c->error))
		snprintf(error, sizeof(error), "; error=%.3g", c->error);
	mr_strbuf_printf(&b,
			 FIRST_WORDS "machine=%s; kernels=%s; backend=%s; precision=%s; threads=%u; samples=%lld; "
				     "optimizer=%s; reads=%.3g; writes=%.3g; sums=%.3g; norms=%.3g; saves=%.3g; "
				     "shares=%.3g; averages=%.3g; hops=%.3g; "
				     "crowd_f=%.4g; crowd_b=%.4g%s; spread=%.3g\n" COLUMNS "\n",
			 machine, mr_kernels_library(), of->kernels->name, mr_types_name(&of->kernels->types),
			 of->place->worker[0].n_threads, (long long)of->samples, of->optim->ops->name, c->remote.read_s,
			 c->remote.write_s, c->sum_s, c->norm_s, c->save_s, c->shared_s, c->average_s, c->hop_s,
			 c->crowd_f, c->crowd_b, error, c->spread);
	for (uint32_t i = 0; i < of->graph->n_nodes; i++) {
		shape z = shape_of(of->graph, i);

		mr_strbuf_printf(&b, "%s,%s,%lld,%lld,%lld,%.6g,%.6g,%.6g,%.6g,%.6g,%.3g\n", of->graph->nodes[i].name,
				 of->graph->nodes[i].ops->name, z.inputs, z.outputs, z.params, c->layer[i].f,
				 c->layer[i].i, c->layer[i].w, c->layer[i].u, c->layer[i].g, c->spreads[i]);
	}
	write_teams(of, c->teams, &b);
	st = b.failed ? mr_fail(MR_ERESOURCE, "no memory for %s", path)
				  : mr_result_write(path, b.data, b.len, MR_RESULT_NAMED);
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
		mr_notice("warning: %s was measured with %s = %s, this is %s", path, key, value, want);
}

/* Seconds (@unit: of what) after @key; 0 when it is missing. */
static mr_status read_rate(const char *head, const char *key, const char *unit, double *rate)
{
	char value[64], *end;

	*rate = 0;
	if (!head_value(head, key, value, sizeof(value)))
		return MR_OK;
	*rate = strtod(value, &end);
	return end != value && !*end && *rate >= 0 && *rate < 1
		       ? MR_OK
		       : mr_fail(MR_ECONFIG, "line 1: %s is seconds%s, from 0, got \"%s\"", key, unit, value);
}

/* A factor behind @key; 0 when it is missing. */
static mr_status read_factor(const char *head, const char *key, double *factor)
{
	char value[64], *end;

	*factor = 0;
	if (!head_value(head, key, value, sizeof(value)))
		return MR_OK;
	*factor = strtod(value, &end);
	return end != value && !*end && *factor >= 0 && *factor <= 100
		       ? MR_OK
		       : mr_fail(MR_ECONFIG, "line 1: %s is a factor from 0 to 100, got \"%s\"", key, value);
}

/* What is missing is not known. */
static mr_status read_error(const char *head, double *error)
{
	char value[64], *end;

	if (!head_value(head, "error", value, sizeof(value)))
		return MR_OK;
	*error = strtod(value, &end);
	return end != value && !*end && *error > -1 && isfinite(*error)
		       ? MR_OK
		       : mr_fail(MR_ECONFIG, "line 1: error is a number above -1, got \"%s\"", value);
}

static mr_status read_head(const char *path, const mr_workload *of, const char *head, mr_costs *out)
{
	char samples[24], threads[16], measured[64];

	if (strncmp(head, FIRST_WORDS, strlen(FIRST_WORDS)))
		return mr_fail(MR_ECONFIG, "line 1 does not begin with \"%s\": it was not written by millrace profile",
			       FIRST_WORDS);
	snprintf(samples, sizeof(samples), "%lld", (long long)of->samples);
	snprintf(threads, sizeof(threads), "%u", of->place->worker[0].n_threads);
	MR_TRY(expect(head, "samples", samples));
	MR_TRY(expect(head, "precision", mr_types_name(&of->kernels->types)));
	MR_TRY(expect(head, "optimizer", of->optim->ops->name));
	MR_TRY(read_rate(head, "reads", " a byte", &out->remote.read_s));
	MR_TRY(read_rate(head, "writes", " a byte", &out->remote.write_s));
	MR_TRY(read_rate(head, "sums", " a byte", &out->sum_s));
	MR_TRY(read_rate(head, "norms", " a byte", &out->norm_s));
	MR_TRY(read_rate(head, "saves", " a byte", &out->save_s));
	MR_TRY(read_rate(head, "shares", " a byte", &out->shared_s));
	MR_TRY(read_rate(head, "averages", " a byte", &out->average_s));
	MR_TRY(read_rate(head, "hops", "", &out->hop_s));
	MR_TRY(read_factor(head, "crowd_f", &out->crowd_f));
	MR_TRY(read_factor(head, "crowd_b", &out->crowd_b));
	MR_TRY(read_factor(head, "spread", &out->spread));
	MR_TRY(read_error(head, &out->error));
	if (out->spread > MR_PROFILE_DISTURBED)
		mr_notice("warning: %s was measured on a disturbed machine: its times are up to %.0f %% above "
			  "their minima",
			  path, 100 * out->spread);
	out->threads = of->place->worker[0].n_threads;
	if (head_value(head, "threads", measured, sizeof(measured)) && strtoul(measured, NULL, 10) > 0)
		out->threads = (uint32_t)strtoul(measured, NULL, 10);
	warn(path, head, "threads", threads);
	warn(path, head, "backend", of->kernels->name);
	out->measured = true;
	snprintf(out->source, sizeof(out->source), "measured, %s: %.*s", path,
		 (int)strcspn(head + strlen(FIRST_WORDS), "\n"), head + strlen(FIRST_WORDS));
	return MR_OK;
}

static bool is_time(double x)
{
	return isfinite(x) && x >= 0 && x <= 1e6;
}

static mr_status read_row(const mr_graph *g, uint32_t node, const char *line, mr_stage_cost *c, double *spread)
{
	const mr_node *nd = &g->nodes[node];
	shape want = shape_of(g, node), z;
	char name[64], kind[32];
	int used = -1, n;

	n = sscanf(line, "%63[^,\n],%31[^,\n],%lld,%lld,%lld,%lf,%lf,%lf,%lf,%lf,%lf%n", name, kind, &z.inputs,
		   &z.outputs, &z.params, &c->f, &c->i, &c->w, &c->u, &c->g, spread, &used);
	if (n != 11 || used < 0 || line[used] != '\n')
		return mr_fail(MR_ECONFIG, "expected \"" COLUMNS "\" of layer %s, got \"%.*s\"", nd->name,
			       (int)strcspn(line, "\n"), line);
	if (strcmp(name, nd->name) || strcmp(kind, nd->ops->name))
		return mr_fail(MR_ECONFIG, "it is of another model: layer %s (%s), where the configuration has %s (%s)",
			       name, kind, nd->name, nd->ops->name);
	if (memcmp(&z, &want, sizeof(z)))
		return mr_fail(MR_ECONFIG,
			       "it is of another model: layer %s has %lld inputs, %lld outputs, %lld parameters, where "
			       "the configuration has %lld, %lld, %lld",
			       name, z.inputs, z.outputs, z.params, want.inputs, want.outputs, want.params);
	if (!is_time(c->g) || c->g > c->w)
		return mr_fail(MR_ECONFIG, "layer %s: times are seconds from 0, and g_s is at most w_s = %g, got %g",
			       name, c->w, c->g);
	if (!is_time(*spread))
		return mr_fail(MR_ECONFIG, "layer %s: a spread is a number from 0, got %g", name, *spread);
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

/* One row of times by a team. */
static mr_status read_team_row(const char *name, const char *line, mr_stage_cost *c)
{
	char is[64];
	int used = -1;

	if (sscanf(line, "%63[^,\n],%lf,%lf,%lf,%lf%n", is, &c->f, &c->i, &c->w, &c->u, &used) != 5 || used < 0 ||
	    line[used] != '\n' || strcmp(is, name))
		return mr_fail(MR_ECONFIG, "expected \"" TEAM_COLUMNS "\" of layer %s, got \"%.*s\"", name,
			       (int)strcspn(line, "\n"), line);
	if (!is_time(c->f) || !is_time(c->i) || !is_time(c->w) || !is_time(c->u))
		return mr_fail(MR_ECONFIG, "layer %s: times are seconds from 0, got %g, %g, %g, %g", name, c->f, c->i,
			       c->w, c->u);
	return MR_OK;
}

/* What follows the layers: nothing, or blocks of times by teams. */
static bool has_links(const char *at)
{
	return !strncmp(at, MR_LINKS_WORDS, strlen(MR_LINKS_WORDS));
}

static mr_status read_teams(const mr_workload *of, const char *at, mr_costs *out)
{
	uint32_t line = of->graph->n_nodes + 3;

	if (*at && !has_links(at) && strncmp(at, TEAM_WORDS, strlen(TEAM_WORDS)))
		return mr_fail(MR_ECONFIG, "line %u: the model has only %u layers", line, of->graph->n_nodes);
	while (*at && !has_links(at)) {
		mr_stage_cost *layer;
		char *end;
		unsigned long threads = 0;

		if (!strncmp(at, TEAM_WORDS, strlen(TEAM_WORDS)))
			threads = strtoul(at + strlen(TEAM_WORDS), &end, 10);
		if (!threads || threads > UINT32_MAX || *end != '\n')
			return mr_fail(MR_ECONFIG, "line %u: expected \"" TEAM_WORDS "\" and a number, got \"%.*s\"",
				       line, (int)strcspn(at, "\n"), at);
		if (!out->teams) {
			out->teams = calloc(1, sizeof(*out->teams));
			out->owns_teams = true;
		}
		if (!out->teams)
			return mr_fail(MR_ERESOURCE, "no memory for the times of teams");
		if (mr_team_costs_add(out->teams, of->graph->n_nodes, (uint32_t)threads, &layer) != MR_OK)
			return mr_fail_in(MR_ECONFIG, "line %u", line);
		at = next_line(at);
		for (uint32_t i = 0; i < of->graph->n_nodes; i++, at = next_line(at))
			if (read_team_row(of->graph->nodes[i].name, at, &layer[i]) != MR_OK)
				return mr_fail_in(MR_ECONFIG, "line %u", line + 1 + i);
		line += 1 + of->graph->n_nodes;
	}
	return MR_OK;
}

static mr_status read_text(const char *path, const mr_workload *of, const char *text, mr_costs *out)
{
	const char *at = text;

	MR_TRY(read_head(path, of, at, out));
	at = next_line(at);
	if (strncmp(at, COLUMNS "\n", strlen(COLUMNS "\n")))
		return mr_fail(MR_ECONFIG, "line 2 is not \"" COLUMNS "\"");
	at = next_line(at);
	for (uint32_t i = 0; i < of->graph->n_nodes; i++, at = next_line(at)) {
		if (!*at)
			return mr_fail(MR_ECONFIG, "it ends after %u of the model's %u layers", i, of->graph->n_nodes);
		if (read_row(of->graph, i, at, &out->layer[i], &out->spreads[i]) != MR_OK)
			return mr_fail_in(MR_ECONFIG, "line %u", i + 3);
	}
	return read_teams(of, at, out);
}

static mr_status read_file(const char *path, char **text, size_t *len)
{
	mr_status st = mr_file_read(path, MAX_BYTES, text, len);

	return st == MR_OK || st == MR_ERESOURCE ? st : mr_fail(MR_ECONFIG, "%s", mr_error_text());
}

mr_status mr_costs_has_layers(const char *path, bool *found)
{
	char *text;
	size_t len;

	MR_TRY(read_file(path, &text, &len));
	*found = !has_links(text);
	free(text);
	return MR_OK;
}

mr_status mr_costs_read(const char *path, const mr_workload *of, mr_costs *out)
{
	char *text;
	size_t len;
	mr_status st;

	MR_TRY(read_file(path, &text, &len));
	st = mr_costs_alloc(of, out);
	if (st == MR_OK && strlen(text) != len)
		st = mr_fail(MR_ECONFIG, "it has a NUL byte");
	if (st == MR_OK)
		st = read_text(path, of, text, out);
	out->hash = mr_hash64(0, text, len);
	free(text);
	if (st != MR_OK) {
		mr_costs_fini(out);
		return mr_fail_in(st, "%s", path);
	}
	return MR_OK;
}
