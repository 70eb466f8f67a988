#include "exec/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "weights/factors.h"
#include "weights/stored_states.h"

mr_status mr_state_add(mr_state_list *l, const mr_saved_tensor *t, const char *fmt, ...)
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

mr_saved_tensor mr_state_param(const mr_param *p, mr_dtype dtype, void *data)
{
	mr_saved_tensor t = {
		.dtype = dtype,
		.n_dims = p->rank,
		.data = data,
		.bytes = (uint64_t)p->n * mr_dtype_bytes(dtype),
	};

	for (uint32_t i = 0; i < p->rank; i++)
		t.shape[i] = p->dim[i];
	return t;
}

mr_saved_tensor mr_state_rest(const mr_param *p, int16_t *rest)
{
	return mr_state_param(p, MR_I16, rest);
}

mr_saved_tensor mr_state_bytes(void *data, size_t bytes)
{
	return (mr_saved_tensor){
		.dtype = MR_U8, .n_dims = 1, .shape = {(int64_t)bytes}, .data = data, .bytes = bytes};
}

mr_status mr_state_factors(const mr_stage_weights *b, uint32_t p, const char *name, mr_state *out)
{
	mr_dtype type = b->k->types.state;
	const mr_optim *o = &b->optim;

	mr_factor factor[MR_OPTIM_FACTORS];

	if (!b->factors)
		return MR_OK;
	mr_factors_show(b->stage, o, type, p, b->factors, factor);
	for (uint32_t i = 0; i < o->ops->n_factors; i++) {
		int64_t side = factor[i].side;
		mr_saved_tensor t = {.dtype = type, .n_dims = 2, .shape = {side, side}, .data = factor[i].at,
				     .bytes = (uint64_t)(side * side) * mr_dtype_bytes(type)};

		if (t.data)
			MR_TRY(mr_state_add(&out->optimizer, &t, "%s.%s", name, o->ops->factor_names[i]));
	}
	return MR_OK;
}

mr_status mr_state_optimizer(const mr_stage_weights *b, uint32_t p, const char *name, mr_state *out)
{
	const mr_param *param = &mr_stage_graph(b->stage)->params[p];
	mr_dtype type = mr_optim_state_type(&b->optim, &b->k->types);
	const mr_optim_ops *o = b->optim.ops;
	int64_t n;

	for (uint32_t i = 0; i < o->n_states; i++) {
		mr_saved_tensor t = mr_state_param(param, type, mr_states_at(b, i, p, 0));
		float *scale = mr_states_scale(b, i, p, &n);

		MR_TRY(mr_state_add(&out->optimizer, &t, "%s.%s", name, o->state_names[i]));
		t = (mr_saved_tensor){.dtype = MR_F32, .n_dims = 1, .shape = {n}, .data = scale,
				      .bytes = (uint64_t)n * sizeof(*scale)};
		if (scale)
			MR_TRY(mr_state_add(&out->optimizer, &t, "%s.%s.scale", name, o->state_names[i]));
	}
	return MR_OK;
}

/* Parameter @p of stage @s: weights of version @latest with the rest of their masters, and the optimizer's states. */
static mr_status add_param(const mr_run *run, uint16_t s, uint32_t p, uint64_t latest, mr_state *out)
{
	const mr_stage_weights *b = &run->weights[s];
	bool steps = mr_stage_size(b->stage)->state_bytes && mr_stage_steps(b->stage, p);
	const mr_param *param = &run->c.graph->params[p];
	size_t at = mr_stage_weight_at(b->stage, p);
	mr_saved_tensor t = mr_state_param(param, b->k->types.weights, mr_weights_param_at(b, 0, latest, p));

	MR_TRY(mr_state_add(&out->model, &t, "%s", param->name));
	if (!steps)
		return MR_OK;
	t = mr_state_rest(param, mr_weights_rest(b, at));
	if (t.data)
		MR_TRY(mr_state_add(&out->optimizer, &t, "%s.rest", param->name));
	MR_TRY(mr_state_optimizer(b, p, param->name, out));
	return mr_state_factors(b, p, param->name, out);
}

/* Older versions of it. Where a plan flushes one was kept for a rollback, and now the step is certain. */
static mr_status add_versions(const mr_run *run, uint16_t s, uint32_t p, uint64_t latest, mr_state *out)
{
	const mr_stage_weights *b = &run->weights[s];
	const mr_param *param = &run->c.graph->params[p];

	if (run->c.plan->contract.flush != MR_FLUSH_NONE || !mr_weights_keeps_whole(b, p))
		return MR_OK;
	for (uint64_t v = latest < b->cap ? 0 : latest + 1 - b->cap; v < latest; v++) {
		mr_saved_tensor t = mr_state_param(param, b->k->types.weights, mr_weights_param_at(b, 0, v, p));

		MR_TRY(mr_state_add(&out->inflight, &t, "v%llu.%s", (unsigned long long)v, param->name));
	}
	return MR_OK;
}

