#include "sequential/sequential.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "exec/watchdog.h"
#include "host/backtrace.h"
#include "host/group.h"
#include "sequential/sequential_layout.h"
#include "sequential/sequential_internal.h"
#include "sequential/sequential_size.h"

#define POLL_NS 100000000u /* between looks at the thread that trains */

/* --- memory --- */

static void *take(mr_arena *a, size_t bytes)
{
	return mr_arena_take(a, bytes ? bytes : 1, MR_CACHE_LINE);
}

static size_t param_bytes(const mr_sequential *q, uint32_t p, mr_dtype type)
{
	return (size_t)q->g->params[p].n * mr_dtype_bytes(type);
}

static void layout_grads(mr_sequential *q, mr_arena *a)
{
	uint64_t shared = mr_sequential_shared_grads(&q->c);
	char *first = shared ? take(a, shared) : NULL;

	for (uint32_t i = 0; i < q->g->n_nodes; i++) {
		const mr_node *nd = &q->g->nodes[i];
		size_t at = 0;

		for (uint32_t p = nd->first_param; p < nd->first_param + nd->n_params; p++) {
			mr_grad_home home = mr_sequential_grad_home(&q->c, p);

			q->late[p] = mr_sequential_steps_late(&q->c, p);
			if (home == MR_GRAD_OWN)
				q->grad[p] = take(a, mr_sequential_grad_bytes(&q->c, p));
			if (q->c.lists && q->c.lists->n_pipes > 1)
				q->part[p] = take(a, param_bytes(q, p, q->c.kernels->types.gradients));
			if (home != MR_GRAD_SHARED)
				continue;
			q->grad[p] = first ? first + at : NULL;
			at += mr_align_up(mr_sequential_grad_bytes(&q->c, p), MR_CACHE_LINE);
		}
	}
	mr_sequential_layout_sparse(&q->c, &q->sparse_rows, a);
}

/* @offset in @passing, which is NULL where sizes are counted; or @own; or nothing. */
static void *passes(char *passing, size_t offset, void *own)
{
	if (offset == MR_SEQUENTIAL_OWN)
		return own;
	if (offset == MR_SEQUENTIAL_NOWHERE)
		return NULL;
	return passing ? passing + offset : NULL;
}

static void layout_values(mr_sequential *q, const mr_sequential_layout *l, mr_arena *a)
{
	const mr_graph *g = q->g;
	char *passing = take(a, l->passing.bytes);
	void *logits;

	for (uint32_t v = 1; v < g->n_values; v++)
		q->value[v].value = l->value[v] == MR_SEQUENTIAL_OWN ? take(a, mr_sequential_value_bytes(q, v))
								     : passes(passing, l->value[v], NULL);
	logits = q->value[mr_sequential_ends_in(g)].value;
	for (uint32_t v = 0; v < g->n_values; v++)
		q->value[v].grad = passes(passing, l->grad[v], logits);
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const mr_node *nd = &g->nodes[i];
		mr_layer_needs z = {0};

		nd->ops->needs(&nd->cfg, nd->in_shape, q->c.samples, q->c.kernels, &z);
		q->node[i].symbols = mr_layer_symbols_of(nd, q->c.samples, &z);
		q->node[i].aux_i = take(a, z.aux_i.bytes);
		q->node[i].aux_w = take(a, z.aux_w.bytes);
		q->node[i].act_aux =
			z.aux_i.bytes || nd->out == MR_GRAPH_NO_VALUE ? q->node[i].aux_i : q->value[nd->out].value;
		q->node[i].kept = passes(passing, l->kept[i], logits);
	}
	q->scratch = take(a, l->scratch);
}

