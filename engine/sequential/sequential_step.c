/* sequential_step.c - the arithmetic of plain training: passes over micro-batches, sums, optimizer steps, evaluation.
 */
#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "base/usdt.h"
#include "host/clock.h"
#include "nn/row_sum.h"
#include "nn/squares.h"
#include "sequential/sequential_internal.h"
#include "sequential/sequential_size.h"

/* --- one micro-batch --- */

typedef struct pass {
	int64_t samples;
	uint64_t first_sample;
	uint32_t micro;        /* of the step, with train */
	bool train, add;
	void **grad;           /* [n_params] where W leaves them */
	const bool *active;    /* [n_nodes] nodes whose W is carried out; NULL: all */
	const mr_step *steps; /* [n_params]; NULL: gradients alone */
	double *sumsq;         /* [n_params] with steps: see mr_layer_call */
	double *loss;
	mr_judged *judged;     /* see mr_layer_call */
	const void *w[MR_LAYER_PARAMS];
	void *dw[MR_LAYER_PARAMS];
} pass;

/* What micro-batch @m of the step has seen for state @i. */
static void *seen_at(const mr_sequential *q, uint32_t i, uint32_t m)
{
	return q->seen[i] + m * mr_sequential_layer_state_bytes(&q->c, i);
}

/* What node @i carries into micro-batch @m and out of it. */
static void find_carried(mr_sequential *q, uint32_t i, uint64_t m, mr_layer_call *c)
{
	uint32_t n = q->node[i].n_carried;
	const char *begin = n ? mr_carried_begin(&q->carried, m) : NULL;
	char *end = n ? mr_carried_end(&q->carried, m) : NULL;

	for (uint32_t j = 0; j < n; j++) {
		c->begin[j] = begin ? begin + q->node[i].carried_at[j] : NULL;
		c->end[j] = end + q->node[i].carried_at[j];
	}
}

static mr_layer_call make_call(mr_sequential *q, uint32_t i, pass *ps)
{
	const mr_node *nd = &q->g->nodes[i];
	bool adds = nd->addend != MR_GRAPH_NO_VALUE;
	mr_layer_call c = {
		.k = q->c.kernels,
		.kc = q->kc,
		.cfg = &nd->cfg,
		.in = nd->in_shape,
		.out = nd->out_shape,
		.samples = ps->samples,
		.addend = adds ? q->value[nd->addend].value : NULL,
		.w = ps->w,
		.dw = ps->dw,
		.dw_add = ps->add,
		.step = ps->steps ? ps->steps + nd->first_param : NULL,
		.sumsq = ps->sumsq ? ps->sumsq + nd->first_param : NULL,
		.dy_is_pre_activation = nd->n_out && nd[1].fuse_act_backward,
		.aux_i = q->node[i].aux_i,
		.aux_w = q->node[i].aux_w,
		.kept = q->node[i].kept,
		.scratch = q->scratch,
		.target = q->target,
		.loss = ps->loss,
		.judged = ps->judged,
		.train = ps->train,
		.mask = {q->c.seed, ps->first_sample, nd->number},
		.window = q->step,
	};

	if (nd->fuse_act_backward) {
		c.fuse_act_backward = nd[-1].cfg.act;
		c.fuse_act_backward_aux = q->node[i - 1].act_aux;
	}
	for (uint32_t j = 0; j < nd->n_in; j++)
		c.x[j] = q->value[nd->in[j]].value;
	for (uint32_t j = 0; j < nd->n_out; j++) {
		c.y[j] = q->value[(adds ? nd[1].out : nd->out) + j].value;
		c.dy[j] = q->value[nd->out + j].grad;
	}
	for (uint32_t j = 0; j < nd->n_states; j++) {
		c.state[j] = q->layer_state[nd->first_state + j];
		c.seen[j] = seen_at(q, nd->first_state + j, ps->micro);
	}
	if (ps->train)
		find_carried(q, i, q->step * q->c.n_micro + ps->micro, &c);
	for (uint32_t j = 0; j < nd->n_params; j++) {
		uint32_t p = nd->first_param + j;

		ps->w[j] = mr_sequential_weights(q, p);
		ps->dw[j] = ps->grad ? ps->grad[p] : NULL;
		if (p == q->sparse_owner || p == q->sparse_user)
			c.sparse_rows = &q->sparse_rows;
	}
	if (nd->n_params)
		c.sum_rows = mr_sequential_rows_of(&q->c, nd->first_param);
	return c;
}

