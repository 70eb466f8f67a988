/*
 * stage_layout.c - gives every tensor of a stage its place (see stage.h for the rules).
 *
 * Three passes over the nodes: values of the forward pass, gradients of the backward pass, parameters
 * (stage_params.c). A forward value goes to the slot if a backward half reads it again, else to scratch until its last
 * reader.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/size.h"
#include "stage/lifetime.h"
#include "stage/stage_layout.h"

/* State of the build, indexed by value number. */
typedef struct notes {
	mr_ref *value;       /* where the forward value lies */
	mr_ref *grad;        /* where its gradient lies, by class representative */
	uint16_t *class_of;  /* values whose gradients share one buffer */
	bool *saved;         /* a backward half reads the value */
	uint32_t *grad_born, *grad_dies; /* per class, in backward time */
	bool *grad_live;
	size_t slot;         /* bytes taken in the slot so far */
	uint64_t slot_hash;  /* of its contents so far */
	mr_lifetime fwd, bwd;
} notes;

/* The one function that adds anything to the slot. */
static mr_ref take_slot(notes *n, const mr_saved *what)
{
	mr_ref r = {MR_AT_SLOT, n->slot};

	n->slot += mr_align_up(what->bytes, MR_CACHE_LINE);
	n->slot_hash = mr_saved_hash(what, n->slot_hash);
	return r;
}

static mr_ref take_value(notes *n, const char *what, size_t bytes)
{
	mr_saved one = {0};

	mr_saved_add(&one, what, bytes);
	return take_slot(n, &one);
}

static size_t value_bytes(const mr_stage *s, uint16_t v)
{
	return (size_t)s->samples * mr_shape_bytes(s->g->values[v].shape, s->k->types.activations);
}

static uint32_t n_steps(const mr_stage *s)
{
	return s->end - s->first;
}

static bool inside(const mr_stage *s, uint32_t node)
{
	return node != MR_GRAPH_NO_NODE && node >= s->first && node < s->end;
}

/* The states, each on cache lines of its own, and in a slot what was seen for them. */
static void place_states(mr_stage *s, notes *n)
{
	for (uint32_t i = s->first_state; i < s->end_state; i++) {
		s->layer_state_at[i - s->first_state] = s->size.layer_state_bytes;
		s->size.layer_state_bytes +=
			mr_align_up((size_t)s->g->states[i].n * mr_dtype_bytes(s->k->types.compute), MR_CACHE_LINE);
	}
	if (s->size.layer_state_bytes)
		s->seen = take_value(n, "what was seen for states", s->size.layer_state_bytes);
}

/* The values that layers carry, each on cache lines of its own. */
static void place_carried(mr_stage *s)
{
	for (uint32_t i = 0; i < n_steps(s); i++) {
		mr_stage_step *st = &s->step[i];
		mr_layer_carried spec[MR_LAYER_CARRIED];

		st->n_carried = mr_layer_n_carried(st->node->ops, &st->node->cfg, spec);
		for (uint32_t j = 0; j < st->n_carried; j++) {
			st->carried_at[j] = s->size.carried_bytes;
			s->size.carried_bytes += mr_align_up(
				(size_t)s->samples * mr_layer_carried_row(&spec[j], &s->k->types), MR_CACHE_LINE);
		}
	}
}

/* What only W reads of a frozen layer, and what only I reads where no gradient goes on, is not kept. */
static void leave_out(const mr_graph *g, uint32_t node, mr_layer_needs *needs)
{
	if (g->nodes[node].frozen)
		needs->x_w = needs->y_w = needs->dy_w = false;
	if (g->nodes[node].frozen && !mr_graph_wants_any_dx(g, node))
		needs->x_i = needs->y_i = false;
}

static mr_status ask_needs(mr_stage *s, notes *n)
{
	for (uint32_t i = 0; i < n_steps(s); i++) {
		mr_stage_step *st = &s->step[i];
		const mr_node *nd = st->node = &s->g->nodes[s->first + i];

		nd->ops->needs(&nd->cfg, nd->in_shape, s->samples, s->k, &st->needs);
		leave_out(s->g, s->first + i, &st->needs);
		st->panels_at = s->size.panel_bytes;
		s->size.panel_bytes += mr_align_up(st->needs.panels, MR_CACHE_LINE);
		st->symbols = mr_layer_symbols_of(nd, s->samples, &st->needs);
		for (uint32_t j = 0; j < nd->n_in; j++)
			if (st->needs.x_i || st->needs.x_w || nd->ops->loss)
				n->saved[nd->in[j]] = true;
		for (uint32_t j = 0; j < nd->n_out; j++)
			n->saved[nd->out + j] = n->saved[nd->out + j] || st->needs.y_i || st->needs.y_w;
	}
	return MR_OK;
}