/* Everything but tables of pointers; an arena without memory counts it. */
static void layout(mr_sequential *q, const mr_sequential_layout *l, mr_arena *a)
{
	const mr_graph *g = q->g;

	layout_values(q, l, a);
	layout_grads(q, a);
	for (uint32_t p = 0; p < g->n_params; p++) {
		if (g->params[p].tied_to >= 0)
			continue;
		q->weight[p] = take(a, mr_stagger(param_bytes(q, p, q->c.kernels->types.weights)));
		if (mr_types_rest_bytes(&q->c.kernels->types))
			q->rest[p] = take(a, mr_stagger((size_t)g->params[p].n * sizeof(*q->rest[p])));
		for (uint32_t i = 0; i < q->c.optim->ops->n_states; i++)
			q->state[i][p] = take(a, mr_stagger(param_bytes(q, p, q->c.kernels->types.state)));
	}
	for (uint32_t i = 0; i < g->n_states; i++) {
		q->layer_state[i] = take(a, mr_sequential_layer_state_bytes(&q->c, i));
		q->seen[i] = take(a, q->c.n_micro * mr_sequential_layer_state_bytes(&q->c, i));
	}
	if (q->carried.bytes)
		mr_carried_layout(&q->carried, a);
	if (!mr_optim_elementwise(q->c.optim))
		q->work = take(a, mr_sequential_work_bytes(&q->c));
	mr_sequential_loader_layout(&q->loader, a);
	q->value[0].value = q->loader.input[0];
	q->target = q->loader.target[0];
}

/* The nodes for @bytes: those of its threads, or all if these have no room. */
static mr_status choose_nodes(mr_sequential *q, uint64_t bytes)
{
	const mr_place *machine = q->c.machine;
	uint64_t *claimed;

	q->nodes = q->c.place->memory;
	if (!machine)
		return MR_OK;
	claimed = calloc(machine->n_memories + 1u, sizeof(*claimed));
	if (!claimed)
		return mr_fail(MR_ERESOURCE, "no memory to choose nodes");
	q->nodes = mr_place_claim(machine, q->c.place, bytes, claimed, &q->elsewhere);
	free(claimed);
	return MR_OK;
}

static mr_status map_layout(mr_sequential *q, const mr_sequential_layout *l)
{
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	layout(q, l, &a);
	MR_TRY(choose_nodes(q, mr_region_round(a.used)));
	MR_TRY(mr_region_map(&q->region, mr_align_up(a.used, MR_CACHE_LINE),
			     q->c.place->bindable ? &q->nodes : NULL));
	mr_arena_init(&a, q->region.base, q->region.bytes);
	layout(q, l, &a);
	return MR_OK;
}

static mr_status allocate_tables(mr_sequential *q)
{
	const mr_graph *g = q->g;

	q->value = calloc(g->n_values, sizeof(*q->value));
	q->node = calloc(g->n_nodes, sizeof(*q->node));
	q->weight = calloc(g->n_params + 1, sizeof(void *));
	q->rest = calloc(g->n_params + 1, sizeof(*q->rest));
	q->grad = calloc(g->n_params + 1, sizeof(void *));
	q->steps = calloc(g->n_params + 1, sizeof(mr_step));
	q->sumsq = calloc(g->n_params + 1, sizeof(*q->sumsq));
	for (int i = 0; i < MR_OPTIM_STATES; i++)
		q->state[i] = calloc(g->n_params + 1, sizeof(void *));
	q->layer_state = calloc(g->n_states + 1, sizeof(void *));
	q->seen = calloc(g->n_states + 1, sizeof(*q->seen));
	q->part = calloc(g->n_params + 1, sizeof(void *));
	q->late = calloc(g->n_params + 1, sizeof(bool));
	q->active = calloc(g->n_nodes, sizeof(bool));
	q->has_grad = calloc(g->n_values, sizeof(bool));
	q->loss = calloc(q->c.n_micro, sizeof(double));
	if (!q->value || !q->node || !q->weight || !q->rest || !q->grad || !q->part || !q->late || !q->active ||
	    !q->layer_state || !q->seen || !q->steps || !q->sumsq || !q->state[0] || !q->state[1] || !q->has_grad ||
	    !q->loss)
		return mr_fail(MR_ERESOURCE, "no memory for a model of %u layers", g->n_nodes);
	return MR_OK;
}

