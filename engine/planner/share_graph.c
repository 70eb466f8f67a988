#include "planner/share_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a node is cut. */
typedef enum role {
	WHOLE,
	COLUMNS, /* a linear layer by its output */
	WITHIN,  /* what takes each column or head by itself */
	ROWS,    /* a linear layer by its input */
	ALONE,   /* a linear layer or an embedding by its output, whose columns are joined at once; or by words */
	WORDS,   /* take_over alone: an embedding by words */
	MAYBE,   /* by the rows of each sample, if a layer that is cut is near */
	BY_ROWS, /* by the rows of each sample */
} role;

/* Heads and embeddings of fewer classes stay whole: to meet takes longer than their products. */
#define LEAST_CLASSES 256

typedef struct cutter {
	const mr_graph *whole;
	uint32_t n, self;
	bool by_rows;      /* norms and the like are */
	role *role;        /* [nodes] */
	bool *barred;      /* [nodes] linear layers that are not to begin a pair */
	bool *parted;      /* [values] are they cut? */
	bool *as_rows;     /* [values] written as the rows of a share */
	/* [values] their numbers in the new graph: whole or cut, the own rows, and behind their share_in;
	 * MR_GRAPH_NO_VALUE: there is none yet */
	uint16_t *here, *rows, *entered;
	mr_graph *g;
} cutter;

static bool is(const mr_node *nd, const char *layer)
{
	return !strcmp(nd->ops->name, layer);
}

static bool divides(const cutter *c, int64_t n)
{
	return n % c->n == 0;
}

/* Shares that have the same of @kv heads of keys and values; 0: shares cannot have whole heads. */
static int64_t copies_of_heads(const cutter *c, int64_t kv)
{
	return divides(c, kv) ? 1 : c->n % kv == 0 ? c->n / kv : 0;
}

/* The node that reads value @v, if one alone does. */
static const mr_node *reader_of(const mr_graph *g, uint16_t v)
{
	return g->values[v].n_uses == 1 ? &g->nodes[g->values[v].last_use] : NULL;
}

/* Shares that have the same columns of the linear layer @nd: of keys or values of few heads, which rope reads. Where
 * one layer makes queries, keys and values at once, the columns of each belong to one share. */
static int64_t copies_of(const cutter *c, const mr_node *nd)
{
	const mr_node *next = reader_of(c->whole, nd->out);
	int64_t n = 1;

	if (next && is(next, "rope") && next->in[0] != nd->out && next->cfg.kv_heads)
		n = copies_of_heads(c, next->cfg.kv_heads);
	return n ? n : 1;
}

/* May @nd stand between the two layers of a pair? */
static bool fits_within(const cutter *c, const mr_node *nd)
{
	const mr_layer_cfg *cfg = &nd->cfg;

	if (is(nd, "attention") && !is(&c->whole->nodes[c->whole->values[nd->in[0]].producer], "rope"))
		return divides(c, cfg->heads) && divides(c, cfg->kv_heads);
	if (is(nd, "attention") || is(nd, "rope"))
		return divides(c, cfg->heads) && copies_of_heads(c, cfg->kv_heads);
	return is(nd, "swiglu") || is(nd, "gelu") || is(nd, "activation");
}

/* May a pair begin with @nd? */
static bool begins(const cutter *c, const mr_node *nd)
{
	return is(nd, "linear") && !nd->cfg.flat && divides(c, nd->cfg.out * copies_of(c, nd));
}

static bool ends(const mr_node *nd)
{
	return is(nd, "linear") && !nd->cfg.flat && nd->cfg.act != MR_ACT_GELU;
}

/* Is @nd the layer in front of the loss, of many classes? */
static bool is_head(const cutter *c, const mr_node *nd)
{
	return is(nd, "linear") && !nd->cfg.flat && nd->cfg.act == MR_ACT_NONE && nd->cfg.out >= LEAST_CLASSES &&
	       nd + 2 == c->whole->nodes + c->whole->n_nodes;
}

/* Are the words of @nd, an embedding or the head, cut, as the two share one table of them and nothing else does? */
static bool by_words(const cutter *c, const mr_node *nd)
{
	const mr_graph *w = c->whole;
	const mr_node *head = &w->nodes[w->n_nodes - 2], *from;
	int32_t table = head->n_params ? w->params[head->first_param].tied_to : -1;
	uint32_t n_users = 0;

	for (uint32_t p = 0; table >= 0 && p < w->n_params; p++)
		n_users += w->params[p].tied_to == table;
	if (n_users != 1 || !is_head(c, head) || !head->cfg.transposed || !divides(c, head->cfg.out) ||
	    !is(&w->nodes[w->params[table].node], "embedding"))
		return false;
	from = &w->nodes[w->values[head->in[0]].producer]; /* which is not cut itself */
	return !is(from, "linear") && !fits_within(c, from) &&
	       (nd == head || nd == &w->nodes[w->params[table].node]);
}

