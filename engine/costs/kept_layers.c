#include "costs/kept_layers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/stats.h"
#include "host/processor.h"
#include "nn/choices.h"

#define MAX_PROGRAM ((size_t)1 << 30)

struct mr_kept_layers {
	mr_kept_rows rows;
	const mr_choices *choices; /* whose hash is choices_hash */
	uint64_t choices_hash;
};

static void put_word(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
	for (char *c = to; *c; c++)
		if (*c == ';' || *c == '\n')
			*c = ',';
}

/* The version, and a hash of the program, whose kernels may be others after each build. */
static const char *program_text(void)
{
	static char text[64];
	char *program;
	size_t len;

	if (!*text && mr_file_read_regular("/proc/self/exe", MAX_PROGRAM, &program, &len) == MR_OK) {
		snprintf(text, sizeof(text), MR_VERSION " %016" PRIx64, mr_hash64(0, program, len));
		free(program);
	}
	return *text ? text : MR_VERSION;
}

static void words_of_here(mr_kept_words value)
{
	char name[128];

	mr_processor_name(name, sizeof(name));
	put_word(value[0], sizeof(*value), *name ? name : "unknown");
	put_word(value[1], sizeof(*value), mr_kernels_isa(MR_F32));
	put_word(value[2], sizeof(*value), mr_kernels_library());
	put_word(value[3], sizeof(*value), program_text());
}

mr_kept_layers *mr_kept_layers_open(void)
{
	mr_kept_layers *k = calloc(1, sizeof(*k));
	mr_kept_words here;

	if (!k || !mr_kept_rows_there())
		return k;
	words_of_here(here);
	mr_kept_rows_read(&k->rows, here);
	return k;
}

void mr_kept_layers_close(mr_kept_layers *k)
{
	if (k)
		mr_kept_rows_fini(&k->rows);
	free(k);
}

static uint64_t fold_shape(uint64_t h, const mr_shape *s)
{
	int64_t numbers[] = {s->rows, s->cols, s->tokens};

	return mr_hash64(h, numbers, sizeof(numbers));
}

static uint64_t fold_text(uint64_t h, const char *text)
{
	return mr_hash64(h, text, strlen(text));
}

/* All that the times of a layer depend on, but for samples and threads. What its weights begin with is left out. */
static uint64_t key_of(mr_kept_layers *k, const mr_workload *of, uint32_t node)
{
	const mr_node *n = &of->graph->nodes[node];
	mr_layer_cfg cfg = n->cfg;
	int64_t numbers[] = {n->n_in, n->n_out, n->n_params, mr_graph_wants_any_dx(of->graph, node), n->added,
			     n->fuse_act_backward, n->addend == MR_GRAPH_NO_VALUE};
	uint64_t h = mr_hash64(0, numbers, sizeof(numbers));

	if (of->kernels->choices && k->choices != of->kernels->choices) {
		k->choices = of->kernels->choices;
		k->choices_hash = mr_choices_hash(k->choices);
	}
	h = of->kernels->choices ? mr_hash64(h, &k->choices_hash, sizeof(k->choices_hash)) : h;
	cfg.std = cfg.bias_std = cfg.bias = 0;
	h = mr_fields_hash(mr_layer_cfg_fields, &cfg, h);
	for (uint32_t i = 0; i < n->n_in; i++)
		h = fold_shape(h, &n->in_shape[i]);
	for (uint32_t i = 0; i < n->n_out; i++)
		h = fold_shape(h, &n->out_shape[i]);
	for (uint32_t i = n->first_param; i < n->first_param + n->n_params; i++)
		h = mr_hash64(h, &of->graph->params[i].n, sizeof(of->graph->params[i].n));
	h = fold_text(fold_text(h, n->ops->name), of->kernels->name);
	return fold_text(fold_text(h, mr_types_name(&of->kernels->types)), of->optim->ops->name);
}

/* A time for @samples samples between @a of fewer and @b of more: a power of the samples. */
static double between(double a, double b, double at)
{
	return a > 0 && b > 0 ? a * pow(b / a, at) : fmax(a, b);
}

