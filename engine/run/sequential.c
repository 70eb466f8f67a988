#include "run/sequential.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "host/clock.h"
#include "host/group.h"
#include "host/memory.h"
#include "run/sequential_size.h"

typedef struct tensor {
	void *value, *grad; /* of a value */
} tensor;

typedef struct node_buffers {
	void *aux_i, *aux_w, *kept, *scratch;
} node_buffers;

struct mr_sequential {
	mr_sequential_config c;
	const mr_graph *g;
	mr_kctx *kc;
	tensor *value;         /* [n_values] */
	node_buffers *node;    /* [n_nodes] */
	void **weight, **grad; /* [n_params]; weight NULL when tied */
	void **state[MR_OPTIM_STATES];
	bool inside;           /* the last backward of a step carries out the optimizer steps, layer by layer */
	mr_step *steps;        /* [n_params] of the step in hand, when inside */
	void *work;            /* of an optimizer that steps whole matrices; NULL: of another */
	void *target;
	bool *has_grad;        /* [n_values] scratch of one backward */
	double *loss;          /* [n_micro] */
	uint64_t step;
	mr_region region;      /* all tensors */
	uint64_t ns_f, ns_b, ns_u;
	/* a job for the thread */
	uint64_t until, reached;
	mr_engine_progress *progress;
	void *arg;
	const void *forward_in;
	double eval_loss;
	mr_status status;
	char text[1024];
};

/* --- memory --- */

static void *take(mr_arena *a, size_t bytes)
{
	return mr_arena_take(a, bytes ? bytes : 1, MR_CACHE_LINE);
}

static size_t value_bytes(const mr_sequential *q, uint32_t v)
{
	return (size_t)q->c.samples * mr_shape_bytes(q->g->values[v].shape, q->c.kernels->dtype);
}

static size_t param_bytes(const mr_sequential *q, uint32_t p)
{
	return (size_t)q->g->params[p].n * mr_dtype_bytes(q->c.kernels->dtype);
}

static void layout_grads(mr_sequential *q, mr_arena *a)
{
	bool shared = mr_sequential_shares_grads(&q->c);
	char *first = NULL;
	mr_run_memory m;

	mr_sequential_size(&q->c, &m);
	if (shared)
		first = take(a, m.grads);
	for (uint32_t i = 0; i < q->g->n_nodes; i++) {
		const mr_node *nd = &q->g->nodes[i];
		size_t at = 0;

		for (uint32_t p = nd->first_param; p < nd->first_param + nd->n_params; p++) {
			q->grad[p] = !shared ? take(a, param_bytes(q, p)) : first ? first + at : NULL;
			at += mr_align_up(param_bytes(q, p), MR_CACHE_LINE);
		}
	}
}

/* Everything but tables of pointers; an arena without memory counts it. */
static void layout(mr_sequential *q, mr_arena *a)
{
	const mr_graph *g = q->g;

	for (uint32_t v = 0; v < g->n_values; v++) {
		q->value[v].value = take(a, value_bytes(q, v));
		q->value[v].grad = take(a, value_bytes(q, v));
	}
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_node *nd = &g->nodes[i];
		mr_layer_needs z = {0};

		nd->ops->needs(&nd->cfg, g->values[nd->in[0]].shape, q->c.samples, q->c.kernels, &z);
		q->node[i].aux_i = take(a, z.aux_i);
		q->node[i].aux_w = take(a, z.aux_w);
		q->node[i].kept = take(a, z.kept);
		q->node[i].scratch = take(a, z.scratch);
	}
	layout_grads(q, a);
	for (uint32_t p = 0; p < g->n_params; p++) {
		if (g->params[p].tied_to >= 0)
			continue;
		q->weight[p] = take(a, param_bytes(q, p));
		for (uint32_t i = 0; i < q->c.optim->ops->n_states; i++)
			q->state[i][p] = take(a, param_bytes(q, p));
	}
	if (!mr_optim_elementwise(q->c.optim))
		q->work = take(a, mr_sequential_work_bytes(&q->c));
	q->target = take(a, (size_t)q->c.samples * mr_shape_bytes(g->target, q->c.kernels->dtype));
}

