#include "session/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/size.h"
#include "session/leader.h"
#include "session/lone_model.h"

/* A model for samples of a given number of rows. */
typedef struct pass {
	mr_graph *graph;
	mr_lone_model model;
	bool last; /* logits are those of the last row alone */
} pass;

struct mr_decoder {
	const mr_session *s;
	int64_t context;
	bool decodes;         /* all layers do */
	pass one, all;        /* one row; the window, made when it is first needed */
	mr_lone_weights weights;
	mr_leader *leader;
	mr_layer_past *past;  /* [nodes] */
	mr_region memory;     /* of all of them */
	int64_t kept;         /* tokens of which there is a past, */
	int32_t *text;        /* [context] and which they are */
	void *logits;         /* one row */
	size_t logits_bytes;
};

/* --- graphs ------------------------------------------------------------------------------------------------------- */

static mr_shape with_rows(mr_shape s, int64_t whole, int64_t rows)
{
	if (s.rows == whole)
		s.rows = rows;
	return s;
}

static bool is_tied(const mr_graph *g, uint32_t p)
{
	for (uint32_t i = 0; i < g->n_params; i++)
		if (g->params[i].tied_to == (int32_t)p)
			return true;
	return g->params[p].tied_to >= 0;
}

/* The configuration of @n, with a matrix that is stored [out, in] where that is a choice. */
static mr_layer_cfg cfg_of(const mr_graph *g, const mr_node *n)
{
	mr_layer_cfg cfg = n->cfg;

	if (n->ops == mr_layer_find("linear") && !is_tied(g, n->first_param))
		cfg.transposed = true;
	return cfg;
}

/* Does @g end with a head: a linear layer of single rows, whose output only the loss reads, and which reads one value
 * alone? */
static bool has_head(const mr_graph *g)
{
	const mr_node *head = &g->nodes[g->n_nodes - 2], *loss = head + 1;

	return head->ops == mr_layer_find("linear") && !head->cfg.flat && loss->n_in == 1 && loss->in[0] == head->out;
}

/* The head and the loss of @g, for the last one of @rows rows. */
static mr_status add_head(const mr_graph *g, int64_t rows, mr_graph *to)
{
	const mr_node *head = &g->nodes[g->n_nodes - 2], *loss = head + 1;
	mr_layer_cfg cfg = cfg_of(g, head), range = {.first_row = rows - 1, .count = 1};
	uint16_t x;

	MR_TRY(mr_graph_add(to, mr_layer_find("row_range"), "last_row", &range, head->in, 1, &x));
	MR_TRY(mr_graph_add(to, head->ops, head->name, &cfg, &x, 1, &x));
	return mr_graph_add(to, loss->ops, loss->name, &loss->cfg, &x, 1, NULL);
}

static mr_status add_nodes(const mr_graph *g, int64_t rows, bool last, mr_graph *to)
{
	for (uint32_t i = 0; i + (last ? 2 : 0) < g->n_nodes; i++) {
		const mr_node *n = &g->nodes[i];
		mr_layer_cfg cfg = cfg_of(g, n);

		MR_TRY(mr_graph_add(to, n->ops, n->name, &cfg, n->in, n->n_in, NULL));
	}
	if (last)
		MR_TRY(add_head(g, rows, to));
	for (uint32_t p = 0; p < g->n_params; p++)
		if (g->params[p].tied_to >= 0)
			MR_TRY(mr_graph_tie(to, p, (uint32_t)g->params[p].tied_to));
	return mr_graph_finish(to);
}

/* The layers of @g for samples of @rows rows. @last: only the last one of them goes through the head. */
static mr_status graph_of_rows(const mr_graph *g, int64_t rows, bool last, mr_graph **out)
{
	int64_t whole = g->input.rows;
	mr_status st;

	MR_TRY(mr_graph_create(with_rows(g->input, whole, rows), with_rows(g->target, whole, last ? 1 : rows), out));
	st = add_nodes(g, rows, last, *out);
	if (st != MR_OK) {
		mr_graph_destroy(*out);
		*out = NULL;
	}
	return st;
}

