#include "exec/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "weights/carried.h"
#include "weights/layer_states.h"
#include "weights/mitigated.h"
#include "weights/predict.h"
#include "weights/replicas.h"
#include "weights/row_versions.h"

mr_saved_dtype mr_state_dtype(mr_dtype t)
{
	return t == MR_F64 ? MR_SAVED_F64 : t == MR_BF16 ? MR_SAVED_BF16 : MR_SAVED_F32;
}

static mr_status add(mr_state_list *l, const mr_saved_tensor *t, const char *fmt, ...) MR_PRINTF(3, 4);

static mr_status add(mr_state_list *l, const mr_saved_tensor *t, const char *fmt, ...)
{
	char name[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		mr_saved_tensor *grown = realloc(l->at, room * sizeof(*grown));

		if (!grown)
			return mr_fail(MR_ERESOURCE, "no memory for a list of %zu tensors", room);
		l->at = grown;
		l->room = room;
	}
	l->at[l->n] = *t;
	l->at[l->n].name = strdup(name);
	if (!l->at[l->n].name)
		return mr_fail(MR_ERESOURCE, "no memory for a tensor's name");
	l->n++;
	return MR_OK;
}

static mr_saved_tensor of_param(const mr_param *p, mr_dtype dtype, void *data)
{
	mr_saved_tensor t = {
		.dtype = mr_state_dtype(dtype),
		.n_dims = p->rank,
		.data = data,
		.bytes = (uint64_t)p->n * mr_dtype_bytes(dtype),
	};

	for (uint32_t i = 0; i < p->rank; i++)
		t.shape[i] = p->dim[i];
	return t;
}

/* The rest of the masters of @p (see state.h). */
static mr_saved_tensor of_rest(const mr_param *p, int16_t *rest)
{
	mr_saved_tensor t = of_param(p, MR_BF16, rest); /* as large as the weights */

	t.dtype = MR_SAVED_I16;
	return t;
}

/* A state of a layer. */
static mr_saved_tensor of_layer_state(const mr_graph_state *s, mr_dtype dtype, void *data)
{
	mr_saved_tensor t = {
		.dtype = mr_state_dtype(dtype),
		.n_dims = s->spec.rank,
		.data = data,
		.bytes = (uint64_t)s->n * mr_dtype_bytes(dtype),
	};

	for (uint32_t i = 0; i < s->spec.rank; i++)
		t.shape[i] = s->spec.dim[i];
	return t;
}

static mr_saved_tensor of_bytes(void *data, size_t bytes)
{
	return (mr_saved_tensor){
		.dtype = MR_SAVED_U8, .n_dims = 1, .shape = {(int64_t)bytes}, .data = data, .bytes = bytes};
}

/* --- a pipeline run --- */

/* Add the data of the replicas of stage @s for @param, at byte @at of the weights and @state_at of the states: all
 * weights if they differ at a pause, their states, and the shared memory. */
static mr_status add_replicas(const mr_run *run, uint16_t s, const mr_param *param, size_t at, size_t state_at,
			      mr_state *out)
{
	const mr_replicas *g = &run->replicas[s];
	const mr_optim_ops *o = run->c.optim->ops;
	mr_saved_tensor t = of_param(param, run->c.kernels->types.weights, NULL);
	mr_saved_tensor of_state = of_param(param, run->c.kernels->types.state, NULL);
	const char *name = param->name;

	for (uint32_t r = 0; r < g->n; r++) {
		const mr_stage_weights *b = mr_replicas_block(g, r);

		for (uint32_t i = 0; i < o->n_states; i++) {
			of_state.data = b->state[i] + state_at;
			MR_TRY(add(&out->optimizer, &of_state, "r%u.%s.%s", r, name, o->state_names[i]));
		}
		t.data = (char *)mr_weights_at(b, 0, b->latest) + at;
		if (g->mean)
			MR_TRY(add(&out->inflight, &t, "r%u.%s", r, name));
		t = of_rest(param, mr_weights_rest(b, at));
		if (g->mean && t.data)
			MR_TRY(add(&out->inflight, &t, "r%u.%s.rest", r, name));
		t = of_param(param, run->c.kernels->types.weights, NULL);
	}
	if (g->velocity) {
		of_state.data = g->velocity + state_at;
		MR_TRY(add(&out->optimizer, &of_state, "%s.velocity", name));
	}
	if (!g->mean)
		return MR_OK;
	of_state.data = g->mean + state_at;
	return add(&out->inflight, &of_state, "mean.%s", name);
}

