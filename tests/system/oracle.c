#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "check.h"
#include "host/group.h"
#include "nn/squares.h"

typedef struct tensor {
	void *value, *grad;
} tensor;

typedef struct layer {
	void *aux_i, *aux_w, *kept, *scratch;
	uint32_t n_carried;
	uint8_t **carried[MR_LAYER_CARRIED]; /* [n_micro] with which the next micro-batch of a place begins */
	uint8_t **ending[MR_LAYER_CARRIED];  /* [n_micro] with which the present one ends */
	size_t carried_bytes[MR_LAYER_CARRIED];
	bool active; /* the present pass keeps its gradients */
} layer;

typedef struct param {
	void *weight, *grad, *part; /* part: the sum of a pipe other than the first */
	int16_t *rest;
	void *state[MR_OPTIM_STATES];
	float *scale[MR_OPTIM_STATES]; /* of a state that is stored in a form with scales */
} param;

#define STORED_ROOM 1000 /* elements of stored states that are stepped at a time */

struct oracle {
	oracle_config c;
	const mr_graph *g;
	mr_kctx *kc;
	tensor *value;      /* [n_values] */
	layer *layer;       /* [n_nodes] */
	param *param;       /* [n_params] */
	void **state;       /* [n_states] of layers */
	void **seen;        /* [n_states * n_micro] */
	void *target, *work, *stored_room;
	double *loss;       /* [n_micro] */
	bool *has_grad;     /* [n_values] */
	uint64_t step, until;
	double eval_loss;
	mr_engine_progress *progress;
	void *arg;
	mr_status (*job)(oracle *o);
	mr_status status;
	char text[1024];
	void **all;         /* every piece of memory */
	size_t n_all;
};

static void *room(oracle *o, size_t bytes)
{
	size_t n = mr_align_up(bytes ? bytes : 1, MR_CACHE_LINE);
	void *p = aligned_alloc(MR_CACHE_LINE, n);

	o->all = realloc(o->all, (o->n_all + 1) * sizeof(*o->all));
	CU_ASSERT_FATAL(p && o->all);
	o->all[o->n_all++] = p;
	return memset(p, 0, n);
}

/* --- a layer --- */

/* A micro-batch on its way. */
typedef struct pass {
	int64_t samples;
	uint64_t first_sample;
	uint32_t micro;   /* of the step */
	bool train, add;
	bool to_part;     /* gradients go to param.part */
	double *loss;
} pass;

static param *owner(const oracle *o, uint32_t p)
{
	return &o->param[o->g->params[p].tied_to >= 0 ? (uint32_t)o->g->params[p].tied_to : p];
}

static mr_layer_call call_of(oracle *o, uint32_t i, const pass *ps, const void **w, void **dw)
{
	const mr_node *nd = &o->g->nodes[i];
	layer *l = &o->layer[i];
	uint64_t windows = o->c.data->columns ? o->c.data->n_train / o->c.data->columns : 1;
	mr_layer_call c = {
		.k = o->c.kernels,
		.kc = o->kc,
		.cfg = &nd->cfg,
		.in = nd->in_shape,
		.out = nd->out_shape,
		.samples = ps->samples,
		.w = w,
		.dw = dw,
		.dw_add = ps->add,
		.aux_i = l->aux_i,
		.aux_w = l->aux_w,
		.kept = l->kept,
		.scratch = l->scratch,
		.target = o->target,
		.loss = ps->loss,
		.class_weight = o->g->class_weight,
		.train = ps->train,
		.mask = {o->c.seed, ps->first_sample, nd->number},
		.window = o->step,
	};

	for (uint32_t j = 0; j < nd->n_in; j++)
		c.x[j] = o->value[nd->in[j]].value;
	for (uint32_t j = 0; j < nd->n_out; j++) {
		c.y[j] = o->value[nd->out + j].value;
		c.dy[j] = o->value[nd->out + j].grad;
	}
	for (uint32_t j = 0; j < nd->n_states; j++) {
		c.state[j] = o->state[nd->first_state + j];
		c.seen[j] = o->seen[(nd->first_state + j) * o->c.n_micro + ps->micro];
	}
	for (uint32_t j = 0; ps->train && j < l->n_carried; j++) {
		c.begin[j] = o->step % windows ? l->carried[j][ps->micro] : NULL;
		c.end[j] = l->ending[j][ps->micro];
	}
	for (uint32_t j = 0; j < nd->n_params; j++) {
		w[j] = owner(o, nd->first_param + j)->weight;
		dw[j] = ps->to_part ? o->param[nd->first_param + j].part : o->param[nd->first_param + j].grad;
	}
	return c;
}