mr_status mr_state_of_stage(const mr_run *run, uint16_t s, uint64_t latest, mr_state *out)
{
	const mr_instead *h = &run->hooks.instead;
	uint32_t first, end;

	mr_stage_params(run->stage[s], &first, &end);
	for (uint32_t p = first; p < end; p++) {
		if (mr_stage_weight_at(run->stage[s], p) == SIZE_MAX)
			continue;
		MR_TRY(h->save_param ? h->save_param(run, s, p, out) : add_param(run, s, p, latest, out));
		MR_EACH_FEATURE(run, f, save_param)
			MR_TRY((*f)->save_param(run, s, p, out));
		MR_TRY(add_versions(run, s, p, latest, out));
	}
	MR_EACH_FEATURE(run, f, save_stage)
		MR_TRY((*f)->save_stage(run, s, out));
	return MR_OK;
}

/* @pipe: "", or "p1." where there are several. */
static mr_status add_messages(mr_link *h, const char *pipe, const char *kind, uint16_t s, mr_state *out)
{
	for (uint32_t i = 0; i < h->n; i++) {
		mr_saved_tensor t = mr_state_bytes(mr_link_buffer(h, i), h->bytes);

		if (h->state[i] != MR_BUFFER_IDLE)
			MR_TRY(mr_state_add(&out->inflight, &t, "%s%s.s%u.b%u", pipe, kind, s, i));
	}
	return MR_OK;
}

static mr_status add_flow(const mr_run *run, uint8_t pipe, uint16_t s, mr_state *out)
{
	mr_links_stage *st = mr_links_at(&run->train, pipe, s);
	char prefix[8] = "";

	MR_EACH_FEATURE(run, f, save_pipe)
		MR_TRY((*f)->save_pipe(run, pipe, s, out));
	for (uint32_t i = 0; i < st->n_slots; i++) {
		mr_saved_tensor t = mr_state_bytes(st->slot[i].memory, st->slot_bytes);

		if (st->slot[i].taken && t.bytes)
			MR_TRY(mr_state_add(&out->inflight, &t, "slot.s%u.m%llu", s,
					    (unsigned long long)st->slot[i].micro));
	}
	/* Buffers that came back since the producer last looked are idle: only live ones are saved. */
	if (s > 0)
		mr_link_settle(&st->in);
	mr_link_settle(&st->grad);
	/* The loader's ring also holds inputs that no F has begun with; only those of live slots count. */
	for (uint32_t i = 0; s == 0 && i < st->n_slots; i++) {
		mr_saved_tensor t = mr_state_bytes(mr_link_buffer(&st->in, st->slot[i].in), st->in.bytes);

		if (st->slot[i].taken)
			MR_TRY(mr_state_add(&out->inflight, &t, "input.m%llu", (unsigned long long)st->slot[i].micro));
	}
	/* Micro-batches that will be recomputed have no slot. */
	for (uint64_t m = mr_run_done(run, pipe, 0, false); s == 0 && st->n_kept && m < mr_run_done(run, pipe, 0, true);
	     m++) {
		mr_saved_tensor t = mr_state_bytes(mr_link_buffer(&st->in, st->kept_in[m % st->n_kept]), st->in.bytes);

		MR_TRY(mr_state_add(&out->inflight, &t, "input.m%llu", (unsigned long long)m));
	}
	/* The step that sums these losses has yet to report them. */
	for (uint32_t i = 0; s + 1 == run->n_stages && i < st->n_slots; i++) {
		mr_saved_tensor t = {.dtype = MR_F64, .n_dims = 1, .shape = {1}, .bytes = sizeof(double)};

		t.data = &run->losses[st->slot[i].micro % run->n_losses];
		if (st->slot[i].taken)
			MR_TRY(mr_state_add(&out->inflight, &t, "loss.m%llu", (unsigned long long)st->slot[i].micro));
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
		st = mr_state_of_stage(run, s, run->weights[s].latest, out);
		for (unsigned p = 0; p < run->n_pipes && st == MR_OK && run->c.plan->contract.flush == MR_FLUSH_NONE;
		     p++)
			st = add_flow(run, (uint8_t)p, s, out);
	}
	MR_EACH_FEATURE(run, f, save_end)
		for (uint16_t s = 0; s < run->n_stages && st == MR_OK; s++)
			st = (*f)->save_end(run, s, out);
	if (st != MR_OK)
		mr_state_fini(out);
	return st;
}

void mr_state_list_fini(mr_state_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free((char *)l->at[i].name);
	free(l->at);
}

void mr_state_fini(mr_state *s)
{
	mr_state_list_fini(&s->model);
	mr_state_list_fini(&s->optimizer);
	mr_state_list_fini(&s->inflight);
	*s = (mr_state){0};
}

uint64_t mr_state_hash(const mr_state *s)
{
	uint64_t h = 0;

	for (size_t i = 0; i < s->model.n; i++)
		h = mr_hash64(h, s->model.at[i].data, s->model.at[i].bytes);
	for (size_t i = 0; i < s->optimizer.n; i++) /* of masters: no state is of this type */
		if (s->optimizer.at[i].dtype == MR_I16)
			h = mr_hash64(h, s->optimizer.at[i].data, s->optimizer.at[i].bytes);
	return h;
}