/* The copies that the first @n commits have made of the rows of @table, whatever room there is for further ones: a run
 * that is resumed with more steps may keep more versions. */
static mr_status add_first_rows(const mr_old_rows *x, uint64_t n, uint16_t s, uint32_t table, mr_state *out)
{
	size_t places = (size_t)n * (size_t)x->most;
	mr_saved_tensor newest = of_bytes((uint8_t *)x->head, (size_t)((uint8_t *)x->copy - (uint8_t *)x->head));
	mr_saved_tensor copy = of_bytes((uint8_t *)x->copy, places * sizeof(*x->copy));
	mr_saved_tensor value = of_bytes(x->value, places * x->row_bytes);

	MR_TRY(add(&out->inflight, &newest, "rows.s%u.t%u", s, table));
	if (!places)
		return MR_OK;
	MR_TRY(add(&out->inflight, &copy, "rows.s%u.t%u.copies", s, table));
	return add(&out->inflight, &value, "rows.s%u.t%u.values", s, table);
}

/* The rows of older versions of tables (weights/row_versions.h). */
static mr_status add_old_rows(const mr_run *run, uint16_t s, mr_state *out)
{
	const mr_row_versions *v = run->weights[s].row_versions;
	uint64_t latest = run->weights[s].latest;
	mr_saved_tensor t;

	if (!v || run->c.plan->contract.flush != MR_FLUSH_NONE)
		return MR_OK;
	if (latest + 1 < run->weights[s].cap) {
		for (uint32_t i = 0; i < v->n_tables; i++)
			MR_TRY(add_first_rows(&v->table[i], latest, s, i, out));
		return MR_OK;
	}
	t = of_bytes(v->block, v->bytes);
	return add(&out->inflight, &t, "rows.s%u", s);
}

static mr_status add_block(const mr_run *run, uint16_t s, mr_state *out)
{
	const mr_stage_weights *b = &run->weights[s];
	const mr_optim_ops *o = run->c.optim->ops;
	uint32_t n_states = mr_stage_size(b->stage)->state_bytes ? o->n_states : 0;
	mr_types types = run->c.kernels->types;
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		const mr_param *param = &run->c.graph->params[p];
		size_t at = mr_stage_weight_at(b->stage, p), state_at = mr_stage_state_at(b->stage, p);
		const int16_t *rest = run->replicas ? mr_replicas_rest(&run->replicas[s]) : b->rest;
		mr_saved_tensor t, of_state;

		if (at == SIZE_MAX)
			continue;
		of_state = of_param(param, types.state, NULL);
		t = of_param(param, types.weights,
			     run->replicas ? (char *)mr_replicas_model(&run->replicas[s]) + at
					   : mr_weights_param_at(b, 0, b->latest, p));
		MR_TRY(add(&out->model, &t, "%s", param->name));
		if (rest) {
			mr_saved_tensor r = of_rest(param, (int16_t *)rest + at / sizeof(*rest));

			MR_TRY(add(&out->optimizer, &r, "%s.rest", param->name));
		}
		if (run->replicas) {
			MR_TRY(add_replicas(run, s, param, at, state_at, out));
			continue;
		}
		for (uint32_t i = 0; i < n_states; i++) {
			of_state.data = b->state[i] + state_at;
			MR_TRY(add(&out->optimizer, &of_state, "%s.%s", param->name, o->state_names[i]));
		}
		of_state.data = b->prediction && b->prediction->delta ? b->prediction->delta + state_at : NULL;
		if (of_state.data)
			MR_TRY(add(&out->optimizer, &of_state, "%s.delta", param->name));
		of_state.data = b->mitigation && b->mitigation->state ? b->mitigation->state + state_at : NULL;
		if (of_state.data)
			MR_TRY(add(&out->optimizer, &of_state, "%s.%s", param->name,
				   b->mitigation->mitigate->ops->state_name));
		if (run->c.plan->contract.flush != MR_FLUSH_NONE)
			continue; /* an older version was kept for a rollback, and now the step is certain */
		if (b->row_versions && param->lazy)
			continue;
		for (uint64_t v = b->latest < b->cap ? 0 : b->latest + 1 - b->cap; v < b->latest; v++) {
			t.data = (char *)mr_weights_at(b, 0, v) + at;
			MR_TRY(add(&out->inflight, &t, "v%llu.%s", (unsigned long long)v, param->name));
		}
	}
	return add_old_rows(run, s, out);
}