/* Give each value that a layer carries its place in an entry. */
static void place_carried(mr_sequential *q)
{
	uint64_t columns = q->c.data->columns;
	size_t at = 0;

	q->carried = mr_sequential_carries(&q->c);
	for (uint32_t i = 0; i < q->g->n_nodes; i++) {
		size_t bytes[MR_LAYER_CARRIED];

		q->node[i].n_carried = mr_sequential_carried_bytes(&q->c, i, bytes);
		for (uint32_t j = 0; j < q->node[i].n_carried; at += bytes[j++])
			q->node[i].carried_at[j] = at;
	}
	q->carried.n_windows = columns ? q->c.data->n_train / columns : 1;
}

static mr_status allocate(mr_sequential *q)
{
	mr_sequential_layout l;
	mr_status st;

	place_carried(q);
	st = mr_sequential_layout_make(&q->c, &l);
	if (st == MR_OK)
		st = map_layout(q, &l);
	mr_sequential_layout_fini(&l);
	return st;
}

/* Runs on the group's leader, so that the pages become local to it. */
static void init_weights(mr_sequential *q)
{
	mr_region_prefault(&q->region, 0, q->region.bytes);
	mr_region_settle(&q->region);
	for (uint32_t p = 0; p < q->g->n_params; p++)
		if (q->weight[p])
			mr_graph_init_param(q->g, p, q->c.seed, q->c.kernels->types.weights, q->weight[p], q->rest[p]);
	for (uint32_t i = 0; i < q->g->n_states; i++)
		mr_graph_init_state(q->g, i, q->c.kernels->types.compute, q->layer_state[i]);
	if (q->carried.bytes) {
		mr_carried_init(&q->carried);
		mr_carried_stand(&q->carried, 0, true);
	}
}

const mr_sequential_config *mr_sequential_config_of(const mr_sequential *q)
{
	return &q->c;
}

void *mr_sequential_weights(mr_sequential *q, uint32_t p)
{
	return q->g->params[p].tied_to >= 0 ? q->weight[q->g->params[p].tied_to] : q->weight[p];
}

int16_t *mr_sequential_rest(mr_sequential *q, uint32_t p)
{
	return q->rest[p];
}

void *mr_sequential_state(mr_sequential *q, uint32_t p, uint32_t i)
{
	return q->state[i][p];
}

void mr_sequential_carried(mr_sequential *q, uint32_t node, uint32_t place, uint8_t *at[MR_LAYER_CARRIED])
{
	for (uint32_t i = 0; i < q->node[node].n_carried; i++)
		at[i] = mr_carried_next(&q->carried, q->step, place) + q->node[node].carried_at[i];
}

void *mr_sequential_layer_state(mr_sequential *q, uint32_t i)
{
	return q->layer_state[i];
}

double mr_sequential_largest_gradient(const mr_sequential *q)
{
	return q->largest;
}

const double *mr_sequential_losses(const mr_sequential *q)
{
	return q->loss;
}

static mr_status set_up(mr_sequential *q)
{
	init_weights(q);
	return q->c.kernels->ctx_create(q->c.kernels, q->c.place->n_threads, &q->kc);
}

static mr_status tear_down(mr_sequential *q)
{
	q->c.kernels->ctx_destroy(q->kc);
	q->kc = NULL;
	return MR_OK;
}

/* --- the thread: a group set up like a leader carries out one job at a time --- */

static void thread(void *arg)
{
	mr_sequential *q = arg;

	q->status = q->job(q);
	if (q->status != MR_OK)
		memcpy(q->text, mr_error_text(), sizeof(q->text) - 1);
}

/* Ask the caller whether to go on, if no report is under way. */
static void ask(mr_sequential *q)
{
	uint32_t is = MR_SEQUENTIAL_SILENT;
	bool more = true;

	if (!atomic_compare_exchange_strong(&q->reports, &is, MR_SEQUENTIAL_REPORTS))
		return;
	if (q->job == mr_sequential_steps && q->progress)
		more = q->progress(q->arg, NULL);
	else if (q->job == mr_sequential_evaluate && q->wanted)
		more = q->wanted(q->arg);
	if (!more)
		atomic_store_explicit(&q->pause, true, memory_order_relaxed);
	mr_sequential_release(q);
}