/* Samples by numbers, each in the range that contains its first number: so the bytes to copy are divided between the
 * threads of a team. */
typedef struct loading {
	mr_sequential *q;
	const pass *ps;
	int64_t each; /* numbers of a sample */
} loading;

static void load_range(const void *args, int64_t lo, int64_t hi)
{
	const loading *l = args;
	const mr_dataset *d = l->q->c.data;
	mr_dtype dt = l->q->c.kernels->types.activations;

	for (int64_t i = (lo + l->each - 1) / l->each; i * l->each < hi; i++) {
		void *in = (char *)l->q->value[0].value + (size_t)i * mr_shape_bytes(d->input, dt);
		void *tg = (char *)l->q->target + (size_t)i * mr_shape_bytes(d->target, l->q->c.kernels->types.compute);

		if (l->ps->train)
			d->ops->train(d, l->ps->first_sample + (uint64_t)i, in, tg);
		else
			d->ops->valid(d, l->ps->first_sample + (uint64_t)i, in, tg);
	}
}

static mr_status load(mr_sequential *q, const pass *ps)
{
	loading l = {q, ps, q->c.data->input.rows * q->c.data->input.cols};
	uint64_t begin = mr_clock_ns();

	if (q->loader.crew)
		mr_sequential_loader_next(&q->loader, &q->value[0].value, &q->target);
	else
		q->c.kernels->ranges(q->kc, ps->samples * l.each, load_range, &l);
	q->ns_data += ps->train ? mr_clock_ns() - begin : 0;
	return mr_dataset_check(q->c.data);
}

/* Report progress to the watchdog. */
static void beat(mr_sequential *q)
{
	atomic_store_explicit(&q->beat, atomic_load_explicit(&q->beat, memory_order_relaxed) + 1, memory_order_relaxed);
}

static mr_status forward(mr_sequential *q, pass *ps, uint32_t end)
{
	for (uint32_t i = 0; i < end; i++) {
		mr_layer_call c;

		if (q->g->nodes[i].added)
			continue;
		c = make_call(q, i, ps);
		MR_TRY(mr_layer_symbols_call(&q->node[i].symbols, MR_PASS_F, q->g->nodes[i].ops, &c, 1));
		beat(q);
	}
	return q->c.kernels->ctx_status(q->kc);
}

static mr_status backward(mr_sequential *q, pass *ps)
{
	uint32_t logits = mr_sequential_ends_in(q->g);

	memset(q->has_grad, 0, q->g->n_values * sizeof(bool));
	q->has_grad[logits] = true; /* the loss left it in the value's place */
	for (uint32_t i = q->g->n_nodes - 1; i-- > 0;) {
		const mr_node *nd = &q->g->nodes[i];
		mr_layer_call c = make_call(q, i, ps);

		for (uint32_t j = 0; j < nd->n_in; j++) {
			if (!mr_graph_wants_dx(q->g, i, j))
				continue;
			c.dx[j] = q->value[nd->in[j]].grad;
			c.dx_add[j] = q->has_grad[nd->in[j]];
			q->has_grad[nd->in[j]] = true;
		}
		if (!ps->active || ps->active[i])
			MR_TRY(mr_layer_symbols_call(&q->node[i].symbols, MR_PASS_BOTH, nd->ops, &c, 1));
		else if (nd->ops->backward_input)
			MR_TRY(mr_layer_symbols_call(&q->node[i].symbols, MR_PASS_I, nd->ops, &c, 1));
		beat(q);
	}
	return q->c.kernels->ctx_status(q->kc);
}