/* Last step of this stage that reads @v in the forward pass. */
static uint32_t last_read(const mr_stage *s, uint16_t v)
{
	uint32_t last = s->g->values[v].last_use;

	return (last < s->end ? last : s->end - 1) - s->first;
}

/* The first value that step @i writes. With an addend that is the value of the sum after it, if the sum is in this
 * stage; the step then gets the addend. */
static uint16_t written_by(mr_stage *s, const notes *n, uint32_t i)
{
	mr_stage_step *st = &s->step[i];

	if (st->node->addend == MR_GRAPH_NO_VALUE || i + 1 == n_steps(s))
		return st->node->out;
	st->addend = n->value[st->node->addend];
	st[1].quiet_f = true;
	return st[1].node->out;
}

/* List the values that leave this stage from another place: those it only passes on, and those its backward reads. */
static void copy_values(mr_stage *s, const notes *n)
{
	for (uint32_t i = 0; i < s->out.n; i++) {
		const mr_boundary_part *part = &s->out.part[i];

		if (n->value[part->value].where != MR_AT_OUT)
			s->copy_out[s->n_copy_out++] =
				(mr_copy){n->value[part->value], {MR_AT_OUT, part->at}, part->value};
	}
}

/* Place value @v, which step @i writes. */
static mr_status place_output(const mr_stage *s, notes *n, uint32_t i, uint16_t v)
{
	const mr_boundary_part *leaves = mr_boundary_find(&s->out, v);

	if (n->saved[v]) {
		n->value[v] = take_value(n, "output", value_bytes(s, v));
		return MR_OK;
	}
	if (leaves) {
		n->value[v] = (mr_ref){MR_AT_OUT, leaves->at};
		return MR_OK;
	}
	n->value[v].where = MR_AT_SCRATCH;
	return mr_lifetime_add(&n->fwd, i, last_read(s, v), value_bytes(s, v), &n->value[v].offset);
}

static mr_status place_values(mr_stage *s, notes *n)
{
	for (uint32_t i = 0; i < s->in.n; i++)
		n->value[s->in.part[i].value] = (mr_ref){MR_AT_IN, s->in.part[i].at};
	for (uint32_t i = 0; i < n_steps(s); i++) {
		mr_stage_step *st = &s->step[i];
		uint16_t v = written_by(s, n, i);

		for (uint32_t j = 0; j < st->node->n_in; j++)
			st->x[j] = n->value[st->node->in[j]];
		MR_TRY(mr_lifetime_add(&n->fwd, i, i, st->needs.scratch, &st->scratch_f.offset));
		st->scratch_f.where = MR_AT_SCRATCH;
		st->aux_i = take_slot(n, &st->needs.aux_i);
		st->aux_w = take_slot(n, &st->needs.aux_w);
		for (uint32_t j = 0; j < st->node->n_out; j++) {
			if (!st->quiet_f)
				MR_TRY(place_output(s, n, i, (uint16_t)(v + j)));
			st->y[j] = n->value[v + j];
		}
	}
	copy_values(s, n);
	return MR_OK;
}

/* Find the end of a recomputation, and whether it includes the layer that writes `out`. */
static void end_saves(mr_stage *s, const notes *n)
{
	for (uint32_t i = 0; i < n_steps(s); i++) {
		const mr_stage_step *st = &s->step[i];
		bool saves = st->needs.aux_i.bytes || st->needs.aux_w.bytes || st->node->n_states ||
			     st->node->ops->loss;

		for (uint32_t j = 0; j < st->node->n_out; j++)
			saves = saves || n->saved[st->node->out + j];
		if (saves)
			s->saves_end = i + 1;
	}
	for (uint32_t i = 0; i < s->saves_end; i++)
		for (uint32_t j = 0; j < s->step[i].node->n_out; j++)
			if (s->step[i].y[j].where == MR_AT_OUT)
				s->size.spare_bytes = mr_align_up(s->out.bytes, MR_CACHE_LINE);
}

/* The last node before @node that also reads @v, or -1 before the stage. */
static int64_t other_reader(const mr_stage *s, uint16_t v, uint32_t node)
{
	for (int64_t i = (int64_t)node - 1; i >= (int64_t)s->first; i--)
		for (uint32_t j = 0; j < s->g->nodes[i].n_in; j++)
			if (s->g->nodes[i].in[j] == v)
				return i;
	return -1;
}

