#include "stage/stage.h"

#include <assert.h>
#include <string.h>

#include "base/usdt.h"
#include "stage/stage_layout.h"

const mr_stage_sizes *mr_stage_size(const mr_stage *s)
{
	return &s->size;
}

const mr_graph *mr_stage_graph(const mr_stage *s)
{
	return s->g;
}

void mr_stage_params(const mr_stage *s, uint32_t *first, uint32_t *end)
{
	*first = s->first_param;
	*end = s->end_param;
}

size_t mr_stage_weight_at(const mr_stage *s, uint32_t p)
{
	return p >= s->first_param && p < s->end_param ? s->weight_at[p - s->first_param] : SIZE_MAX;
}

bool mr_stage_steps(const mr_stage *s, uint32_t p)
{
	return mr_stage_weight_at(s, p) != SIZE_MAX && !s->g->nodes[s->g->params[p].node].frozen;
}

size_t mr_stage_state_at(const mr_stage *s, uint32_t p)
{
	return p >= s->first_param && p < s->end_param ? s->state_at[p - s->first_param] : SIZE_MAX;
}

size_t mr_stage_grad_at(const mr_stage *s, uint32_t p)
{
	assert(p >= s->first_param && p < s->end_param);
	return s->grad_at[p - s->first_param];
}

/* The address @offset bytes after @base; NULL if the caller has none of it. */
static void *address(const void *base, size_t offset)
{
	return base ? (char *)(uintptr_t)base + offset : NULL;
}

static void *resolve(const mr_stage_io *io, mr_ref r)
{
	const void *base = NULL;

	switch (r.where) {
	case MR_AT_NOWHERE:
		return NULL;
	case MR_AT_IN:
		base = io->in;
		break;
	case MR_AT_OUT:
		base = io->out;
		break;
	case MR_AT_GRAD_OUT:
		base = io->grad_out;
		break;
	case MR_AT_GRAD_IN:
		base = io->grad_in;
		break;
	case MR_AT_SLOT:
		base = io->slot;
		break;
	case MR_AT_SCRATCH:
		base = io->scratch;
		break;
	}
	return address(base, r.offset);
}

/* The arguments of one layer's call; it points to the caller's arrays @w and @dw. */
static mr_layer_call make_call(const mr_stage *s, const mr_stage_io *io, const mr_stage_step *st,
			       const void *w[MR_LAYER_PARAMS], void *dw[MR_LAYER_PARAMS])
{
	const mr_node *nd = st->node;
	mr_layer_call c = {
		.k = s->k,
		.kc = io->kc,
		.cfg = &nd->cfg,
		.in = nd->in_shape,
		.out = nd->out_shape,
		.samples = io->samples,
		.addend = resolve(io, st->addend),
		.w = w,
		.dw = dw,
		.dw_add = io->add_grads,
		.step = io->step ? io->step + (nd->first_param - s->first_param) : NULL,
		.sumsq = io->sumsq ? io->sumsq + (nd->first_param - s->first_param) : NULL,
		.fuse_act_backward = st->fuse_act_backward,
		.fuse_act_backward_aux = resolve(io, st->fuse_act_backward_aux),
		.dy_is_pre_activation = st->dy_is_pre_activation,
		.aux_i = resolve(io, st->aux_i),
		.aux_w = resolve(io, st->aux_w),
		.kept = resolve(io, st->kept),
		.target = io->target,
		.loss = io->loss,
		.judged = io->judged,
		.class_weight = nd->cfg.weighted ? s->g->class_weight : NULL,
		.train = io->train,
		.mask = {io->seed, io->first_sample, nd->number},
		.window = io->window,
		.shares = io->shares,
	};

	for (uint32_t j = 0; j < nd->n_in; j++) {
		c.x[j] = resolve(io, st->x[j]);
		c.dx[j] = resolve(io, st->dx[j]);
		c.dx_add[j] = st->dx_add[j];
	}
	for (uint32_t j = 0; j < nd->n_out; j++) {
		c.y[j] = resolve(io, st->y[j]);
		c.dy[j] = resolve(io, st->dy[j]);
	}
	for (uint32_t j = 0; j < nd->n_states; j++) {
		size_t at = s->layer_state_at[nd->first_state + j - s->first_state];

		c.state[j] = address(io->layer_state, at);
		c.seen[j] = address(resolve(io, s->seen), at);
	}
	for (uint32_t j = 0; j < st->n_carried; j++) {
		c.begin[j] = address(io->begin, st->carried_at[j]);
		c.end[j] = address(io->end, st->carried_at[j]);
	}
	for (uint32_t j = 0; j < nd->n_params; j++) {
		uint32_t p = nd->first_param + j;
		const void *weights = st->weight_tied[j]                    ? io->tied_weights
				      : io->tables && s->g->params[p].lazy ? io->tables
									    : io->weights;

		w[j] = address(weights, st->weight_at[j]);
		dw[j] = address(io->grads, st->grad_at[j]);
	}
	c.past = io->past ? &io->past[st - s->step] : NULL;
	c.sum_rows = st->sum_rows;
	if (io->old_rows && nd->n_params) {
		c.old_rows = io->old_rows[nd->first_param - s->first_param];
		c.version = io->version;
	}
	return c;
}