/* --- one step --- */

static void sum_tied(mr_sequential *q)
{
	for (uint32_t p = 0; p < q->g->n_params; p++) {
		int32_t o = q->g->params[p].tied_to;

		if (o >= 0 && (uint32_t)o != q->sparse_owner)
			q->c.kernels->sum_gradients(q->kc, q->g->params[p].n, q->grad[o], q->grad[p], q->grad[o]);
	}
}

/* Is the norm of the current step requested, although nothing is clipped by it? */
static bool asks_norm(const mr_sequential *q)
{
	return q->c.norm_every && !(q->c.clip > 0) && (q->step + 1) % q->c.norm_every == 0;
}

/* The sum of the squares of parameter @p's gradient. */
static double squares_of(mr_sequential *q, uint32_t p)
{
	const mr_param *param = &q->g->params[p];
	int64_t most = mr_sequential_rows_of(&q->c, p);
	mr_row_sum sum;

	if (!most)
		return mr_squares(q->c.kernels, q->kc, param->n, q->grad[p]);
	sum = mr_row_sum_at(q->grad[p], most, mr_param_lazy_cols(param), q->c.kernels->types.gradients);
	return mr_row_sum_squares(&sum, q->c.kernels, q->kc);
}

/* Steps inside have noted the squares of their gradients. */
static double grad_norm(mr_sequential *q)
{
	double sum = 0;

	for (uint32_t p = 0; p < q->g->n_params; p++)
		if (q->weight[p])
			sum += q->inside && !q->late[p] ? q->sumsq[p] : squares_of(q, p);
	return sqrt(sum);
}

static mr_optim_call step_call(mr_sequential *q, uint32_t p, double lr, double scale)
{
	mr_optim_call c = {
		.src = q->weight[p],
		.dst = q->weight[p],
		.src_rest = q->rest[p],
		.dst_rest = q->rest[p],
		.lr = lr,
		.t = q->step + 1,
		.gscale = scale,
		.decay = q->g->params[p].decay,
		.lazy_cols = mr_param_lazy_cols(&q->g->params[p]),
		.sum_rows = mr_sequential_rows_of(&q->c, p),
		.work = q->work,
		.rounding = {.seed = q->c.seed, .step = q->step + 1, .param = p},
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

		if (!q->weight[p] || q->late[p])
			continue;
		c = step_call(q, p, lr, scale);
		q->c.optim->ops->fill(q->c.optim, &c, &q->steps[p]);
	}
	if (q->sparse_user != UINT32_MAX)
		q->steps[q->sparse_user] = q->steps[q->sparse_owner];
}

/* Step the parameters that backward has not stepped. */
static mr_status update(mr_sequential *q, double lr, double *norm)
{
	double count = q->c.n_micro, scale = 1 / count;

	*norm = NAN;
	sum_tied(q);
	MR_TRY(q->c.kernels->ctx_status(q->kc));
	if (q->c.clip > 0 || asks_norm(q))
		*norm = grad_norm(q) / count;
	if (q->c.clip > 0) {
		if (!isfinite(*norm) && q->c.skip_nonfinite)
			return MR_OK;
		if (!isfinite(*norm))
			return mr_fail(MR_EDIVERGED, "the gradient norm of step %llu is not finite",
				       (unsigned long long)(q->step + 1));
		scale = mr_clip_factor(*norm, q->c.clip) / count;
	}
	for (uint32_t p = 0; p < q->g->n_params; p++) {
		mr_optim_call c;

		if (!q->weight[p] || (q->inside && !q->late[p]))
			continue;
		c = step_call(q, p, lr, scale);
		MR_TRY(mr_optim_step(q->c.optim, &c, q->c.kernels, q->kc, q->g->params[p].n, q->grad[p]));
		beat(q);
	}
	return MR_OK;
}