static mr_status forward(oracle *o, const pass *ps)
{
	for (uint32_t i = 0; i < o->g->n_nodes; i++) {
		const void *w[MR_LAYER_PARAMS];
		void *dw[MR_LAYER_PARAMS];
		mr_layer_call c = call_of(o, i, ps, w, dw);

		MR_TRY(o->g->nodes[i].ops->forward(&c));
	}
	return MR_OK;
}

static mr_status backward(oracle *o, const pass *ps)
{
	uint32_t last = o->g->n_nodes - 1, ends_in = o->g->nodes[last].in[0];

	memset(o->has_grad, 0, o->g->n_values * sizeof(bool));
	o->has_grad[ends_in] = true;
	for (uint32_t i = last; i-- > 0;) {
		const mr_node *nd = &o->g->nodes[i];
		const void *w[MR_LAYER_PARAMS];
		void *dw[MR_LAYER_PARAMS];
		mr_layer_call c = call_of(o, i, ps, w, dw);

		for (uint32_t j = 0; j < nd->n_in; j++) {
			if (!mr_graph_wants_dx(o->g, i, j))
				continue;
			c.dx[j] = o->value[nd->in[j]].grad;
			c.dx_add[j] = o->has_grad[nd->in[j]];
			o->has_grad[nd->in[j]] = true;
		}
		if (nd->ops->backward_input)
			MR_TRY(nd->ops->backward_input(&c));
		if (nd->ops->backward_weight && o->layer[i].active)
			MR_TRY(nd->ops->backward_weight(&c));
	}
	return MR_OK;
}

/* --- a step --- */

static mr_status load(oracle *o, const pass *ps)
{
	const mr_dataset *d = o->c.data;
	size_t in = mr_shape_bytes(d->input, o->c.kernels->types.activations);
	size_t target = mr_shape_bytes(d->target, o->c.kernels->types.compute);

	for (int64_t i = 0; i < ps->samples; i++)
		(ps->train ? d->ops->train : d->ops->valid)(d, ps->first_sample + (uint64_t)i,
							    (char *)o->value[0].value + (size_t)i * in,
							    (char *)o->target + (size_t)i * target);
	return mr_dataset_check(d);
}

static mr_status one_micro(oracle *o, uint32_t m, bool add, bool to_part)
{
	uint64_t micro = o->step * o->c.n_micro + m;
	pass ps = {.samples = o->c.samples, .first_sample = micro * (uint64_t)o->c.samples, .micro = m, .train = true,
		.add = add, .to_part = to_part, .loss = &o->loss[m]};

	MR_TRY(load(o, &ps));
	MR_TRY(forward(o, &ps));
	return backward(o, &ps);
}

static mr_status add_part(oracle *o)
{
	for (uint32_t p = 0; p < o->g->n_params; p++)
		if (o->layer[o->g->params[p].node].active)
			MR_TRY(o->c.kernels->sum_gradients(
				o->kc, &(mr_sum_gradients_args){.n = o->g->params[p].n, .a = o->param[p].grad,
								.b = o->param[p].part, .y = o->param[p].grad}));
	return MR_OK;
}

/* One pass over all micro-batches in the order of @part's sums, for all layers that are active. */
static mr_status sum_pipes(oracle *o, uint32_t part)
{
	const oracle_lists *l = o->c.lists;
	bool begun = false;

	for (uint32_t p = 0; p < l->n_pipes; p++) {
		uint32_t from = l->begin[part * l->n_pipes + p], end = l->begin[part * l->n_pipes + p + 1];

		for (uint32_t i = from; i < end; i++)
			MR_TRY(one_micro(o, l->micro[i], i > from, begun));
		if (begun && end > from)
			MR_TRY(add_part(o));
		begun = begun || end > from;
	}
	return MR_OK;
}

/* Each part by itself. */
static mr_status sum_by_lists(oracle *o)
{
	const oracle_lists *l = o->c.lists;

	for (uint32_t s = 0; s < l->n_parts; s++) {
		for (uint32_t i = 0; i < o->g->n_nodes; i++)
			o->layer[i].active = i >= l->first[s] && i < l->first[s + 1];
		MR_TRY(sum_pipes(o, s));
	}
	return MR_OK;
}