/* W of a table and of its head step it together. */
static void join_table(const mr_stage *s, const mr_stage_io *io, const mr_stage_step *st, mr_layer_call *c)
{
	const mr_tied_table *t = s->table;
	uint32_t p = st->node->first_param;
	const int32_t *token = NULL;

	if (!t || !c->step || !st->node->n_params || (p != t->owner && p != t->user))
		return;
	if (p == t->user)
		token = resolve(io, (st - (s->g->params[p].node - s->g->params[t->owner].node))->x[0]);
	c->sparse_rows = mr_tied_table_rows(t, s->g, &s->k->types, io->samples, io->scratch, token,
					     io->sumsq ? c->dw[0] : NULL);
}

/* Copies of each tensor the part that io->samples samples fill. */
static void copy(const mr_stage *s, const mr_stage_io *io, const mr_copy *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		memcpy(resolve(io, c[i].to), resolve(io, c[i].from),
		       (size_t)io->samples * mr_shape_bytes(s->g->values[c[i].value].shape, s->k->types.activations));
}

/* What the probes of a layer tell (base/usdt.h). */
static mr_usdt_layer layer_of(const mr_stage *s, uint32_t i)
{
	const mr_node *n = s->step[i].node;

	return (mr_usdt_layer){.name = n->name, .kind = n->ops->name,
		.rows = s->samples * n->in_shape[0].rows, .in = n->in_shape[0].cols, .out = n->out_shape[0].cols};
}

/* Carry out @pass of layer @i for @n calls, between its probes. */
static mr_status carry_out(const mr_stage *s, uint32_t i, enum mr_layer_pass pass, const mr_layer_call *c, uint32_t n)
{
	const mr_stage_step *st = &s->step[i];

	if (MR_USDT_ON(layer_begin) && !s->recorded) {
		mr_usdt_layer l = layer_of(s, i);

		mr_usdt_layer_begin(pass, &l);
	}
	MR_TRY(mr_layer_symbols_call(&st->symbols, pass, st->node->ops, c, n));
	if (MR_USDT_ON(layer_end) && !s->recorded) {
		mr_usdt_layer l = layer_of(s, i);

		mr_usdt_layer_end(pass, &l);
	}
	return MR_OK;
}

static mr_status forward(const mr_stage *s, const mr_stage_io *io, uint32_t end)
{
	for (uint32_t i = 0; i < end; i++) {
		const void *w[MR_LAYER_PARAMS];
		void *dw[MR_LAYER_PARAMS];
		mr_layer_call c;

		if (s->step[i].quiet_f)
			continue;
		c = make_call(s, io, &s->step[i], w, dw);
		c.scratch = resolve(io, s->step[i].scratch_f);
		c.panels = s->step[i].needs.panels ? address(io->panels, s->step[i].panels_at) : NULL;
		c.packs = io->packs;
		if (io->own_loss && s->step[i].node->ops->loss)
			MR_TRY(io->own_loss->find(io->own_loss->arg, &c));
		else
			MR_TRY(carry_out(s, i, MR_PASS_F, &c, 1));
	}
	return MR_OK;
}