/* Find the rows that occur in the present micro-batch. */
static void find_sparse(mr_sequential *q)
{
	const mr_param *p = &q->g->params[q->sparse_owner];
	uint16_t tokens = q->g->nodes[p->node].in[0];

	mr_sparse_rows_find(&q->sparse_rows, q->value[tokens].value, q->c.samples * q->g->values[tokens].shape.rows,
			    p->dim[0]);
}

/* Record @f, @b and @u nanoseconds of computing that end at @now, less the time that other programs had the core. */
static void book(mr_sequential *q, uint64_t now, uint64_t f, uint64_t b, uint64_t u)
{
	uint64_t all = f + b + u, lost;
	double kept;

	if (!mr_team_delay_due(&q->delay, now, all)) {
		kept = 1;
	} else {
		lost = mr_team_delay_look(&q->delay, now).most_ns;
		lost = lost < all ? lost : all;
		q->ns_lost += lost;
		kept = all ? 1 - (double)lost / (double)all : 1;
	}
	q->ns_f += (uint64_t)((double)f * kept);
	q->ns_b += (uint64_t)((double)b * kept);
	q->ns_u += (uint64_t)((double)u * kept);
}

/* Around what is counted as @op. */
static void count_begin(mr_sequential *q)
{
	if (q->counted)
		mr_counted_begin(q->counted);
}

static void count_end(mr_sequential *q, mr_op op, uint32_t n_micro)
{
	if (q->counted)
		mr_counted_end(q->counted, 0, op, n_micro);
}

/* Micro-batch @m of the current step, forward and backward; @ps decides what becomes of its gradients. */
static mr_status one_micro(mr_sequential *q, uint32_t m, pass *ps)
{
	uint64_t t0, t1, t2;

	ps->samples = q->c.samples;
	ps->micro = m;
	ps->first_sample = (q->step * q->c.n_micro + m) * (uint64_t)q->c.samples;
	ps->train = true;
	ps->loss = &q->loss[m];
	mr_fault_delay(0, q->step * q->c.n_micro + m);
	MR_TRY(load(q, ps));
	count_begin(q);
	t0 = mr_clock_ns();
	MR_TRY(forward(q, ps, q->g->n_nodes));
	t1 = mr_clock_ns();
	count_end(q, MR_OP_F, 1);
	if (!isfinite(q->loss[m]) && !q->c.skip_nonfinite)
		return mr_fail(MR_EDIVERGED, "the loss of micro-batch %llu is %s (weights of version %llu)",
			       (unsigned long long)(q->step * q->c.n_micro + m),
			       isnan(q->loss[m]) ? "not a number" : "infinite", (unsigned long long)q->step);
	if (q->sparse_owner != UINT32_MAX) {
		find_sparse(q);
		q->sparse_rows.whole = ps->sumsq ? q->grad[q->sparse_user] : NULL;
	}
	count_begin(q);
	MR_TRY(backward(q, ps));
	count_end(q, MR_OP_B, 1);
	t2 = mr_clock_ns();
	q->n_trained++;
	book(q, t2, t1 - t0, t2 - t1, 0);
	return MR_OK;
}

/* Sum all gradients in one group, in the order of c.sum. */
static mr_status sum_in_order(mr_sequential *q, double lr)
{
	for (uint32_t i = 0; i < q->c.n_micro; i++) {
		pass ps = {.add = i > 0, .grad = q->grad};

		if (q->inside && i + 1 == q->c.n_micro) {
			fill_steps(q, lr, 1 / (double)q->c.n_micro);
			ps.steps = q->steps;
			ps.sumsq = asks_norm(q) ? q->sumsq : NULL;
		}
		MR_TRY(one_micro(q, q->c.sum == MR_SUM_DESCENDING ? q->c.n_micro - 1 - i : i, &ps));
	}
	return MR_OK;
}