/* If the thread @g has made no progress for too long, it is abandoned: MR_ESTALLED. */
static mr_status watch(mr_sequential *q, mr_group *g)
{
	uint32_t idle = 0;

	mr_stall_go_on(&q->stall);
	while (!mr_group_wait(g, POLL_NS)) {
		ask(q);
		if (atomic_load_explicit(&q->reports, memory_order_relaxed))
			mr_stall_go_on(&q->stall);
		if (!mr_stall_look(&q->stall, atomic_load_explicit(&q->beat, memory_order_relaxed), 0))
			continue;
		if (!atomic_compare_exchange_strong(&q->reports, &idle, MR_SEQUENTIAL_ABANDONED)) {
			idle = 0; /* it has come back this moment, and reports */
			continue;
		}
		q->stalled = true;
		mr_watchdog_show("mr-w0");
		return mr_fail(MR_ESTALLED, "no layer has been computed for %.1f seconds, behind step %llu: w0 stands",
			       (double)q->stall.idle_ns / 1e9, (unsigned long long)q->step);
	}
	return MR_OK;
}

static mr_status on_group(mr_sequential *q, mr_status (*fn)(mr_sequential *))
{
	mr_group *g;

	q->job = fn;
	atomic_store_explicit(&q->pause, false, memory_order_relaxed);
	MR_TRY(mr_group_start(q->c.place, "mr-w0", thread, q, &g));
	if (fn == set_up) /* the jobs after it get the same cores */
		mr_group_warn(g);
	if (fn != set_up && fn != tear_down)
		MR_TRY(watch(q, g));
	mr_group_join(g);
	return q->status == MR_OK ? MR_OK : mr_fail(q->status, "%s", q->text);
}

/* The same, with loaders for the training micro-batches, or those of an evaluation, from @first to @end - 1. */
static mr_status on_group_with_data(mr_sequential *q, mr_status (*fn)(mr_sequential *), uint64_t first, uint64_t end)
{
	mr_status st;

	MR_TRY(mr_sequential_loader_begin(&q->loader, fn == mr_sequential_steps, first, end));
	st = on_group(q, fn);
	if (!q->stalled)
		mr_sequential_loader_end(&q->loader);
	return st;
}

static mr_status init_judging(mr_sequential *q)
{
	uint64_t n = q->c.data->n_valid, samples = (uint64_t)q->c.samples, rows = (uint64_t)q->c.data->target.rows;

	return mr_judging_init(&q->judging, mr_graph_judged_classes(q->g), (n + samples - 1) / samples, samples * rows,
			       n * rows);
}

mr_status mr_sequential_create(const mr_sequential_config *c, mr_sequential **out)
{
	mr_sequential *q = calloc(1, sizeof(*q));
	mr_status st;

	if (!q)
		return mr_fail(MR_ERESOURCE, "no memory for sequential training");
	q->c = *c;
	q->g = c->graph;
	mr_stall_init(&q->stall, c->watchdog_s);
	mr_backtrace_arm();
	q->inside = mr_sequential_steps_inside(c);
	q->sparse_owner = mr_sequential_sparse_param(c);
	q->sparse_user = q->sparse_owner == UINT32_MAX ? UINT32_MAX : mr_sequential_tied_user(q->g, q->sparse_owner);
	st = allocate_tables(q);
	if (st == MR_OK)
		st = mr_sequential_loader_init(&q->loader, &q->c);
	if (st == MR_OK)
		st = init_judging(q);
	if (st == MR_OK && c->counts)
		st = mr_counted_create(1, &q->counted);
	if (st == MR_OK)
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
	if (!q || q->stalled) /* the hanging thread still uses the memory; the process is about to end */
		return;
	if (q->kc && on_group(q, tear_down) != MR_OK)
		q->kc = NULL; /* no thread to free it on: the process is ending */
	for (int i = 0; i < MR_OPTIM_STATES; i++)
		free(q->state[i]);
	mr_region_unmap(&q->region);
	free(q->value);
	free(q->node);
	free(q->weight);
	free(q->rest);
	free(q->grad);
	free(q->layer_state);
	free(q->seen);
	free(q->part);
	free(q->late);
	free(q->active);
	free(q->steps);
	free(q->sumsq);
	free(q->has_grad);
	free(q->loss);
	mr_counted_destroy(q->counted);
	mr_judging_fini(&q->judging);
	mr_sequential_loader_fini(&q->loader);
	free(q);
}