static mr_status sum_ascending(oracle *o)
{
	for (uint32_t m = 0; m < o->c.n_micro; m++)
		MR_TRY(one_micro(o, m, m > 0, false));
	return MR_OK;
}

static mr_status sum_tied(oracle *o)
{
	for (uint32_t p = 0; p < o->g->n_params; p++) {
		param *at = owner(o, p);

		if (at != &o->param[p])
			MR_TRY(o->c.kernels->sum_gradients(
				o->kc, &(mr_sum_gradients_args){.n = o->g->params[p].n, .a = at->grad,
								.b = o->param[p].grad, .y = at->grad}));
	}
	return MR_OK;
}
static mr_status step_param(oracle *o, uint32_t p, double lr, double scale)
{
	param *x = &o->param[p];
	mr_optim_call c = {
		.src = x->weight,
		.dst = x->weight,
		.src_rest = x->rest,
		.dst_rest = x->rest,
		.lr = lr,
		.t = o->step + 1,
		.gscale = scale,
		.decay = o->g->params[p].decay,
		.lazy_cols = mr_param_lazy_cols(&o->g->params[p]),
		.work = o->work,
		.rounding = {.seed = o->c.seed, .step = o->step + 1, .param = p},
	};

	memcpy(c.state, x->state, sizeof(c.state));
	c.stored = (mr_stored){.form = o->c.optim->form, .scale = {x->scale[0], x->scale[1]}, .cols = c.lazy_cols,
			       .room_n = STORED_ROOM, .room = o->stored_room};
	if (o->work)
		c.matrix = mr_graph_matrix(o->g, p);
	return mr_optim_step(o->c.optim, &c, o->c.kernels, o->kc, o->g->params[p].n, x->grad);
}

/* Is the layer of parameter @p among those that stay as they are? */
static bool is_frozen(const oracle *o, uint32_t p)
{
	const char *name = o->g->nodes[o->g->params[p].node].name, *at = o->c.frozen ? strstr(o->c.frozen, name) : NULL;

	while (at && ((at > o->c.frozen && at[-1] != ',') || (at[strlen(name)] && at[strlen(name)] != ',')))
		at = strstr(at + 1, name);
	return at != NULL;
}

static mr_status update(oracle *o, double lr, double *norm)
{
	bool asked = o->c.clip > 0 || (o->c.norm_every && (o->step + 1) % o->c.norm_every == 0);
	double count = o->c.n_micro, scale = 1 / count, sum = 0, some;

	*norm = NAN;
	MR_TRY(sum_tied(o));
	for (uint32_t p = 0; asked && p < o->g->n_params; p++) {
		if (o->g->params[p].tied_to >= 0 || is_frozen(o, p))
			continue;
		MR_TRY(mr_squares(o->c.kernels, o->kc, o->g->params[p].n, o->param[p].grad, &some));
		sum += some;
	}
	if (asked)
		*norm = sqrt(sum) / count;
	if (o->c.clip > 0) {
		if (!isfinite(*norm) && o->c.skip_nonfinite)
			return MR_OK;
		scale = mr_clip_factor(*norm, o->c.clip) / count;
	}
	for (uint32_t p = 0; p < o->g->n_params; p++)
		if (o->g->params[p].tied_to < 0 && !is_frozen(o, p))
			MR_TRY(step_param(o, p, lr, scale));
	return MR_OK;
}

/* All micro-batches of the step into the states, ascending in whatever order their gradients are summed. */
static void fold_states(oracle *o)
{
	for (uint32_t i = 0; i < o->g->n_nodes; i++) {
		const mr_node *nd = &o->g->nodes[i];
		const void *seen[MR_LAYER_STATES];

		for (uint32_t m = 0; nd->n_states && m < o->c.n_micro; m++) {
			for (uint32_t j = 0; j < nd->n_states; j++)
				seen[j] = o->seen[(nd->first_state + j) * o->c.n_micro + m];
			nd->ops->fold(&nd->cfg, nd->in_shape, o->c.samples, o->c.kernels->types.compute, seen,
				      o->state + nd->first_state);
		}
	}
}