static const uint32_t *list_of(const mr_sum_lists *l, uint32_t part, uint32_t pipe, uint32_t *n)
{
	const uint32_t *begin = &l->begin[part * l->n_pipes + pipe];

	*n = begin[1] - begin[0];
	return l->micro + begin[0];
}

static bool same_lists(const mr_sum_lists *l, uint32_t a, uint32_t b)
{
	for (uint32_t p = 0; p < l->n_pipes; p++) {
		uint32_t n, m;
		const uint32_t *x = list_of(l, a, p, &n), *y = list_of(l, b, p, &m);

		if (n != m || memcmp(x, y, n * sizeof(*x)))
			return false;
	}
	return true;
}

/* Add the pipes' sums to the first one, for the nodes that are active. */
static void add_part(mr_sequential *q)
{
	for (uint32_t i = 0; i < q->g->n_nodes; i++)
		for (uint32_t p = q->g->nodes[i].first_param;
		     q->active[i] && p < q->g->nodes[i].first_param + q->g->nodes[i].n_params; p++)
			q->c.kernels->sum_gradients(q->kc, q->g->params[p].n, q->grad[p], q->part[p], q->grad[p]);
}

/* One pass over all micro-batches in the order of @part's sums, for all active nodes. */
static mr_status sum_pipes(mr_sequential *q, uint32_t part)
{
	const mr_sum_lists *l = q->c.lists;
	bool begun = false;

	for (uint32_t p = 0; p < l->n_pipes; p++) {
		uint32_t n;
		const uint32_t *micro = list_of(l, part, p, &n);

		for (uint32_t i = 0; i < n; i++) {
			pass ps = {.add = i > 0, .grad = begun ? q->part : q->grad, .active = q->active};

			MR_TRY(one_micro(q, micro[i], &ps));
		}
		if (begun && n)
			add_part(q);
		begun = begun || n;
	}
	return MR_OK;
}

/* Parts with the same lists as an earlier one are active in its pass. */
static mr_status sum_by_lists(mr_sequential *q)
{
	const mr_sum_lists *l = q->c.lists;

	for (uint32_t s = 0; s < l->n_parts; s++) {
		uint32_t before = 0;

		while (before < s && !same_lists(l, before, s))
			before++;
		if (before < s)
			continue;
		for (uint32_t k = 0; k < l->n_parts; k++)
			for (uint32_t i = l->first[k]; i < l->first[k + 1]; i++)
				q->active[i] = k >= s && same_lists(l, s, k);
		MR_TRY(sum_pipes(q, s));
	}
	return MR_OK;
}

/* All micro-batches of the step into the states, ascending in whatever order their gradients are summed. */
static void fold_states(mr_sequential *q)
{
	for (uint32_t i = 0; i < q->g->n_nodes; i++) {
		const mr_node *nd = &q->g->nodes[i];
		const void *seen[MR_LAYER_STATES];

		for (uint32_t m = 0; nd->n_states && m < q->c.n_micro; m++) {
			for (uint32_t j = 0; j < nd->n_states; j++)
				seen[j] = seen_at(q, nd->first_state + j, m);
			nd->ops->fold(&nd->cfg, nd->in_shape, q->c.samples, q->c.kernels->types.compute, seen,
				      q->layer_state + nd->first_state);
		}
	}
}

/* After the steps the gradients of all parameters are still there, each in a buffer of its own
 * (none is MR_GRAD_SHARED). */
static void measure(mr_sequential *q)
{
	for (uint32_t p = 0; p < q->g->n_params; p++)
		if (q->weight[p])
			q->largest = fmax(q->largest, sqrt(squares_of(q, p)) / q->c.n_micro);
}