static mr_status allocate(mr_sequential *q)
{
	const mr_graph *g = q->g;
	mr_arena a;

	q->value = calloc(g->n_values, sizeof(*q->value));
	q->node = calloc(g->n_nodes, sizeof(*q->node));
	q->weight = calloc(g->n_params + 1, sizeof(void *));
	q->grad = calloc(g->n_params + 1, sizeof(void *));
	q->steps = calloc(g->n_params + 1, sizeof(mr_step));
	for (int i = 0; i < MR_OPTIM_STATES; i++)
		q->state[i] = calloc(g->n_params + 1, sizeof(void *));
	q->has_grad = calloc(g->n_values, sizeof(bool));
	q->loss = calloc(q->c.n_micro, sizeof(double));
	if (!q->value || !q->node || !q->weight || !q->grad || !q->steps || !q->state[0] || !q->state[1] || !q->has_grad ||
	    !q->loss)
		return mr_fail(MR_ERESOURCE, "no memory for a model of %u layers", g->n_nodes);
	mr_arena_init(&a, NULL, 0);
	layout(q, &a);
	MR_TRY(mr_region_map(&q->region, mr_align_up(a.used, MR_CACHE_LINE), q->c.place->bindable ? q->c.place->node_os : MR_REGION_ANY_NODE));
	mr_arena_init(&a, q->region.base, q->region.bytes);
	layout(q, &a);
	return MR_OK;
}

/* On the group's leader, whose pages they are then. */
static void init_weights(mr_sequential *q)
{
	mr_region_prefault(&q->region, 0, q->region.bytes);
	for (uint32_t p = 0; p < q->g->n_params; p++)
		if (q->weight[p])
			mr_graph_init_param(q->g, p, q->c.seed, q->c.kernels->dtype, q->weight[p]);
}

const mr_sequential_config *mr_sequential_config_of(const mr_sequential *q)
{
	return &q->c;
}

void *mr_sequential_weights(mr_sequential *q, uint32_t p)
{
	return q->g->params[p].tied_to >= 0 ? q->weight[q->g->params[p].tied_to] : q->weight[p];
}

void *mr_sequential_grads(mr_sequential *q, uint32_t p)
{
	return q->grad[p];
}

void *mr_sequential_state(mr_sequential *q, uint32_t p, uint32_t i)
{
	return q->state[i][p];
}

const double *mr_sequential_losses(const mr_sequential *q)
{
	return q->loss;
}

/* --- one micro-batch --- */

typedef struct pass {
	int64_t samples;
	uint64_t first_sample;
	bool train, add;
	const mr_step *steps; /* [n_params]; NULL: gradients alone */
	double *loss;
	const void *w[MR_LAYER_PARAMS];
	void *dw[MR_LAYER_PARAMS];
} pass;

static mr_layer_call make_call(mr_sequential *q, uint32_t i, pass *ps)
{
	const mr_node *nd = &q->g->nodes[i];
	mr_shape in = q->g->values[nd->in[0]].shape;
	bool ends = nd->out == MR_GRAPH_NO_VALUE;
	mr_layer_call c = {
		.k = q->c.kernels,
		.kc = q->kc,
		.cfg = &nd->cfg,
		.in = in,
		.out = ends ? in : q->g->values[nd->out].shape,
		.samples = ps->samples,
		.y = ends ? NULL : q->value[nd->out].value,
		.dy = ends ? NULL : q->value[nd->out].grad,
		.w = ps->w,
		.dw = ps->dw,
		.dw_add = ps->add,
		.step = ps->steps ? ps->steps + nd->first_param : NULL,
		.aux_i = q->node[i].aux_i,
		.aux_w = q->node[i].aux_w,
		.kept = q->node[i].kept,
		.scratch = q->node[i].scratch,
		.target = q->target,
		.loss = ps->loss,
		.train = ps->train,
		.mask = {q->c.seed, ps->first_sample, nd->number},
	};

	for (uint32_t j = 0; j < nd->n_in; j++)
		c.x[j] = q->value[nd->in[j]].value;
	for (uint32_t j = 0; j < nd->n_params; j++) {
		ps->w[j] = mr_sequential_weights(q, nd->first_param + j);
		ps->dw[j] = q->grad[nd->first_param + j];
	}
	return c;
}