/* Replicas that diverge have averaged theirs at every pause. */
static mr_status add_layer_states(const mr_run *run, uint16_t s, mr_state *out)
{
	const mr_stage_weights *b = &run->weights[s];
	uint32_t first, end;

	mr_stage_layer_states(b->stage, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		const mr_graph_state *of = &run->c.graph->states[i];
		mr_saved_tensor t = of_layer_state(of, run->c.kernels->types.compute,
						   b->layer_states->state + mr_stage_layer_state_at(b->stage, i));

		MR_TRY(add(&out->model, &t, "%s", of->name));
	}
	return MR_OK;
}

/* The values that @node, in a stage or in all, carries into the micro-batch at place @place of a step: @entry, with @at
 * saying where each lies. */
static mr_status add_carried(const mr_graph *g, const mr_kernels *k, int64_t samples, uint32_t node, uint32_t place,
			     uint8_t *const at[MR_LAYER_CARRIED], mr_state *out)
{
	mr_layer_carried spec[MR_LAYER_CARRIED];
	uint32_t n = mr_layer_n_carried(g->nodes[node].ops, &g->nodes[node].cfg, spec);

	for (uint32_t i = 0; i < n; i++) {
		mr_saved_tensor t = {
			.dtype = mr_state_dtype(spec[i].compute ? k->types.compute : k->types.activations),
			.n_dims = 2,
			.shape = {samples, spec[i].cols},
			.data = at[i],
			.bytes = (uint64_t)samples * mr_layer_carried_row(&spec[i], &k->types),
		};

		MR_TRY(add(&out->optimizer, &t, "%s.carried_%s.%u", g->nodes[node].name, spec[i].suffix, place));
	}
	return MR_OK;
}

/* A plan that drains has nothing but the values with which the next step begins. */
static mr_status add_carried_of_stage(const mr_run *run, uint16_t s, mr_state *out)
{
	mr_carried *c = &run->carried[s];
	uint32_t first, end;

	if (run->c.plan->contract.flush == MR_FLUSH_NONE) {
		mr_saved_tensor entries = of_bytes(c->entry, (size_t)c->depth * c->n_micro * c->bytes);
		mr_saved_tensor micros = of_bytes(c->micro, (size_t)c->depth * c->n_micro * sizeof(*c->micro));

		if (!c->bytes)
			return MR_OK;
		MR_TRY(add(&out->inflight, &entries, "carried.s%u", s));
		return add(&out->inflight, &micros, "carried.s%u.micro", s);
	}
	mr_stage_nodes(run->stage[s], &first, &end);
	for (uint32_t i = first; i < end; i++)
		for (uint32_t j = 0; j < c->n_micro; j++) {
			uint8_t *entry = mr_carried_next(c, run->worker[0].train.step, j), *at[MR_LAYER_CARRIED];
			mr_layer_carried spec[MR_LAYER_CARRIED];
			const mr_node *nd = &run->c.graph->nodes[i];

			for (uint32_t k = 0; k < mr_layer_n_carried(nd->ops, &nd->cfg, spec); k++)
				at[k] = entry + mr_stage_carried_at(run->stage[s], i, k);
			MR_TRY(add_carried(run->c.graph, run->c.kernels, run->c.samples, i, j, at, out));
		}
	return MR_OK;
}

/* @pipe: "", or "p1." where there are several. */
static mr_status add_messages(mr_link *h, const char *pipe, const char *kind, uint16_t s, mr_state *out)
{
	for (uint32_t i = 0; i < h->n; i++) {
		mr_saved_tensor t = of_bytes(mr_link_buffer(h, i), h->bytes);

		if (h->state[i] != MR_BUFFER_IDLE)
			MR_TRY(add(&out->inflight, &t, "%s%s.s%u.b%u", pipe, kind, s, i));
	}
	return MR_OK;
}