static mr_status one_step(mr_sequential *q, mr_step_rec *rec)
{
	double sum = 0;
	uint64_t begin;

	*rec = (mr_step_rec){.step = q->step + 1, .lr = mr_lr_at(q->c.lr, q->step + 1), .norm = NAN, .stage_norm = NAN};
	MR_TRY(q->c.lists ? sum_by_lists(q) : sum_in_order(q, rec->lr));
	begin = mr_clock_ns();
	count_begin(q);
	fold_states(q);
	MR_TRY(update(q, rec->lr, &rec->norm));
	count_end(q, MR_OP_U, q->c.n_micro);
	if (q->c.measures)
		measure(q);
	for (uint32_t m = 0; m < q->c.n_micro; m++)
		sum += q->loss[m];
	rec->loss = sum / q->c.n_micro;
	mr_usdt_step(rec->step, rec->loss, rec->norm);
	rec->time_ns = mr_clock_ns();
	book(q, rec->time_ns, 0, 0, rec->time_ns - begin);
	q->step++;
	return MR_OK;
}

void mr_sequential_claim(mr_sequential *q)
{
	uint32_t is = MR_SEQUENTIAL_SILENT;

	while (!atomic_compare_exchange_strong(&q->reports, &is, MR_SEQUENTIAL_REPORTS)) {
		/* If the caller has given this thread up, the process is about to end: what it would tell is the
		 * caller's. */
		mr_clock_sleep(is == MR_SEQUENTIAL_ABANDONED ? 1000000000 : 20000);
		is = MR_SEQUENTIAL_SILENT;
	}
}

static bool report(mr_sequential *q, const mr_step_rec *rec)
{
	bool more;

	mr_sequential_claim(q);
	more = q->progress(q->arg, rec);
	beat(q);
	mr_sequential_release(q);
	return more;
}

/* Does the caller still want the evaluation? */
static bool is_wanted(mr_sequential *q)
{
	bool wanted = true;

	if (q->wanted) {
		mr_sequential_claim(q);
		wanted = q->wanted(q->arg);
		mr_sequential_release(q);
	}
	return wanted && !atomic_load_explicit(&q->pause, memory_order_relaxed);
}

mr_status mr_sequential_steps(mr_sequential *q)
{
	mr_status st = MR_OK;
	bool more = true;

	mr_team_delay_open(&q->delay, q->c.place->n_threads);
	q->delay_known = q->delay.n > 0;
	if (q->counted)
		mr_counted_open(q->counted, q->c.place->n_threads);
	while (q->step < q->until && more && st == MR_OK) {
		mr_step_rec rec;

		st = one_step(q, &rec);
		if (st == MR_OK && q->progress)
			more = report(q, &rec) && !atomic_load_explicit(&q->pause, memory_order_relaxed);
	}
	mr_team_delay_close(&q->delay);
	if (q->counted)
		mr_counted_close(q->counted);
	return st;
}

mr_status mr_sequential_evaluate(mr_sequential *q)
{
	uint64_t n = q->c.data->n_valid, samples = (uint64_t)q->c.samples;
	double sum = 0;

	for (uint64_t at = 0; at < n; at += samples) {
		double loss = 0;
		pass ps = {.first_sample = at, .loss = &loss, .judged = mr_judging_begin(&q->judging, at / samples)};

		if (!is_wanted(q))
			return mr_fail(MR_ESTOPPED, "the evaluation was stopped");
		ps.samples = at + samples <= n ? q->c.samples : (int64_t)(n - at);
		MR_TRY(load(q, &ps));
		MR_TRY(forward(q, &ps, q->g->n_nodes));
		if (!isfinite(loss))
			return mr_fail(MR_EDIVERGED, "the %s is not finite",
				       q->c.data->trains_only ? "loss" : "validation loss");
		sum += loss * (double)ps.samples;
	}
	q->eval_loss = sum / (double)n;
	return MR_OK;
}

mr_status mr_sequential_forward_one(mr_sequential *q)
{
	pass ps = {.samples = 1};

	memcpy(q->value[0].value, q->forward_in, mr_shape_bytes(q->g->input, q->c.kernels->types.activations));
	return forward(q, &ps, q->g->n_nodes - 1);
}