/* What this step's micro-batches ended with is what the next one's begin with. */
static void carry_over(oracle *o)
{
	for (uint32_t i = 0; i < o->g->n_nodes; i++)
		for (uint32_t j = 0; j < o->layer[i].n_carried; j++) {
			uint8_t **was = o->layer[i].carried[j];

			o->layer[i].carried[j] = o->layer[i].ending[j];
			o->layer[i].ending[j] = was;
		}
}

static mr_status one_step(oracle *o)
{
	mr_step_rec rec = {.step = o->step + 1, .lr = mr_lr_at(o->c.lr, o->step + 1), .norm = NAN, .stage_norm = NAN};
	double sum = 0;

	MR_TRY(o->c.lists ? sum_by_lists(o) : sum_ascending(o));
	fold_states(o);
	MR_TRY(update(o, rec.lr, &rec.norm));
	carry_over(o);
	for (uint32_t m = 0; m < o->c.n_micro; m++)
		sum += o->loss[m];
	rec.loss = sum / o->c.n_micro;
	o->step++;
	if (o->progress)
		o->progress(o->arg, &rec);
	return MR_OK;
}

/* --- jobs of its thread --- */

static mr_status steps(oracle *o)
{
	while (o->step < o->until)
		MR_TRY(one_step(o));
	return MR_OK;
}

static mr_status evaluate(oracle *o)
{
	uint64_t n = o->c.data->n_valid, samples = (uint64_t)o->c.samples;
	double sum = 0;

	for (uint64_t at = 0; at < n; at += samples) {
		double loss = 0;
		pass ps = {.first_sample = at, .loss = &loss};

		ps.samples = at + samples <= n ? o->c.samples : (int64_t)(n - at);
		MR_TRY(load(o, &ps));
		MR_TRY(forward(o, &ps));
		sum += loss * (double)ps.samples;
	}
	o->eval_loss = sum / (double)n;
	return MR_OK;
}

static mr_status set_up(oracle *o)
{
	const mr_graph *g = o->g;

	for (uint32_t p = 0; p < g->n_params; p++)
		if (g->params[p].tied_to < 0)
			mr_graph_init_param(g, p, o->c.seed, o->c.kernels->types.weights, o->param[p].weight,
					    o->param[p].rest);
	for (uint32_t i = 0; i < g->n_states; i++)
		mr_graph_init_state(g, i, o->c.kernels->types.compute, o->state[i]);
	return o->c.kernels->ctx_create(o->c.kernels, o->c.place->n_threads, &o->kc);
}

static mr_status tear_down(oracle *o)
{
	o->c.kernels->ctx_destroy(o->kc);
	return MR_OK;
}

static void thread(void *arg)
{
	oracle *o = arg;

	o->status = o->job(o);
	if (o->status != MR_OK)
		snprintf(o->text, sizeof(o->text), "%s", mr_error_text());
}

static void on_thread(oracle *o, mr_status (*job)(oracle *o))
{
	mr_group *g;

	o->job = job;
	MR_CHECK_OK(mr_group_start(o->c.place, "mr-oracle", thread, o, &g));
	mr_group_join(g);
	if (o->status != MR_OK)
		fprintf(stderr, "\noracle: %s\n", o->text);
	CU_ASSERT_EQUAL_FATAL(o->status, MR_OK);
}

/* --- the whole --- */

static void make_values(oracle *o)
{
	const mr_types *t = &o->c.kernels->types;
	size_t n = (size_t)o->c.samples;

	for (uint32_t v = 0; v < o->g->n_values; v++) {
		o->value[v].value = room(o, n * mr_shape_bytes(o->g->values[v].shape, t->activations));
		o->value[v].grad = room(o, n * mr_shape_bytes(o->g->values[v].shape, t->activations));
	}
	/* the loss leaves its gradient in the place of the value */
	o->value[o->g->nodes[o->g->n_nodes - 1].in[0]].grad = o->value[o->g->nodes[o->g->n_nodes - 1].in[0]].value;
	o->target = room(o, n * mr_shape_bytes(o->c.data->target, t->compute));
}