mr_status mr_stage_forward(const mr_stage *s, const mr_stage_io *io)
{
	MR_TRY(forward(s, io, s->end - s->first));
	copy(s, io, s->copy_out, s->n_copy_out);
	return MR_OK;
}

mr_status mr_stage_recompute(const mr_stage *s, const mr_stage_io *io)
{
	return forward(s, io, s->saves_end);
}

typedef enum half { HALF_I = 1, HALF_W = 2 } half;

uint32_t mr_stage_weight_layers(const mr_stage *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->end - s->first; i++)
		n += s->step[i].node->n_params > 0;
	return n;
}

/* Wait for the turn of the layer of @st, which has parameters and is the @k-th that does. */
static mr_status begin_turn(const mr_stage_io *io, const mr_stage_step *st, uint32_t k)
{
	return io->turn && st->node->n_params ? io->turn->before(io->turn->arg, k) : MR_OK;
}

static void end_turn(const mr_stage_io *io, const mr_stage_step *st, uint32_t *k)
{
	if (io->turn && st->node->n_params)
		io->turn->after(io->turn->arg, (*k)++);
}

/* Has no value that leaves the stage a gradient, so that none goes back through it? */
static bool ends_backward(const mr_stage *s)
{
	return s->out.n && !s->out.grad_bytes;
}

static mr_status backward(const mr_stage *s, const mr_stage_io *io, unsigned halves)
{
	uint32_t k = 0;

	if (ends_backward(s))
		return MR_OK;
	if (halves & HALF_I)
		copy(s, io, s->copy_grad, s->n_copy_grad);
	for (uint32_t i = s->end - s->first; i-- > 0;) {
		const mr_stage_step *st = &s->step[i];
		const void *w[MR_LAYER_PARAMS];
		void *dw[MR_LAYER_PARAMS];
		mr_layer_call c;

		if (st->node->ops->loss)
			continue;
		c = make_call(s, io, st, w, dw);
		c.scratch = resolve(io, st->scratch_b);
		join_table(s, io, st, &c);
		if (halves == (HALF_I | HALF_W) && !st->quiet_i && !st->node->frozen) {
			MR_TRY(carry_out(s, i, MR_PASS_BOTH, &c, 1)); /* there are no turns: see mr_stage_io */
			continue;
		}
		if ((halves & HALF_I) && !st->quiet_i)
			MR_TRY(carry_out(s, i, MR_PASS_I, &c, 1));
		if (!(halves & HALF_W) || st->node->frozen)
			continue;
		MR_TRY(begin_turn(io, st, k));
		MR_TRY(carry_out(s, i, MR_PASS_W, &c, 1));
		end_turn(io, st, &k);
	}
	return MR_OK;
}

mr_status mr_stage_backward(const mr_stage *s, const mr_stage_io *io)
{
	return backward(s, io, HALF_I | HALF_W);
}

mr_status mr_stage_backward_through(const mr_stage *s, const mr_stage_io *io)
{
	return backward(s, io, HALF_I);
}

mr_status mr_stage_backward_input(const mr_stage *s, const mr_stage_io *io)
{
	assert(s->split || s->frozen); /* no W comes later */
	return backward(s, io, HALF_I);
}

mr_status mr_stage_backward_weight(const mr_stage *s, const mr_stage_io *io)
{
	assert(s->split);
	return backward(s, io, HALF_W);
}

mr_status mr_stage_backward_weights(const mr_stage *s, mr_stage_io *io, uint32_t n, mr_layer_call *call)
{
	return mr_stage_backward_layers(s, io, n, call, s->first_param, s->end_param);
}