static void load(mr_sequential *q, const pass *ps)
{
	const mr_dataset *d = q->c.data;
	mr_dtype dt = q->c.kernels->dtype;

	for (int64_t i = 0; i < ps->samples; i++) {
		void *in = (char *)q->value[0].value + (size_t)i * mr_shape_bytes(d->input, dt);
		void *tg = (char *)q->target + (size_t)i * mr_shape_bytes(d->target, dt);

		if (ps->train)
			d->ops->train(d, ps->first_sample + (uint64_t)i, in, tg);
		else
			d->ops->valid(d, ps->first_sample + (uint64_t)i, in, tg);
	}
}

static mr_status forward(mr_sequential *q, pass *ps, uint32_t end)
{
	for (uint32_t i = 0; i < end; i++) {
		mr_layer_call c = make_call(q, i, ps);

		MR_TRY(q->g->nodes[i].ops->forward(&c));
	}
	return MR_OK;
}

/* The gradient of the first input that has none yet is dy itself: it gets dy's memory, and y, whose gradient nobody reads
 * any more, gets the input's. */
static void pass_gradient(mr_sequential *q, const mr_node *nd, mr_layer_call *c)
{
	for (uint32_t j = 0; j < nd->n_in; j++) {
		tensor *x = &q->value[nd->in[j]], *y = &q->value[nd->out];

		if (q->has_grad[nd->in[j]] || value_bytes(q, nd->in[j]) != value_bytes(q, nd->out))
			continue;
		y->grad = x->grad;
		x->grad = (void *)(uintptr_t)c->dy;
		return;
	}
}

static mr_status backward(mr_sequential *q, pass *ps)
{
	uint32_t last = q->g->n_nodes - 1, logits = q->g->nodes[last].in[0];

	memset(q->has_grad, 0, q->g->n_values * sizeof(bool));
	memcpy(q->value[logits].grad, q->value[logits].value, /* the loss left its gradient there */
	       (size_t)ps->samples * mr_shape_bytes(q->g->values[logits].shape, q->c.kernels->dtype));
	q->has_grad[logits] = true;
	for (uint32_t i = last; i-- > 0;) {
		const mr_node *nd = &q->g->nodes[i];
		mr_layer_call c = make_call(q, i, ps);

		if (nd->ops->passes_dy)
			pass_gradient(q, nd, &c);
		for (uint32_t j = 0; j < nd->n_in; j++) {
			if (!mr_graph_wants_dx(q->g, i, j))
				continue;
			c.dx[j] = q->value[nd->in[j]].grad;
			c.dx_add[j] = q->has_grad[nd->in[j]];
			q->has_grad[nd->in[j]] = true;
		}
		if (nd->ops->backward_input)
			MR_TRY(nd->ops->backward_input(&c));
		MR_TRY(mr_layer_weight(nd->ops, &c));
	}
	return MR_OK;
}

/* --- one step --- */

static void sum_tied(mr_sequential *q)
{
	for (uint32_t p = 0; p < q->g->n_params; p++) {
		int32_t o = q->g->params[p].tied_to;

		if (o >= 0)
			q->c.kernels->sum(q->kc, q->g->params[p].n, q->grad[o], q->grad[p], q->grad[o]);
	}
}

static double grad_norm(mr_sequential *q)
{
	double sum = 0;

	for (uint32_t p = 0; p < q->g->n_params; p++)
		if (q->weight[p])
			sum += q->c.kernels->sumsq(q->kc, q->g->params[p].n, q->grad[p]);
	return sqrt(sum);
}

static mr_optim_call step_call(mr_sequential *q, uint32_t p, double lr, double scale)
{
	mr_optim_call c = {
		.src = q->weight[p],
		.dst = q->weight[p],
		.lr = lr,
		.t = q->step + 1,
		.gscale = scale,
		.decay = q->g->params[p].decay,
		.work = q->work,
	};

	for (uint32_t i = 0; i < q->c.optim->ops->n_states; i++)
		c.state[i] = q->state[i][p];
	if (q->work)
		c.matrix = mr_graph_matrix(q->g, p);
	return c;
}