/* Is @nd an embedding or a head of many classes whose weights are cut, and its output joined or summed at once? */
static bool stands_alone(const cutter *c, const mr_node *nd)
{
	for (uint32_t p = nd->first_param; p < nd->first_param + nd->n_params; p++)
		if (mr_graph_tied(c->whole, p))
			return by_words(c, nd);
	return divides(c, nd->cfg.out) && (is_head(c, nd) || (is(nd, "embedding") && nd->cfg.vocab >= LEAST_CLASSES));
}

/* No pair begins with the linear layers from which value @v comes. */
static void bar(cutter *c, uint16_t v)
{
	uint32_t from = c->whole->values[v].producer;
	const mr_node *nd = &c->whole->nodes[from];

	if (c->role[from] == COLUMNS)
		c->barred[from] = true;
	for (uint32_t j = 0; c->role[from] == WITHIN && j < nd->n_in; j++)
		bar(c, nd->in[j]);
}

/* Give node @i its role; false: it cannot read what the nodes before it leave. */
static bool take_role(cutter *c, uint32_t i)
{
	const mr_node *nd = &c->whole->nodes[i];
	uint32_t n_parted = 0;

	for (uint32_t j = 0; j < nd->n_in; j++)
		n_parted += c->parted[nd->in[j]];
	if (!n_parted && stands_alone(c, nd))
		c->role[i] = ALONE;
	else if (!n_parted)
		c->role[i] = !c->barred[i] && begins(c, nd) ? COLUMNS : WHOLE;
	else if (ends(nd))
		c->role[i] = ROWS;
	else if (n_parted == nd->n_in && fits_within(c, nd))
		c->role[i] = WITHIN;
	else
		return false;
	for (uint32_t j = 0; j < nd->n_out; j++)
		c->parted[nd->out + j] = c->role[i] == COLUMNS || c->role[i] == WITHIN;
	return true;
}

/* Give all nodes their roles. Where one cannot read what is cut, the pairs from which it comes stay whole. */
static mr_status take_roles(cutter *c)
{
	bool any = false;

	for (uint32_t i = 0; i < c->whole->n_nodes; i++) {
		if (take_role(c, i))
			continue;
		for (uint32_t j = 0; j < c->whole->nodes[i].n_in; j++)
			if (c->parted[c->whole->nodes[i].in[j]])
				bar(c, c->whole->nodes[i].in[j]);
		i = UINT32_MAX; /* from the beginning */
	}
	for (uint32_t i = 0; i < c->whole->n_nodes; i++)
		any |= c->role[i] == COLUMNS || c->role[i] == ALONE;
	if (any)
		return MR_OK;
	return mr_fail(MR_ECONFIG, "no layer of this model can be cut into %u shares: it needs pairs of linear layers "
				   "whose width, and heads of attention between them, %u divides", c->n, c->n);
}

/* --- layers by rows --- */

/* May a share compute its rows of @nd alone? */
static bool fits_by_rows(const cutter *c, const mr_node *nd)
{
	const mr_shape *out = &c->whole->values[nd->out].shape;

	if (!nd->ops->rows_apart || nd->ops->loss || !divides(c, out->rows))
		return false;
	for (uint32_t j = 0; j < nd->n_in; j++) {
		mr_shape s = c->whole->values[nd->in[j]].shape;

		if (!nd->in[j] || s.tokens || s.n_dims || s.rows != out->rows)
			return false;
	}
	return !is(nd, "dropout") || nd->cfg.variational ||
	       out->rows / c->n * out->cols % MR_DROPOUT_BLOCK == 0; /* its mask begins there */
}

/* Let @reader be computed by rows, or the node @from which it reads, because of the other. Was there anything to do? */
static bool spread(cutter *c, uint32_t from, uint32_t reader)
{
	role *a = &c->role[from], *b = &c->role[reader];
	bool front = *a == MAYBE && (*b == BY_ROWS || *b == COLUMNS || *b == ALONE);
	bool behind = *b == MAYBE && (*a == BY_ROWS || *a == ROWS);

	*a = front ? BY_ROWS : *a;
	*b = behind ? BY_ROWS : *b;
	return front || behind;
}