mr_status mr_stage_backward_layers(const mr_stage *s, mr_stage_io *io, uint32_t n, mr_layer_call *call, uint32_t first,
				   uint32_t end)
{
	uint32_t k = 0;

	assert(s->split);
	if (ends_backward(s))
		return MR_OK;
	for (uint32_t j = 0; j < n; j++) {
		io[j].add_grads = io[j].add_grads || j > 0;
		io[j].step = j + 1 == n ? io[j].step : NULL;
	}
	for (uint32_t i = s->end - s->first; i-- > 0;) {
		const mr_stage_step *st = &s->step[i];
		const void *w[MR_LAYER_PARAMS]; /* the same for all micro-batches: one version, one sum */
		void *dw[MR_LAYER_PARAMS];

		if (st->node->ops->loss || !st->node->ops->backward_weight || st->node->frozen)
			continue;
		if (st->node->n_params && (st->node->first_param < first || st->node->first_param >= end))
			continue;
		for (uint32_t j = 0; j < n; j++) {
			call[j] = make_call(s, &io[j], st, w, dw);
			call[j].scratch = resolve(&io[j], st->scratch_b);
			join_table(s, &io[j], st, &call[j]);
		}
		MR_TRY(begin_turn(io, st, k));
		MR_TRY(carry_out(s, i, MR_PASS_W, call, n));
		end_turn(io, st, &k);
	}
	return MR_OK;
}

void mr_stage_init_weights(const mr_stage *s, uint64_t seed, void *weights, int16_t *rest)
{
	for (uint32_t p = s->first_param; p < s->end_param; p++) {
		size_t at = mr_stage_weight_at(s, p);

		if (at != SIZE_MAX)
			mr_graph_init_param(s->g, p, seed, s->k->types.weights, (char *)weights + at,
					    rest ? rest + at / sizeof(*rest) : NULL);
	}
}

mr_status mr_stage_sum_tied_from(const mr_stage *s, mr_kctx *kc, void *grads, const mr_stage *user,
				 const void *user_grads)
{
	for (uint32_t p = user->first_param; p < user->end_param; p++) {
		int32_t o = s->g->params[p].tied_to;
		char *sum;

		if (o < (int32_t)s->first_param || o >= (int32_t)s->end_param || (s->table && p == s->table->user))
			continue;
		sum = (char *)grads + mr_stage_grad_at(s, (uint32_t)o);
		MR_TRY(s->k->sum_gradients(
			kc, &(mr_sum_gradients_args){.n = s->g->params[p].n, .a = sum,
						     .b = (const char *)user_grads + mr_stage_grad_at(user, p),
						     .y = sum}));
	}
	return MR_OK;
}

mr_status mr_stage_sum_tied(const mr_stage *s, mr_kctx *kc, void *grads)
{
	return mr_stage_sum_tied_from(s, kc, grads, s, grads);
}

void mr_stage_layer_states(const mr_stage *s, uint32_t *first, uint32_t *end)
{
	*first = s->first_state;
	*end = s->end_state;
}

size_t mr_stage_layer_state_at(const mr_stage *s, uint32_t i)
{
	assert(i >= s->first_state && i < s->end_state);
	return s->layer_state_at[i - s->first_state];
}

void mr_stage_init_layer_state(const mr_stage *s, void *state)
{
	for (uint32_t i = s->first_state; i < s->end_state; i++)
		mr_graph_init_state(s->g, i, s->k->types.compute, (char *)state + mr_stage_layer_state_at(s, i));
}

void mr_stage_nodes(const mr_stage *s, uint32_t *first, uint32_t *end)
{
	*first = s->first;
	*end = s->end;
}

size_t mr_stage_carried_at(const mr_stage *s, uint32_t node, uint32_t i)
{
	assert(node >= s->first && node < s->end && i < s->step[node - s->first].n_carried);
	return s->step[node - s->first].carried_at[i];
}

const void *mr_stage_seen(const mr_stage *s, const void *slot)
{
	return (const char *)slot + s->seen.offset;
}

void mr_stage_fold(const mr_stage *s, const void *seen, void *state)
{
	for (uint32_t i = s->first; i < s->end; i++) {
		const mr_node *nd = &s->g->nodes[i];
		const void *from[MR_LAYER_STATES];
		void *to[MR_LAYER_STATES];

		for (uint32_t j = 0; j < nd->n_states; j++) {
			size_t at = mr_stage_layer_state_at(s, nd->first_state + j);

			from[j] = (const char *)seen + at;
			to[j] = (char *)state + at;
		}
		if (nd->n_states && !nd->frozen)
			nd->ops->fold(&nd->cfg, nd->in_shape, s->samples, s->k->types.compute, from, to);
	}
}