static void fill_steps(mr_sequential *q, double lr, double scale)
{
	for (uint32_t p = 0; p < q->g->n_params; p++) {
		mr_optim_call c;

		if (!q->weight[p])
			continue;
		c = step_call(q, p, lr, scale);
		q->c.optim->ops->fill(q->c.optim, &c, &q->steps[p]);
	}
}

static mr_status update(mr_sequential *q, double lr, double *norm)
{
	double count = q->c.n_micro, scale = 1 / count;

	*norm = NAN;
	sum_tied(q);
	if (q->c.clip > 0) {
		*norm = grad_norm(q) / count;
		if (!isfinite(*norm))
			return mr_fail(MR_EDIVERGED, "the gradient norm of step %llu is not finite",
				       (unsigned long long)(q->step + 1));
		scale = mr_clip_factor(*norm, q->c.clip) / count;
	}
	for (uint32_t p = 0; p < q->g->n_params; p++) {
		mr_optim_call c;

		if (!q->weight[p])
			continue;
		c = step_call(q, p, lr, scale);
		MR_TRY(mr_optim_step(q->c.optim, &c, q->c.kernels, q->kc, q->g->params[p].n, q->grad[p]));
	}
	return MR_OK;
}

static mr_status one_step(mr_sequential *q, mr_step_rec *rec)
{
	double sum = 0;
	uint64_t t0, t1, t2;

	*rec = (mr_step_rec){.step = q->step + 1, .lr = mr_lr_at(q->c.lr, q->step + 1), .norm = NAN};
	for (uint32_t i = 0; i < q->c.n_micro; i++) {
		uint32_t m = q->c.sum == MR_SUM_DESCENDING ? q->c.n_micro - 1 - i : i;
		pass ps = {
			.samples = q->c.samples,
			.first_sample = (q->step * q->c.n_micro + m) * (uint64_t)q->c.samples,
			.train = true,
			.add = i > 0,
			.loss = &q->loss[m],
		};

		if (q->inside && i + 1 == q->c.n_micro) {
			fill_steps(q, rec->lr, 1 / (double)q->c.n_micro);
			ps.steps = q->steps;
		}
		load(q, &ps);
		t0 = mr_clock_ns();
		MR_TRY(forward(q, &ps, q->g->n_nodes));
		t1 = mr_clock_ns();
		if (!isfinite(q->loss[m]))
			return mr_fail(MR_EDIVERGED, "the loss of micro-batch %llu is %s (weights of version %llu)",
				       (unsigned long long)(q->step * q->c.n_micro + m),
				       isnan(q->loss[m]) ? "not a number" : "infinite", (unsigned long long)q->step);
		MR_TRY(backward(q, &ps));
		t2 = mr_clock_ns();
		q->ns_f += t1 - t0;
		q->ns_b += t2 - t1;
	}
	t0 = mr_clock_ns();
	if (!q->inside)
		MR_TRY(update(q, rec->lr, &rec->norm));
	for (uint32_t m = 0; m < q->c.n_micro; m++)
		sum += q->loss[m];
	rec->loss = sum / q->c.n_micro;
	rec->time_ns = mr_clock_ns();
	q->ns_u += rec->time_ns - t0;
	q->step++;
	return MR_OK;
}

static mr_status steps(mr_sequential *q)
{
	while (q->step < q->until) {
		mr_step_rec rec;

		MR_TRY(one_step(q, &rec));
		if (q->progress && !q->progress(q->arg, &rec))
			break;
	}
	return MR_OK;
}

static mr_status evaluate(mr_sequential *q)
{
	uint64_t n = q->c.data->n_valid;
	double sum = 0;

	for (uint64_t at = 0; at < n; at += (uint64_t)q->c.samples) {
		double loss = 0;
		pass ps = {.first_sample = at, .loss = &loss};

		ps.samples = at + (uint64_t)q->c.samples <= n ? q->c.samples : (int64_t)(n - at);
		load(q, &ps);
		MR_TRY(forward(q, &ps, q->g->n_nodes));
		if (!isfinite(loss))
			return mr_fail(MR_EDIVERGED, "the validation loss is not finite");
		sum += loss * (double)ps.samples;
	}
	q->eval_loss = sum / (double)n;
	return MR_OK;
}