static bool spread_all(cutter *c)
{
	const mr_graph *w = c->whole;
	bool any = false;

	for (uint32_t i = 0; i < w->n_nodes; i++)
		for (uint32_t j = 0; j < w->nodes[i].n_in; j++)
			if (w->nodes[i].in[j])
				any |= spread(c, w->values[w->nodes[i].in[j]].producer, i);
	return any;
}

/* Find the nodes that are computed by rows, and the values that are written so. */
static mr_status take_rows(cutter *c)
{
	const mr_graph *w = c->whole;
	bool any = false;

	for (uint32_t i = 0; i < w->n_nodes; i++)
		if (c->role[i] == WHOLE && fits_by_rows(c, &w->nodes[i]))
			c->role[i] = MAYBE;
	while (spread_all(c))
		;
	for (uint32_t i = 0; i < w->n_nodes; i++) {
		c->role[i] = c->role[i] == MAYBE ? WHOLE : c->role[i];
		for (uint32_t j = 0; c->role[i] == BY_ROWS && j < w->nodes[i].n_in; j++)
			c->as_rows[w->nodes[i].in[j]] |= c->role[w->values[w->nodes[i].in[j]].producer] == ROWS;
		any |= c->role[i] == BY_ROWS;
	}
	return any ? MR_OK
		   : mr_fail(MR_ECONFIG, "sequence_parallel: no norm or sum next to a layer that is cut has positions "
					 "which %u shares divide", c->n);
}

/* --- the new graph --- */

static mr_status add(cutter *c, const mr_layer_ops *ops, const char *name, const mr_layer_cfg *cfg, const uint16_t *in,
		     uint32_t n_in, uint16_t *out)
{
	return mr_graph_add(c->g, ops, name, cfg, in, n_in, out);
}

/* A layer that @nd needs in addition, called "<name>.<suffix>". */
static mr_status add_beside(cutter *c, const mr_node *nd, const char *layer, const char *suffix,
			    const mr_layer_cfg *cfg, uint16_t *value)
{
	char name[2 * sizeof(nd->name)];

	snprintf(name, sizeof(name), "%s.%s", nd->name, suffix);
	return add(c, mr_layer_find(layer), name, cfg, value, 1, value);
}

/* Value @v where layers that are cut read it. The model's input has no gradient, of which there would be a sum. */
static mr_status enter(cutter *c, const mr_node *nd, uint16_t v, uint16_t *out)
{
	bool by_rows = c->here[v] == MR_GRAPH_NO_VALUE;

	*out = by_rows ? c->rows[v] : c->here[v];
	if (!by_rows && !mr_graph_has_grad(c->whole, v))
		return MR_OK;
	if (c->entered[v] == MR_GRAPH_NO_VALUE) {
		MR_TRY(add_beside(c, nd, "share_in", "in", &(mr_layer_cfg){.parts = by_rows ? c->n : 0}, out));
		c->entered[v] = *out;
	}
	*out = c->entered[v];
	return MR_OK;
}

/* Input @j of @nd, whole or cut; and its rows of this share. */
static mr_status read_here(cutter *c, const mr_node *nd, uint32_t j, uint16_t *out)
{
	uint16_t v = nd->in[j];

	if (c->here[v] == MR_GRAPH_NO_VALUE) {
		c->here[v] = c->rows[v];
		MR_TRY(add_beside(c, nd, "share_join", j ? "join_2" : "join", &(mr_layer_cfg){.parts = c->n},
				  &c->here[v]));
	}
	*out = c->here[v];
	return MR_OK;
}

static mr_status read_rows(cutter *c, const mr_node *nd, uint32_t j, uint16_t *out)
{
	uint16_t v = nd->in[j];

	if (c->rows[v] == MR_GRAPH_NO_VALUE) {
		c->rows[v] = c->here[v];
		MR_TRY(add_beside(c, nd, "share_rows", j ? "rows_2" : "rows", &(mr_layer_cfg){.parts = c->n},
				  &c->rows[v]));
	}
	*out = c->rows[v];
	return MR_OK;
}

/* The blocks of the columns that @nd computes: q, k and v, if attention reads them. */
static mr_param_cut cut_of_columns(const cutter *c, const mr_node *nd)
{
	const mr_node *next = reader_of(c->whole, nd->out);
	uint32_t copies = (uint32_t)copies_of(c, nd);
	mr_param_cut cut = {.of = c->n / copies, .self = c->self / copies, .n_blocks = 1, .block = {nd->cfg.out}};
	int64_t kv, dim;

	if (!next || !is(next, "attention"))
		return cut;
	kv = next->cfg.kv_heads ? next->cfg.kv_heads : next->cfg.heads;
	dim = nd->cfg.out / (next->cfg.heads + 2 * kv);
	cut.n_blocks = 3;
	cut.block[0] = next->cfg.heads * dim;
	cut.block[1] = cut.block[2] = kv * dim;
	return cut;
}