static int64_t producer(const mr_stage *s, uint16_t v)
{
	uint32_t p = s->g->values[v].producer;

	return inside(s, p) ? (int64_t)p : (int64_t)s->first - 1;
}

/* May the gradient of input @v of the sum @node be the sum's own gradient buffer? */
static bool reads_last(const mr_stage *s, uint16_t v, uint32_t node)
{
	const mr_value *val = &s->g->values[v];
	uint32_t here = 0;

	for (uint32_t j = 0; j < s->g->nodes[node].n_in; j++)
		here += s->g->nodes[node].in[j] == v;
	return mr_graph_has_grad(s->g, v) && val->last_use == node && here == 1;
}

/*
 * Join the gradient classes of a node that passes dy on. Its trunk (the input written first) may be joined if the
 * node is its last reader. A branch may be joined if this node is also its only reader, and the branch's own producer
 * runs its backward (and so reads the gradient) before any other reader of the trunk adds to the shared buffer. A
 * producer that itself passes dy on is not allowed: the gradient would live on in its inputs, beside the additions for
 * the trunk.
 */
static void alias_residual(const mr_stage *s, notes *n, const mr_node *nd, uint32_t node)
{
	uint16_t trunk = nd->in[0], branch = nd->in[1];

	if (producer(s, trunk) > producer(s, branch)) {
		trunk = nd->in[1];
		branch = nd->in[0];
	}
	if (!reads_last(s, trunk, node))
		return;
	n->class_of[trunk] = n->class_of[nd->out];
	if (reads_last(s, branch, node) && s->g->values[branch].n_uses == 1 &&
	    producer(s, branch) > other_reader(s, trunk, node) && producer(s, branch) > producer(s, trunk) &&
	    !s->g->nodes[producer(s, branch)].ops->identity_backward)
		n->class_of[branch] = n->class_of[nd->out];
}

/* Backward time of node step i: the last node comes first. */
static uint32_t back(const mr_stage *s, uint32_t i)
{
	return n_steps(s) - 1 - i;
}

static void live_at(notes *n, uint16_t v, uint32_t t)
{
	uint16_t c = n->class_of[v];

	if (!n->grad_live[c] || t < n->grad_born[c])
		n->grad_born[c] = t;
	if (!n->grad_live[c] || t > n->grad_dies[c])
		n->grad_dies[c] = t;
	n->grad_live[c] = true;
}

/* Find classes, lives, and the places that are fixed from outside. */
static void class_grads(mr_stage *s, notes *n)
{
	const mr_node *last = &s->g->nodes[s->end - 1];

	for (uint32_t v = 0; v < s->g->n_values; v++)
		n->class_of[v] = (uint16_t)v;
	for (uint32_t i = n_steps(s); i-- > 0;) {
		const mr_node *nd = s->step[i].node;

		if (nd->ops->identity_backward && nd->n_in == 2 && !s->split)
			alias_residual(s, n, nd, s->first + i);
	}
	for (uint32_t i = 0; i < n_steps(s); i++) {
		const mr_node *nd = s->step[i].node;

		for (uint32_t j = 0; j < nd->n_out; j++)
			live_at(n, (uint16_t)(nd->out + j), back(s, i));
		for (uint32_t j = 0; j < nd->n_in; j++)
			if (mr_graph_has_grad(s->g, nd->in[j]))
				live_at(n, nd->in[j], back(s, i));
	}
	for (uint32_t i = 0; i < s->out.n; i++)
		/* a value that leaves is the last of its class: its readers come later */
		if (s->out.part[i].grad_at != MR_NO_GRAD)
			n->grad[s->out.part[i].value] = (mr_ref){MR_AT_GRAD_OUT, s->out.part[i].grad_at};
	if (last->ops->loss)
		n->grad[n->class_of[last->in[0]]] = n->value[last->in[0]];
	for (uint32_t i = 0; i < s->in.n; i++) {
		const mr_boundary_part *part = &s->in.part[i];
		mr_ref to = {MR_AT_GRAD_IN, part->grad_at};
		uint16_t c = n->class_of[part->value];

		if (part->grad_at == MR_NO_GRAD)
			continue;
		/* Nowhere, unless the value passes through, or its chain of sums reaches through the whole stage. */
		if (n->grad[c].where != MR_AT_NOWHERE)
			s->copy_grad[s->n_copy_grad++] = (mr_copy){n->grad[c], to, part->value};
		n->grad[c] = to;
	}
}