static void make_layer(oracle *o, uint32_t i)
{
	const mr_node *nd = &o->g->nodes[i];
	layer *l = &o->layer[i];
	mr_layer_carried spec[MR_LAYER_CARRIED];
	mr_layer_needs z = {0};

	nd->ops->needs(&nd->cfg, nd->in_shape, o->c.samples, o->c.kernels, &z);
	*l = (layer){.aux_i = room(o, z.aux_i.bytes), .aux_w = room(o, z.aux_w.bytes), .kept = room(o, z.kept.bytes),
		.scratch = room(o, z.scratch), .active = true};
	l->n_carried = mr_layer_n_carried(nd->ops, &nd->cfg, spec);
	for (uint32_t j = 0; j < l->n_carried; j++) {
		l->carried_bytes[j] = (size_t)o->c.samples * mr_layer_carried_row(&spec[j], &o->c.kernels->types);
		l->carried[j] = room(o, o->c.n_micro * sizeof(void *));
		l->ending[j] = room(o, o->c.n_micro * sizeof(void *));
		for (uint32_t m = 0; m < o->c.n_micro; m++) {
			l->carried[j][m] = room(o, l->carried_bytes[j]);
			l->ending[j][m] = room(o, l->carried_bytes[j]);
		}
	}
}

static size_t scale_bytes(const oracle *o, uint32_t p)
{
	return (size_t)mr_state_blocks(o->g->params[p].n, mr_param_lazy_cols(&o->g->params[p])) * sizeof(float);
}

static void make_state(oracle *o, uint32_t p, uint32_t i)
{
	const mr_optim *optim = o->c.optim;
	size_t each = mr_dtype_bytes(mr_optim_state_type(optim, &o->c.kernels->types));

	o->param[p].state[i] = room(o, (size_t)o->g->params[p].n * each);
	if (optim->form && optim->form->scaled)
		o->param[p].scale[i] = room(o, scale_bytes(o, p));
}

static void make_params(oracle *o)
{
	const mr_types *t = &o->c.kernels->types;
	size_t work = 0, bytes;

	for (uint32_t p = 0; p < o->g->n_params; p++) {
		size_t n = (size_t)o->g->params[p].n;
		mr_optim_matrix m = mr_graph_matrix(o->g, p);

		o->param[p].grad = room(o, n * mr_dtype_bytes(t->gradients));
		o->param[p].part = room(o, n * mr_dtype_bytes(t->gradients));
		if (o->g->params[p].tied_to >= 0)
			continue;
		o->param[p].weight = room(o, n * mr_dtype_bytes(t->weights));
		o->param[p].rest = mr_types_rest_bytes(t) ? room(o, n * mr_types_rest_bytes(t)) : NULL;
		for (uint32_t i = 0; i < o->c.optim->ops->n_states; i++)
			make_state(o, p, i);
		bytes = o->c.optim->ops->work_bytes && m.rows ? o->c.optim->ops->work_bytes(&m, t->state) : 0;
		work = bytes > work ? bytes : work;
	}
	o->stored_room = room(o, mr_stored_room(STORED_ROOM, t));
	if (!mr_optim_elementwise(o->c.optim))
		o->work = room(o, work);
}

oracle_config oracle_config_of(const mr_session *s)
{
	const mr_job_train *train = &s->job->train;

	return (oracle_config){.graph = s->graph, .kernels = s->kernels, .data = s->data, .optim = &s->optim,
		.lr = &s->lr, .place = s->place.worker, .clip = train->clip,
		.skip_nonfinite = train->nonfinite == MR_NONFINITE_SKIP,
		.norm_every = (uint64_t)train->norm_every, .seed = (uint64_t)train->seed, .samples = s->samples,
		.n_micro = s->n_micro};
}

oracle *oracle_create(const oracle_config *c)
{
	oracle *o = calloc(1, sizeof(*o));
	const mr_graph *g = c->graph;

	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	*o = (oracle){.c = *c, .g = g};
	o->value = room(o, g->n_values * sizeof(*o->value));
	o->layer = room(o, g->n_nodes * sizeof(*o->layer));
	o->param = room(o, g->n_params * sizeof(*o->param));
	o->state = room(o, g->n_states * sizeof(*o->state));
	o->seen = room(o, (size_t)g->n_states * c->n_micro * sizeof(*o->seen));
	o->loss = room(o, c->n_micro * sizeof(*o->loss));
	o->has_grad = room(o, g->n_values * sizeof(*o->has_grad));
	make_values(o);
	for (uint32_t i = 0; i < g->n_nodes; i++)
		make_layer(o, i);
	make_params(o);
	for (uint32_t i = 0; i < g->n_states; i++) {
		size_t bytes = (size_t)g->states[i].n * mr_dtype_bytes(c->kernels->types.compute);

		o->state[i] = room(o, bytes);
		for (uint32_t m = 0; m < c->n_micro; m++)
			o->seen[i * c->n_micro + m] = room(o, bytes);
	}
	on_thread(o, set_up);
	return o;
}