static mr_status add_flow(const mr_run *run, uint8_t pipe, uint16_t s, mr_state *out)
{
	const mr_stage_weights *b = &run->weights[s];
	const mr_prediction *x = b->prediction;
	mr_links_stage *st = mr_links_at(&run->train, pipe, s);
	char prefix[8] = "";

	for (uint32_t i = 0; i < st->n_slots && x && x->n_buffers && run->c.plan->contract.same_version_b; i++)
		if (st->slot[i].taken) {
			mr_saved_tensor t =
				of_bytes(mr_predict_kept(b, pipe, i), mr_stage_size(b->stage)->weight_bytes);

			MR_TRY(add(&out->inflight, &t, "aimed.s%u.m%llu", s, (unsigned long long)st->slot[i].micro));
		}
	for (uint32_t i = 0; i < st->n_slots; i++) {
		mr_saved_tensor t = of_bytes(st->slot[i].memory, st->slot_bytes);

		if (st->slot[i].taken && t.bytes)
			MR_TRY(add(&out->inflight, &t, "slot.s%u.m%llu", s, (unsigned long long)st->slot[i].micro));
	}
	/* Buffers that came back since the producer last looked are idle: only live ones are saved. */
	if (s > 0)
		mr_link_settle(&st->in);
	mr_link_settle(&st->grad);
	/* The loader's ring also holds inputs that no F has begun with; only those of live slots count. */
	for (uint32_t i = 0; s == 0 && i < st->n_slots; i++) {
		mr_saved_tensor t = of_bytes(mr_link_buffer(&st->in, st->slot[i].in), st->in.bytes);

		if (st->slot[i].taken)
			MR_TRY(add(&out->inflight, &t, "input.m%llu", (unsigned long long)st->slot[i].micro));
	}
	if (x && x->holds && x->held_version != MR_PREDICT_NO_VERSION) {
		mr_saved_tensor t = of_bytes(x->held, mr_stage_size(b->stage)->weight_bytes);

		MR_TRY(add(&out->inflight, &t, "held.s%u", s));
	}
	/* Micro-batches that will be recomputed have no slot. */
	for (uint64_t m = mr_run_done(run, pipe, 0, false); s == 0 && st->n_kept && m < mr_run_done(run, pipe, 0, true);
	     m++) {
		mr_saved_tensor t = of_bytes(mr_link_buffer(&st->in, st->kept_in[m % st->n_kept]), st->in.bytes);

		MR_TRY(add(&out->inflight, &t, "input.m%llu", (unsigned long long)m));
	}
	/* The step that sums these losses has yet to report them. */
	for (uint32_t i = 0; s + 1 == run->n_stages && i < st->n_slots; i++) {
		mr_saved_tensor t = {.dtype = MR_SAVED_F64, .n_dims = 1, .shape = {1}, .bytes = sizeof(double)};

		t.data = &run->losses[st->slot[i].micro % run->n_losses];
		if (st->slot[i].taken)
			MR_TRY(add(&out->inflight, &t, "loss.m%llu", (unsigned long long)st->slot[i].micro));
	}
	if (run->n_pipes > 1)
		snprintf(prefix, sizeof(prefix), "p%u.", pipe);
	if (s > 0)
		MR_TRY(add_messages(&st->in, prefix, "in", s, out));
	return add_messages(&st->grad, prefix, "grad", s, out);
}

mr_status mr_state_of_run(const mr_run *run, mr_state *out)
{
	mr_status st = MR_OK;

	*out = (mr_state){0};
	for (uint16_t s = 0; s < run->n_stages && st == MR_OK; s++) {
		st = add_block(run, s, out);
		for (unsigned p = 0; p < run->n_pipes && st == MR_OK && run->c.plan->contract.flush == MR_FLUSH_NONE;
		     p++)
			st = add_flow(run, (uint8_t)p, s, out);
	}
	for (uint16_t s = 0; s < run->n_stages && st == MR_OK; s++)
		st = add_layer_states(run, s, out);
	for (uint16_t s = 0; run->carried && s < run->n_stages && st == MR_OK; s++)
		st = add_carried_of_stage(run, s, out);
	if (st != MR_OK)
		mr_state_fini(out);
	return st;
}

static void fini_list(mr_state_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free((char *)l->at[i].name);
	free(l->at);
}

void mr_state_fini(mr_state *s)
{
	fini_list(&s->model);
	fini_list(&s->optimizer);
	fini_list(&s->inflight);
	*s = (mr_state){0};
}

uint64_t mr_state_hash(const mr_state *s)
{
	uint64_t h = 0;

	for (size_t i = 0; i < s->model.n; i++)
		h = mr_hash64(h, s->model.at[i].data, s->model.at[i].bytes);
	for (size_t i = 0; i < s->optimizer.n; i++) /* of masters: no state is of this type */
		if (s->optimizer.at[i].dtype == MR_SAVED_I16)
			h = mr_hash64(h, s->optimizer.at[i].data, s->optimizer.at[i].bytes);
	return h;
}