/* A gradient that W reads later than I must outlive the call when the halves come apart. */
static bool kept_for_w(const mr_stage *s, uint16_t v)
{
	uint32_t p = s->g->values[v].producer;

	return s->split && inside(s, p) &&
	       (s->step[p - s->first].needs.dy_w || s->step[p - s->first].dy_is_pre_activation);
}

/* Find the steps that do the act_backward of the step before. */
static void go_through(mr_stage *s)
{
	for (uint32_t i = 1; i < n_steps(s); i++) {
		mr_stage_step *st = &s->step[i], *front = st - 1;

		if (!st->node->fuse_act_backward || !mr_graph_has_grad(s->g, front->node->out))
			continue;
		st->fuse_act_backward = front->node->cfg.act;
		st->fuse_act_backward_aux = front->needs.aux_i.bytes ? front->aux_i : front->y[0];
		front->dy_is_pre_activation = true;
	}
}

static mr_status place_grads(mr_stage *s, notes *n)
{
	class_grads(s, n);
	go_through(s);
	for (uint32_t i = n_steps(s); i-- > 0;) {
		mr_stage_step *st = &s->step[i];

		for (uint32_t j = 0; j < st->node->n_in; j++) {
			uint16_t v = st->node->in[j], c = n->class_of[v];

			if (!mr_graph_has_grad(s->g, v) || n->grad[c].where != MR_AT_NOWHERE)
				continue;
			if (kept_for_w(s, v)) {
				n->grad[c] = take_value(n, "gradient", value_bytes(s, v));
				continue;
			}
			n->grad[c].where = MR_AT_SCRATCH;
			MR_TRY(mr_lifetime_add(&n->bwd, n->grad_born[c], n->grad_dies[c], value_bytes(s, v),
					       &n->grad[c].offset));
		}
		if (st->dy_is_pre_activation) {
			st->kept = n->grad[n->class_of[st->node->out]];
		} else if (s->split) {
			st->kept = take_slot(n, &st->needs.kept);
		} else {
			st->kept.where = MR_AT_SCRATCH;
			MR_TRY(mr_lifetime_add(&n->bwd, back(s, i), back(s, i), st->needs.kept.bytes,
					       &st->kept.offset));
		}
		st->scratch_b.where = MR_AT_SCRATCH;
		MR_TRY(mr_lifetime_add(&n->bwd, back(s, i), back(s, i), st->needs.scratch, &st->scratch_b.offset));
	}
	return MR_OK;
}

/* Find the dx that each node writes, and whether it is the first to write there. */
static void wire_grads(mr_stage *s, notes *n)
{
	bool *has = n->saved; /* reused: the value's gradient has been written */

	for (uint32_t v = 0; v < s->g->n_values; v++)
		has[v] = mr_boundary_find(&s->out, (uint16_t)v);
	if (s->g->nodes[s->end - 1].ops->loss)
		has[s->g->nodes[s->end - 1].in[0]] = true;
	for (uint32_t i = n_steps(s); i-- > 0;) {
		mr_stage_step *st = &s->step[i];
		const mr_node *nd = st->node;

		st->quiet_i = true;
		if (nd->ops->loss)
			continue;
		for (uint32_t j = 0; j < nd->n_out; j++)
			st->dy[j] = n->grad[n->class_of[nd->out + j]];
		for (uint32_t j = 0; j < nd->n_in; j++) {
			uint16_t v = nd->in[j];

			if (!mr_graph_has_grad(s->g, v))
				continue;
			if (!(nd->ops->identity_backward && n->class_of[v] == n->class_of[nd->out])) {
				st->dx[j] = n->grad[n->class_of[v]];
				st->dx_add[j] = has[v];
				st->quiet_i = false;
			}
			has[v] = true;
		}
		/* linear computes in its input half data that its weight half needs, whether dx is wanted or not */
		if (st->needs.kept.bytes && nd->ops->backward_input && !nd->frozen)
			st->quiet_i = false;
	}
}

static void sum_sizes(mr_stage *s, const notes *n)
{
	mr_stage_sizes *z = &s->size;

	z->in_bytes = s->in.bytes;
	z->grad_in_bytes = s->in.grad_bytes;
	z->out_bytes = s->out.bytes;
	z->grad_out_bytes = s->out.grad_bytes;
	if (s->out.n == 0)
		z->target_bytes = (size_t)s->samples * mr_shape_bytes(s->g->target, s->k->types.compute);
	z->slot_bytes = n->slot;
	z->slot_hash = n->slot_hash;
	z->scratch_bytes = n->fwd.bytes > n->bwd.bytes ? n->fwd.bytes : n->bwd.bytes;
}