mr_status mr_sequential_run(mr_sequential *q, uint64_t until, mr_engine_progress *progress, void *arg,
			    uint64_t *reached)
{
	uint64_t columns = q->c.data->columns, samples = q->c.n_micro * (uint64_t)q->c.samples;
	mr_status st;

	if (q->carried.bytes && columns != samples)
		return mr_fail(MR_ECONFIG, "the model carries a state in %llu columns, and a step has %llu samples",
			       (unsigned long long)columns, (unsigned long long)samples);
	q->until = until;
	q->progress = progress;
	q->arg = arg;
	st = on_group_with_data(q, mr_sequential_steps, q->step * q->c.n_micro,
				until < UINT64_MAX / q->c.n_micro ? until * q->c.n_micro : UINT64_MAX);
	*reached = q->step;
	return st;
}

mr_status mr_sequential_eval(mr_sequential *q, mr_eval_wanted *wanted, void *arg, double *loss)
{
	uint64_t samples = (uint64_t)q->c.samples;

	if (q->c.data->n_valid == 0)
		return mr_fail(MR_EDATA, "the data has no validation part");
	q->wanted = wanted;
	q->arg = arg;
	MR_TRY(on_group_with_data(q, mr_sequential_evaluate, 0, (q->c.data->n_valid + samples - 1) / samples));
	*loss = q->eval_loss;
	return MR_OK;
}

mr_scores mr_sequential_scores(mr_sequential *q)
{
	return mr_judging_end(&q->judging);
}

size_t mr_sequential_out_bytes(const mr_sequential *q)
{
	uint32_t logits = q->g->nodes[q->g->n_nodes - 1].in[0];

	return mr_shape_bytes(q->g->values[logits].shape, q->c.kernels->types.activations);
}

mr_status mr_sequential_forward(mr_sequential *q, const void *input, void *out)
{
	q->forward_in = input;
	MR_TRY(on_group(q, mr_sequential_forward_one));
	memcpy(out, q->value[q->g->nodes[q->g->n_nodes - 1].in[0]].value, mr_sequential_out_bytes(q));
	return MR_OK;
}

void mr_sequential_resume_at(mr_sequential *q, uint64_t step)
{
	q->step = step;
	if (q->carried.bytes)
		mr_carried_stand(&q->carried, step, true);
}

void mr_sequential_busy(const mr_sequential *q, uint64_t *f, uint64_t *b, uint64_t *u)
{
	*f = q->ns_f;
	*b = q->ns_b;
	*u = q->ns_u;
}

uint64_t mr_sequential_trained(const mr_sequential *q)
{
	return q->n_trained;
}

uint64_t mr_sequential_beat(const mr_sequential *q)
{
	return atomic_load_explicit(&q->beat, memory_order_relaxed);
}

const mr_counted *mr_sequential_counted(const mr_sequential *q)
{
	return q->counted;
}

uint64_t mr_sequential_data_ns(const mr_sequential *q)
{
	return q->ns_data;
}

bool mr_sequential_lost(const mr_sequential *q, uint64_t *ns)
{
	*ns = q->ns_lost;
	return q->delay_known;
}

const mr_region *mr_sequential_region(const mr_sequential *q)
{
	return &q->region;
}

const mr_node_list *mr_sequential_nodes(const mr_sequential *q)
{
	return &q->nodes;
}

uint64_t mr_sequential_bytes(const mr_sequential *q)
{
	return q->region.asked_bytes + (q->kc ? q->c.kernels->ctx_bytes(q->kc) : 0);
}