static mr_status forward_one(mr_sequential *q)
{
	pass ps = {.samples = 1};

	memcpy(q->value[0].value, q->forward_in, mr_shape_bytes(q->g->input, q->c.kernels->dtype));
	return forward(q, &ps, q->g->n_nodes - 1);
}

static mr_status set_up(mr_sequential *q)
{
	init_weights(q);
	return q->c.kernels->ctx_create(q->c.place->n_threads, &q->kc);
}

static mr_status tear_down(mr_sequential *q)
{
	q->c.kernels->ctx_destroy(q->kc);
	q->kc = NULL;
	return MR_OK;
}

/* --- the thread: a group set up like a leader obeys one job at a time --- */

typedef struct job {
	mr_sequential *q;
	mr_status (*fn)(mr_sequential *q);
} job;

static void thread(void *arg)
{
	job *j = arg;

	j->q->status = j->fn(j->q);
	if (j->q->status != MR_OK)
		memcpy(j->q->text, mr_error_text(), sizeof(j->q->text) - 1);
}

static mr_status on_group(mr_sequential *q, mr_status (*fn)(mr_sequential *))
{
	job j = {q, fn};
	mr_group *g;

	MR_TRY(mr_group_start(q->c.place, "mr-w0", thread, &j, &g));
	if (fn == set_up) /* the jobs after it get the same cores */
		mr_group_warn(g);
	mr_group_join(g);
	return q->status == MR_OK ? MR_OK : mr_fail(q->status, "%s", q->text);
}

mr_status mr_sequential_create(const mr_sequential_config *c, mr_sequential **out)
{
	mr_sequential *q = calloc(1, sizeof(*q));
	mr_status st;

	if (!q)
		return mr_fail(MR_ERESOURCE, "no memory for sequential training");
	q->c = *c;
	q->g = c->graph;
	q->inside = mr_sequential_steps_inside(c);
	st = allocate(q);
	if (st == MR_OK)
		st = on_group(q, set_up);
	if (st != MR_OK) {
		mr_sequential_destroy(q);
		return st;
	}
	*out = q;
	return MR_OK;
}

void mr_sequential_destroy(mr_sequential *q)
{
	if (!q)
		return;
	if (q->kc && on_group(q, tear_down) != MR_OK)
		q->kc = NULL; /* no thread to free it on: the process is ending */
	for (int i = 0; i < MR_OPTIM_STATES; i++)
		free(q->state[i]);
	mr_region_unmap(&q->region);
	free(q->value);
	free(q->node);
	free(q->weight);
	free(q->grad);
	free(q->steps);
	free(q->has_grad);
	free(q->loss);
	free(q);
}

mr_status mr_sequential_run(mr_sequential *q, uint64_t until, mr_engine_progress *progress, void *arg, uint64_t *reached)
{
	mr_status st;

	q->until = until;
	q->progress = progress;
	q->arg = arg;
	st = on_group(q, steps);
	*reached = q->step;
	return st;
}

mr_status mr_sequential_eval(mr_sequential *q, double *loss)
{
	if (q->c.data->n_valid == 0)
		return mr_fail(MR_EDATA, "the data has no validation part");
	MR_TRY(on_group(q, evaluate));
	*loss = q->eval_loss;
	return MR_OK;
}

size_t mr_sequential_out_bytes(const mr_sequential *q)
{
	uint32_t logits = q->g->nodes[q->g->n_nodes - 1].in[0];

	return mr_shape_bytes(q->g->values[logits].shape, q->c.kernels->dtype);
}

mr_status mr_sequential_forward(mr_sequential *q, const void *input, void *out)
{
	q->forward_in = input;
	MR_TRY(on_group(q, forward_one));
	memcpy(out, q->value[q->g->nodes[q->g->n_nodes - 1].in[0]].value, mr_sequential_out_bytes(q));
	return MR_OK;
}

void mr_sequential_resume_at(mr_sequential *q, uint64_t step)
{
	q->step = step;
}

void mr_sequential_busy(const mr_sequential *q, uint64_t *f, uint64_t *b, uint64_t *u)
{
	*f = q->ns_f;
	*b = q->ns_b;
	*u = q->ns_u;
}

uint64_t mr_sequential_bytes(const mr_sequential *q)
{
	return q->region.asked_bytes + (q->kc ? q->c.kernels->ctx_bytes(q->kc) : 0);
}