static mr_status build(mr_stage *s, notes *n)
{
	place_states(s, n);
	MR_TRY(ask_needs(s, n));
	place_carried(s);
	MR_TRY(place_values(s, n));
	end_saves(s, n);
	MR_TRY(place_grads(s, n));
	wire_grads(s, n);
	MR_TRY(mr_stage_place_params(s));
	sum_sizes(s, n);
	return MR_OK;
}

static bool notes_init(notes *n, uint32_t values)
{
	*n = (notes){
		.value = calloc(values, sizeof(*n->value)),
		.grad = calloc(values, sizeof(*n->grad)),
		.class_of = calloc(values, sizeof(*n->class_of)),
		.saved = calloc(values, sizeof(*n->saved)),
		.grad_born = calloc(values, sizeof(*n->grad_born)),
		.grad_dies = calloc(values, sizeof(*n->grad_dies)),
		.grad_live = calloc(values, sizeof(*n->grad_live)),
	};
	return n->value && n->grad && n->class_of && n->saved && n->grad_born && n->grad_dies && n->grad_live;
}

static void notes_fini(notes *n)
{
	free(n->value);
	free(n->grad);
	free(n->class_of);
	free(n->saved);
	free(n->grad_born);
	free(n->grad_dies);
	free(n->grad_live);
	mr_lifetime_fini(&n->fwd);
	mr_lifetime_fini(&n->bwd);
}

static mr_status make_boundaries(mr_stage *s)
{
	MR_TRY(mr_boundary_make(s->g, s->first, s->samples, s->k->types.activations, &s->in));
	MR_TRY(mr_boundary_make(s->g, s->end, s->samples, s->k->types.activations, &s->out));
	s->copy_out = calloc(s->out.n + 1, sizeof(*s->copy_out));
	s->copy_grad = calloc(s->in.n, sizeof(*s->copy_grad));
	if (!s->copy_out || !s->copy_grad)
		return mr_fail(MR_ERESOURCE, "no memory for the boundaries of a stage");
	return MR_OK;
}

mr_status mr_stage_create(const mr_graph *g, uint32_t first, uint32_t end, int64_t samples, const mr_kernels *k,
			  bool split, const mr_stage *tied_owner, mr_stage **out)
{
	notes n = {0};
	mr_stage *s = calloc(1, sizeof(*s));
	mr_status st = MR_ERESOURCE;

	assert(first < end && end <= g->n_nodes && samples > 0);
	if (!s)
		return mr_fail(MR_ERESOURCE, "no memory for a stage");
	*s = (mr_stage){.g = g, .k = k, .tied_owner = tied_owner, .first = first, .end = end, .samples = samples,
		.split = split};
	s->first_param = g->nodes[first].first_param;
	s->end_param = end < g->n_nodes ? g->nodes[end].first_param : g->n_params;
	s->first_state = g->nodes[first].first_state;
	s->end_state = end < g->n_nodes ? g->nodes[end].first_state : g->n_states;
	s->step = calloc(end - first, sizeof(*s->step));
	s->layer_state_at = calloc(s->end_state - s->first_state + 1, sizeof(size_t));
	s->weight_at = calloc(s->end_param - s->first_param + 1, sizeof(size_t));
	s->state_at = calloc(s->end_param - s->first_param + 1, sizeof(size_t));
	s->grad_at = calloc(s->end_param - s->first_param + 1, sizeof(size_t));
	if (!notes_init(&n, g->n_values) || !s->step || !s->layer_state_at || !s->weight_at || !s->state_at ||
	    !s->grad_at)
		mr_fail(MR_ERESOURCE, "no memory for a stage of %u layers", end - first);
	else
		st = make_boundaries(s);
	if (st == MR_OK)
		st = build(s, &n);
	notes_fini(&n);
	if (st != MR_OK) {
		mr_stage_destroy(s);
		return st;
	}
	*out = s;
	return MR_OK;
}

void mr_stage_destroy(mr_stage *s)
{
	if (!s)
		return;
	mr_boundary_fini(&s->in);
	mr_boundary_fini(&s->out);
	free(s->copy_out);
	free(s->copy_grad);
	free(s->table);
	free(s->step);
	free(s->layer_state_at);
	free(s->weight_at);
	free(s->state_at);
	free(s->grad_at);
	free(s);
}