static mr_param_cut cut_of(const cutter *c, int64_t length)
{
	return (mr_param_cut){.of = c->n, .self = c->self, .n_blocks = 1, .block = {length}};
}

/* What @nd, as it was added last, takes over from the whole model. */
static void take_over(cutter *c, const mr_node *nd, role as)
{
	mr_node *mine = &c->g->nodes[c->g->n_nodes - 1];
	bool by_columns = as == COLUMNS || as == ALONE;
	mr_param_cut cut = as == WORDS ? cut_of(c, nd->cfg.vocab)
			   : by_columns ? cut_of_columns(c, nd) : cut_of(c, nd->in_shape[0].cols);
	bool transposed = nd->cfg.transposed;

	mine->number = nd->number;
	for (uint32_t j = 0; j < mine->n_params; j++) {
		mr_param *p = &c->g->params[mine->first_param + j];
		const mr_param *of = &c->whole->params[nd->first_param + j];

		p->init = of->init;
		p->std = of->std;
		p->tied_to = of->tied_to; /* parameters have the same numbers */
		if (by_columns || ((as == ROWS || as == WORDS) && j == 0)) {
			p->cut = cut;
			p->cut.axis = p->rank == 2 && as != WORDS && by_columns != transposed;
		}
	}
}

static mr_status add_columns(cutter *c, const mr_node *nd)
{
	mr_layer_cfg cfg = nd->cfg;
	int64_t copies = copies_of(c, nd);
	uint16_t in;

	cfg.out = cfg.out * copies / c->n;
	cfg.copies = copies > 1 ? copies : 0;
	MR_TRY(enter(c, nd, nd->in[0], &in));
	MR_TRY(add(c, nd->ops, nd->name, &cfg, &in, 1, &c->here[nd->out]));
	take_over(c, nd, COLUMNS);
	return MR_OK;
}

/* An embedding that the head shares: of the words a part, and the sum over shares. */
static mr_status add_words(cutter *c, const mr_node *nd)
{
	mr_layer_cfg cfg = nd->cfg;
	uint16_t v;

	cfg.vocab /= c->n;
	cfg.parts = c->n;
	cfg.first_row = c->self * cfg.vocab;
	MR_TRY(enter(c, nd, nd->in[0], &v));
	MR_TRY(add(c, nd->ops, nd->name, &cfg, &v, 1, &v));
	take_over(c, nd, WORDS);
	MR_TRY(add_beside(c, nd, "share_out", "out", &(mr_layer_cfg){0}, &v));
	c->here[nd->out] = v;
	return MR_OK;
}

static mr_status add_alone(cutter *c, const mr_node *nd)
{
	mr_layer_cfg cfg = nd->cfg;
	uint16_t v;

	if (is(nd, "embedding") && by_words(c, nd))
		return add_words(c, nd);
	cfg.out /= c->n;
	MR_TRY(enter(c, nd, nd->in[0], &v));
	MR_TRY(add(c, nd->ops, nd->name, &cfg, &v, 1, &v));
	take_over(c, nd, ALONE);
	MR_TRY(add_beside(c, nd, "share_cat", "out", &(mr_layer_cfg){.parts = c->n}, &v));
	c->here[nd->out] = v;
	return MR_OK;
}

static mr_status add_rows(cutter *c, const mr_node *nd)
{
	mr_layer_cfg cfg = nd->cfg;
	uint16_t v = c->here[nd->in[0]];

	cfg.act = MR_ACT_NONE;
	cfg.bias_elsewhere = !cfg.no_bias && c->self > 0;
	MR_TRY(add(c, nd->ops, nd->name, &cfg, &v, 1, &v));
	take_over(c, nd, ROWS);
	MR_TRY(add_beside(c, nd, "share_out", "out", &(mr_layer_cfg){.parts = c->as_rows[nd->out] ? c->n : 0}, &v));
	if (nd->cfg.act != MR_ACT_NONE)
		MR_TRY(add_beside(c, nd, "activation", "act", &(mr_layer_cfg){.act = nd->cfg.act}, &v));
	*(c->as_rows[nd->out] ? &c->rows[nd->out] : &c->here[nd->out]) = v;
	return MR_OK;
}