bool mr_kept_layers_find(mr_kept_layers *k, const mr_workload *of, uint32_t node, uint32_t threads,
			 mr_kept_layer *out)
{
	const mr_kept_row *r = NULL, *around[2];
	uint64_t key;

	if (!k || !k->rows.n)
		return false;
	key = key_of(k, of, node);
	r = mr_kept_rows_nearest(&k->rows, key, of->samples, threads);
	if (!r)
		return false;
	*out = r->layer;
	if ((r->layer.samples != of->samples || r->layer.threads != threads) &&
	    mr_kept_rows_around(&k->rows, key, of->samples, threads, around)) {
		const mr_kept_layer *a = &around[0]->layer, *b = &around[1]->layer;
		double at = log((double)of->samples / (double)a->samples) /
			    log((double)b->samples / (double)a->samples);

		if ((a->u > 0) == (b->u > 0)) /* else w contains the step in one of them */
			*out = (mr_kept_layer){of->samples, threads, between(a->f, b->f, at), between(a->i, b->i, at),
					       between(a->w, b->w, at), between(a->u, b->u, at)};
	}
	return true;
}

/* Layer @node of @of as a row. */
static mr_kept_row row_of(mr_kept_layers *kept, const mr_workload *of, const mr_costs *measured, uint32_t node)
{
	const mr_stage_cost *c = &measured->layer[node];
	uint16_t worker = mr_plan_worker(of->plan, 0, mr_partition_stage(of->partition, node));
	mr_kept_row r = {.key = key_of(kept, of, node),
		 .layer = {of->samples, of->place->worker[worker].n_threads, c->f, c->i, c->w, c->u}};

	snprintf(r.kind, sizeof(r.kind), "%s", of->graph->nodes[node].ops->name);
	return r;
}

/* @mean of @n - 1 measurements becomes that of @n. */
static void join(mr_kept_layer *mean, const mr_kept_layer *l, uint32_t n)
{
	mean->f += (l->f - mean->f) / n;
	mean->i += (l->i - mean->i) / n;
	mean->w += (l->w - mean->w) / n;
	mean->u += (l->u - mean->u) / n;
}

/* Equal layers of a model become one row, with their mean times. Returns how many rows there are. */
static uint32_t collect(mr_kept_layers *kept, const mr_workload *of, const mr_costs *measured, mr_kept_row *at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < of->graph->n_nodes; i++) {
		mr_kept_row r = row_of(kept, of, measured, i);
		uint32_t same = 0, k = mr_kept_rows_same(at, n, &r);

		if (k == n) {
			at[n++] = r;
			continue;
		}
		for (uint32_t j = 0; j <= i; j++) {
			mr_kept_row other = row_of(kept, of, measured, j);

			same += mr_kept_rows_same(&other, 1, &r) == 0;
		}
		join(&at[k].layer, &r.layer, same);
	}
	return n;
}

/* The rows of @measured into *@fresh, which the caller frees. */
static mr_status rows_of(mr_kept_layers *k, const mr_workload *of, const mr_costs *measured, mr_kept_row **fresh,
			 uint32_t *n)
{
	*fresh = calloc(of->graph->n_nodes + 1u, sizeof(**fresh));
	if (!*fresh)
		return mr_fail(MR_ERESOURCE, "no memory for the times of %u layers", of->graph->n_nodes);
	*n = collect(k, of, measured, *fresh);
	return MR_OK;
}

mr_status mr_kept_layers_add(mr_kept_layers *k, const mr_workload *of, const mr_costs *measured)
{
	mr_kept_row *fresh;
	mr_status st;
	uint32_t n;

	MR_TRY(rows_of(k, of, measured, &fresh, &n));
	st = mr_kept_rows_add(&k->rows, fresh, n);
	free(fresh);
	return st;
}

mr_status mr_kept_layers_store(const mr_workload *of, const mr_costs *measured, bool anew, uint32_t *n)
{
	mr_kept_layers k = {0};
	mr_kept_words here;
	mr_kept_row *fresh;
	mr_status st;
	uint32_t n_fresh;

	MR_TRY(rows_of(&k, of, measured, &fresh, &n_fresh));
	words_of_here(here);
	st = mr_kept_rows_store(here, fresh, n_fresh, anew, n);
	free(fresh);
	return st;
}