static bool all_decode(const mr_graph *g)
{
	for (uint32_t i = 0; i + 1 < g->n_nodes; i++) {
		const mr_layer_ops *ops = g->nodes[i].ops;

		if (!ops->decodes || !ops->decodes(&g->nodes[i].cfg))
			return false;
	}
	return g->input.rows > 1;
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

static void pass_fini(pass *p)
{
	mr_lone_model_fini(&p->model);
	mr_graph_destroy(p->graph);
	p->graph = NULL;
}

static mr_status pass_init(pass *p, const mr_decoder *d, int64_t rows)
{
	p->last = d->decodes && rows > 1 && has_head(mr_session_model(d->s));
	MR_TRY(graph_of_rows(mr_session_model(d->s), rows, p->last, &p->graph));
	return mr_lone_model_init(&p->model, d->s, p->graph, 1);
}

/* Rows of @tokens, which fill the pass, behind @first others. @first < 0: nothing is kept. */
static mr_status run(mr_decoder *d, pass *p, const int32_t *tokens, int64_t first)
{
	memcpy(p->model.input, tokens, p->model.input_bytes);
	p->model.io.past = first >= 0 ? d->past : NULL;
	for (uint32_t i = 0; i < mr_session_model(d->s)->n_nodes; i++)
		d->past[i].first = first;
	mr_lone_model_use(&p->model, &d->weights, mr_leader_context(d->leader));
	return mr_leader_run(d->leader, mr_lone_model_forward, &p->model);
}

static void take_row(mr_decoder *d, const pass *p, int64_t row)
{
	memcpy(d->logits, (const char *)p->model.logits + (p->last ? 0 : (size_t)row * d->logits_bytes),
	       d->logits_bytes);
}

/* The tokens of a window, or fewer, with padding behind them that no row before it sees. */
static mr_status run_whole(mr_decoder *d, const int32_t *tokens, int64_t n)
{
	int32_t *window = calloc((size_t)d->context, sizeof(*window));
	mr_status st = MR_OK;

	if (!window)
		return mr_fail(MR_ERESOURCE, "no memory for a window of tokens");
	memcpy(window, tokens, (size_t)n * sizeof(*window));
	if (!d->all.model.stage)
		st = pass_init(&d->all, d, d->context);
	if (st == MR_OK)
		st = run(d, &d->all, window, -1);
	if (st == MR_OK)
		take_row(d, &d->all, n - 1);
	free(window);
	return st;
}

static mr_status run_first(mr_decoder *d, const int32_t *tokens, int64_t n)
{
	pass p = {0};
	mr_status st = pass_init(&p, d, n);

	if (st == MR_OK)
		st = run(d, &p, tokens, 0);
	if (st == MR_OK)
		take_row(d, &p, n - 1);
	pass_fini(&p);
	return st;
}

/* Is there a past of all tokens but the last one? */
static bool goes_on(const mr_decoder *d, const int32_t *text, int64_t n)
{
	return d->kept == n - 1 && !memcmp(text, d->text, (size_t)d->kept * sizeof(*text));
}

mr_status mr_decoder_next(mr_decoder *d, const int32_t *text, int64_t n, const void **logits)
{
	int64_t shown = n < d->context ? n : d->context;

	*logits = d->logits;
	if (!d->decodes || n > d->context)
		return run_whole(d, text + n - shown, shown);
	if (n == 1 || goes_on(d, text, n)) {
		MR_TRY(run(d, &d->one, text + n - 1, n - 1));
		*logits = d->one.model.logits;
	} else {
		MR_TRY(run_first(d, text, n));
	}
	d->kept = n;
	memcpy(d->text, text, (size_t)n * sizeof(*text));
	return MR_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static size_t past_bytes(const mr_decoder *d, const mr_node *n)
{
	return d->decodes && n->ops->past_bytes ? n->ops->past_bytes(&n->cfg, n->in_shape, d->s->kernels) : 0;
}

static void layout(mr_decoder *d, mr_arena *a)
{
	const mr_graph *g = mr_session_model(d->s);

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		d->past[i].room = d->context;
		d->past[i].memory = mr_arena_take(a, past_bytes(d, &g->nodes[i]), MR_CACHE_LINE);
	}
	d->logits = mr_arena_take(a, d->logits_bytes, MR_CACHE_LINE);
	d->text = mr_arena_take(a, (size_t)d->context * sizeof(*d->text), MR_CACHE_LINE);
}

static mr_status make_memory(mr_decoder *d)
{
	const mr_place_worker *place = &d->s->place.worker[0];
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	layout(d, &a);
	MR_TRY(mr_region_map(&d->memory, a.used, place->bindable ? &place->memory : NULL));
	mr_arena_init(&a, d->memory.base, d->memory.bytes);
	layout(d, &a);
	return MR_OK;
}

static mr_status fill(mr_decoder *d, const mr_state_list *model)
{
	const mr_graph *g = mr_session_model(d->s);
	pass *p = d->decodes ? &d->one : &d->all;

	d->past = calloc(g->n_nodes, sizeof(*d->past));
	if (!d->past)
		return mr_fail(MR_ERESOURCE, "no memory for the model");
	MR_TRY(make_memory(d));
	MR_TRY(pass_init(p, d, d->decodes ? 1 : d->context));
	MR_TRY(mr_lone_weights_init(&d->weights, d->s, &p->model, model));
	return mr_leader_start(&d->s->place.worker[0], d->s->kernels, &d->leader);
}

mr_status mr_decoder_create(const mr_session *s, const mr_state_list *model, bool whole, mr_decoder **out)
{
	mr_decoder *d = calloc(1, sizeof(*d));
	const mr_graph *g = mr_session_model(s);
	mr_status st;

	if (!d)
		return mr_fail(MR_ERESOURCE, "no memory for the model");
	d->s = s;
	d->context = g->input.rows;
	d->decodes = !whole && all_decode(g);
	d->logits_bytes = (size_t)g->values[g->nodes[g->n_nodes - 1].in[0]].shape.cols *
			  mr_dtype_bytes(s->kernels->types.activations);
	st = fill(d, model);
	if (st != MR_OK) {
		mr_decoder_destroy(d);
		return st;
	}
	mr_log(MR_LOG_INFO, "sample", "weights %.1f MB, past of %lld tokens %.1f MB",
	       (double)d->weights.region.bytes / 1e6, (long long)d->context, (double)d->memory.bytes / 1e6);
	*out = d;
	return MR_OK;
}

void mr_decoder_destroy(mr_decoder *d)
{
	if (!d)
		return;
	mr_leader_stop(d->leader);
	pass_fini(&d->one);
	pass_fini(&d->all);
	mr_lone_weights_fini(&d->weights);
	mr_region_unmap(&d->memory);
	free(d->past);
	free(d);
}