static mr_status add_by_rows(cutter *c, const mr_node *nd)
{
	int64_t rows = c->whole->values[nd->out].shape.rows / c->n;
	mr_layer_cfg cfg = nd->cfg;
	uint16_t in[MR_LAYER_INPUTS];

	cfg.parts = c->n;
	cfg.first_row = is(nd, "dropout") && !cfg.variational ? c->self * rows : 0;
	for (uint32_t j = 0; j < nd->n_in; j++)
		MR_TRY(read_rows(c, nd, j, &in[j]));
	MR_TRY(add(c, nd->ops, nd->name, &cfg, in, nd->n_in, &c->rows[nd->out]));
	take_over(c, nd, BY_ROWS);
	return MR_OK;
}

static mr_status add_node(cutter *c, uint32_t i)
{
	const mr_node *nd = &c->whole->nodes[i];
	mr_layer_cfg cfg = nd->cfg;
	uint16_t in[MR_LAYER_INPUTS], out;

	if (c->role[i] == COLUMNS)
		return add_columns(c, nd);
	if (c->role[i] == ROWS)
		return add_rows(c, nd);
	if (c->role[i] == ALONE)
		return add_alone(c, nd);
	if (c->role[i] == BY_ROWS)
		return add_by_rows(c, nd);
	if (c->role[i] == WITHIN) {
		cfg.heads /= c->n;
		cfg.kv_heads = (cfg.kv_heads + c->n - 1) / c->n; /* at least one, or 0: as many as heads */
	}
	for (uint32_t j = 0; j < nd->n_in; j++)
		MR_TRY(read_here(c, nd, j, &in[j]));
	MR_TRY(add(c, nd->ops, nd->name, &cfg, in, nd->n_in, &out));
	for (uint32_t j = 0; j < nd->n_out; j++)
		c->here[nd->out + j] = (uint16_t)(out + j);
	take_over(c, nd, c->role[i]);
	return MR_OK;
}

/* Frozen layers and the weights of classes. */
static mr_status finish(cutter *c)
{
	const mr_graph *w = c->whole;

	MR_TRY(mr_graph_finish(c->g));
	for (uint32_t i = 0; i < c->g->n_nodes; i++) {
		uint32_t of = mr_graph_find_node(w, c->g->nodes[i].name);

		c->g->nodes[i].frozen = of != MR_GRAPH_NO_NODE && w->nodes[of].frozen;
	}
	mr_graph_note_frozen(c->g);
	if (!w->class_weight)
		return MR_OK;
	MR_TRY(mr_graph_weigh(c->g));
	memcpy(c->g->class_weight, w->class_weight, w->n_class_weights * sizeof(*w->class_weight));
	return MR_OK;
}

static mr_status build(cutter *c)
{
	const mr_graph *w = c->whole;

	for (uint32_t v = 0; v < w->n_values; v++)
		c->here[v] = c->rows[v] = c->entered[v] = MR_GRAPH_NO_VALUE;
	c->here[0] = 0;
	MR_TRY(take_roles(c));
	if (c->by_rows)
		MR_TRY(take_rows(c));
	MR_TRY(mr_graph_create(w->input, w->target, &c->g));
	for (uint32_t i = 0; i < w->n_nodes; i++)
		MR_TRY(add_node(c, i));
	return finish(c);
}

mr_status mr_share_graph(const mr_graph *whole, uint32_t n, uint32_t self, bool by_rows, mr_graph **out)
{
	cutter c = {
		.whole = whole,
		.n = n,
		.self = self,
		.by_rows = by_rows,
		.role = calloc(whole->n_nodes, sizeof(*c.role)),
		.barred = calloc(whole->n_nodes, sizeof(*c.barred)),
		.parted = calloc(whole->n_values, sizeof(*c.parted)),
		.as_rows = calloc(whole->n_values, sizeof(*c.as_rows)),
		.here = calloc(whole->n_values, sizeof(*c.here)),
		.rows = calloc(whole->n_values, sizeof(*c.rows)),
		.entered = calloc(whole->n_values, sizeof(*c.entered)),
	};
	mr_status st = c.role && c.barred && c.parted && c.as_rows && c.here && c.rows && c.entered
			       ? build(&c)
			       : mr_fail(MR_ERESOURCE, "no memory for the shares of a model");

	free(c.role);
	free(c.barred);
	free(c.parted);
	free(c.as_rows);
	free(c.here);
	free(c.rows);
	free(c.entered);
	if (st != MR_OK) {
		mr_graph_destroy(c.g);
		c.g = NULL;
	}
	*out = c.g;
	return st;
}