void oracle_destroy(oracle *o)
{
	on_thread(o, tear_down);
	for (size_t i = 0; i < o->n_all; i++)
		free(o->all[i]);
	free(o->all);
	free(o);
}

void oracle_run(oracle *o, uint64_t until, mr_engine_progress *progress, void *arg)
{
	o->until = until;
	o->progress = progress;
	o->arg = arg;
	on_thread(o, steps);
}

double oracle_eval(oracle *o)
{
	on_thread(o, evaluate);
	return o->eval_loss;
}

/* --- what it has come to --- */

static void add(mr_state_list *l, const char *name, const char *more, void *data, size_t bytes)
{
	char text[200];

	snprintf(text, sizeof(text), "%s%s", name, more);
	l->at = realloc(l->at, (l->n + 1) * sizeof(*l->at));
	CU_ASSERT_PTR_NOT_NULL_FATAL(l->at);
	l->at[l->n++] = (mr_saved_tensor){.name = strdup(text), .data = data, .bytes = bytes};
}

static void add_param(const oracle *o, uint32_t p, mr_state *out)
{
	const mr_types *t = &o->c.kernels->types;
	const mr_param *of = &o->g->params[p];
	const param *x = &o->param[p];
	size_t n = (size_t)of->n;
	char suffix[80];

	add(&out->model, of->name, "", x->weight, n * mr_dtype_bytes(t->weights));
	if (x->rest)
		add(&out->optimizer, of->name, ".rest", x->rest, n * sizeof(*x->rest));
	for (uint32_t i = 0; i < o->c.optim->ops->n_states; i++) {
		snprintf(suffix, sizeof(suffix), ".%s", o->c.optim->ops->state_names[i]);
		add(&out->optimizer, of->name, suffix, x->state[i],
		    n * mr_dtype_bytes(mr_optim_state_type(o->c.optim, t)));
		snprintf(suffix, sizeof(suffix), ".%s.scale", o->c.optim->ops->state_names[i]);
		if (x->scale[i])
			add(&out->optimizer, of->name, suffix, x->scale[i], scale_bytes(o, p));
	}
}

static void add_carried(const oracle *o, uint32_t i, uint32_t m, mr_state *out)
{
	const mr_node *nd = &o->g->nodes[i];
	mr_layer_carried spec[MR_LAYER_CARRIED];
	char suffix[80];

	for (uint32_t j = 0; j < mr_layer_n_carried(nd->ops, &nd->cfg, spec); j++) {
		snprintf(suffix, sizeof(suffix), ".carried_%s.%u", spec[j].suffix, m);
		add(&out->optimizer, nd->name, suffix, o->layer[i].carried[j][m], o->layer[i].carried_bytes[j]);
	}
}

void oracle_collect(oracle *o, bool eval, rig_result *out)
{
	mr_state st = {0};

	out->eval = eval ? oracle_eval(o) : (double)NAN;
	for (uint32_t p = 0; p < o->g->n_params; p++)
		if (o->g->params[p].tied_to < 0)
			add_param(o, p, &st);
	for (uint32_t i = 0; i < o->g->n_states; i++)
		add(&st.model, o->g->states[i].name, "", o->state[i],
		    (size_t)o->g->states[i].n * mr_dtype_bytes(o->c.kernels->types.compute));
	for (uint32_t i = 0; i < o->g->n_nodes; i++)
		for (uint32_t m = 0; m < o->c.n_micro; m++)
			add_carried(o, i, m, &st);
	rig_copy_state(&st, out);
	mr_state_fini(&st);
}

void *oracle_weights(const oracle *o, uint32_t p)
{
	return owner(o, p)->weight;
}

const void *oracle_gradient(const oracle *o, uint32_t p)
{
	return o->param[p].grad;
}

const double *oracle_losses(const oracle *o)
{
	return o->loss;
}

void oracle_train(const mr_session *s, const oracle_lists *lists, uint64_t n_steps, bool eval, rig_result *out)
{
	oracle_config c = oracle_config_of(s);
	oracle *o;

	c.lists = lists;
	o = oracle_create(&c);
	oracle_run(o, n_steps, rig_progress, out);
	oracle_collect(o, eval, out);
	oracle_destroy(o);
}
