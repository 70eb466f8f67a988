/* replicas.c - replicas whose weights diverge (weights/replicas.h): AVG, and which of them are read. */
#include "exec/exec_internal.h"

#include <math.h>

#include "exec/state.h"
#include "weights/layer_states.h"
#include "weights/replica_links.h"

static mr_status average(mr_worker *w, const mr_task *t)
{
	mr_replicas *g = &w->run->replicas[t->in->stage];

	MR_TRY(mr_replicas_average(g, t->in->pipe, t->version, w->kc));
	mr_replica_links_send_down(g, t->in->pipe, t->version);
	if (!mr_weights_last_of(&g->n_done, g->n_here))
		return MR_OK;
	if (g->first->layer_states)
		mr_layer_states_average(g, t->in->pipe, t->version);
	for (uint32_t r = 0; r < g->n; r++) {
		if (!mr_replicas_block(g, r)->n_here)
			continue;
		mr_weights_committed(mr_replicas_block(g, r));
		mr_counter_raise(&mr_replicas_block(g, r)->published, w->id, (uint32_t)t->version);
	}
	return MR_OK;
}

/* F: an average writes the weights of all replicas. AVG: all replicas have stepped. */
static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_stage_weights *b = mr_run_weights(run, t->in->pipe, t->in->stage);
	mr_replicas *g = &run->replicas[t->in->stage];
	bool has = true;

	if (t->in->op == MR_OP_F)
		has = mr_replica_links_have_down(g, t->in->pipe, t->version) &&
		      mr_counter_reached(&b->published, w->id, (uint32_t)t->version);
	else if (t->in->op == MR_OP_AVG)
		has = mr_replica_links_have_up(g, t->in->pipe, t->version - 1) &&
		      mr_replicas_made(g, w->id, t->version - 1);
	return has ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
}

static mr_status send_up(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	mr_replica_links_send_up(&w->run->replicas[t->in->stage], t->in->pipe, b->latest + 1);
	return MR_OK;
}

/* Wait for what averages have made of the latest version. */
static mr_status settle(mr_worker *w)
{
	mr_run *run = w->run;

	for (uint16_t s = 0; s < run->n_stages; s++)
		for (uint32_t r = 0; r < run->replicas[s].n; r++) {
			const mr_stage_weights *b = mr_replicas_block(&run->replicas[s], r);

			if (mr_plan_worker(run->c.plan, (uint8_t)r, s) != w->id)
				continue;
			while (!mr_replica_links_have_down(&run->replicas[s], r, b->latest))
				MR_TRY(mr_waiter_step(&w->waiter));
			mr_waiter_done(&w->waiter);
		}
	return MR_OK;
}

static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	(void)slot;
	if (!t->links->train)
		io->weights = mr_replicas_model(&w->run->replicas[t->in->stage],
						w->run->replicas[t->in->stage].first_here);
	return MR_OK;
}

/*
 * The last of the replicas that make the step writes its record. Timing decides which one that is, so the norm is that
 * of the first one: another is ahead of it by less than x->n steps. A process without the first one has none.
 */
static bool completes(mr_run *run, const mr_stage_weights *b, uint64_t step, double *norm)
{
	mr_replicas *g = &run->replicas[run->n_stages - 1];
	mr_run_norms *x = run->norms;

	if (x && b == mr_replicas_block(g, 0))
		x->at[step % x->n] = *norm;
	if (!mr_replicas_ready(g, step))
		return false;
	if (x)
		*norm = g->first_here ? NAN : x->at[step % x->n];
	return true;
}

/* --- the feature --- */

static mr_status create(mr_run *run)
{
	run->n_losses = run->c.plan->n_micro; /* replicas may be apart by as many steps as lie between averages */
	return mr_replicas_create(run->c.plan, run->c.optim, run->weights, &run->replicas);
}

static mr_status choose(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++) {
		mr_replicas *g = &run->replicas[s];
		uint16_t worker[MR_REPLICAS_MOST];

		g->n_here = g->first_here = 0;
		for (uint32_t r = g->n; r-- > 0;) {
			bool here = mr_replicas_block(g, r)->n_here;

			worker[r] = mr_plan_worker(run->c.plan, (uint8_t)r, s);
			g->n_here += here;
			g->first_here = here ? r : g->first_here;
		}
		MR_TRY(mr_replica_links_choose(g, s, worker, run->c.links));
		if (g->links) {
			run->remote = true;
			run->facts |= MR_SETTLES;
		}
	}
	return MR_OK;
}

static mr_status open_links(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		MR_TRY(mr_replica_links_open(&run->replicas[s]));
	return MR_OK;
}

static void destroy(mr_run *run)
{
	mr_replicas_destroy(run->replicas, run->n_stages);
}

static void layout(mr_run *run, uint16_t s, mr_arena *a)
{
	mr_replicas_layout(&run->replicas[s], a);
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	if (pipe == 0)
		out->stashes += mr_replicas_bytes(&run->replicas[s]);
}

static void init(mr_run *run, uint8_t pipe, uint16_t s)
{
	if (pipe == run->replicas[s].first_here)
		mr_replicas_init(&run->replicas[s]);
}

static void count_buffers(const mr_run *run, uint8_t pipe, uint16_t s, uint32_t *planned, uint32_t *used)
{
	uint32_t n = pipe ? 0 : mr_average_copies(&run->c.plan->contract.average);

	(void)s;
	*planned += n;
	*used += n;
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	mr_replicas *g = &run->replicas[s];
	mr_parker *parker[MR_REPLICAS_MOST];

	mr_replicas_reset(g);
	for (uint32_t r = 0; r < g->n; r++)
		parker[r] = run->parkers[mr_plan_worker(run->c.plan, (uint8_t)r, s)];
	if (b == mr_replicas_block(g, g->n - 1))
		mr_replica_links_reset(g, b->latest, parker);
}

static void spread(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		mr_replicas_spread(&run->replicas[s]);
}

/* The model that is evaluated; of each replica its states, and its weights where they differ at a pause; and the shared
 * memory. */
static mr_status save_param(const mr_run *run, uint16_t s, uint32_t p, mr_state *out)
{
	const mr_param *param = &run->c.graph->params[p];
	size_t at = mr_stage_weight_at(run->stage[s], p), state_at = mr_stage_state_at(run->stage[s], p);
	int16_t *rest = mr_replicas_rest(&run->replicas[s], 0);
	const mr_replicas *g = &run->replicas[s];
	mr_saved_tensor t = mr_state_param(param, run->c.kernels->types.weights, NULL);
	mr_saved_tensor of_state = mr_state_param(param, run->c.kernels->types.state, NULL);
	const char *name = param->name;
	char of[128];

	t.data = (char *)mr_replicas_model(g, 0) + at;
	MR_TRY(mr_state_add(&out->model, &t, "%s", name));
	if (rest) {
		t = mr_state_rest(param, rest + at / sizeof(*rest));
		MR_TRY(mr_state_add(&out->optimizer, &t, "%s.rest", name));
		t = mr_state_param(param, run->c.kernels->types.weights, NULL);
	}
	for (uint32_t r = 0; r < g->n; r++) {
		const mr_stage_weights *b = mr_replicas_block(g, r);

		snprintf(of, sizeof(of), "r%u.%s", r, name);
		MR_TRY(mr_state_optimizer(b, p, of, out));
		MR_TRY(mr_state_factors(b, p, of, out));
		t.data = (char *)mr_weights_at(b, 0, b->latest) + at;
		if (g->mean)
			MR_TRY(mr_state_add(&out->inflight, &t, "r%u.%s", r, name));
		t = mr_state_rest(param, mr_weights_rest(b, at));
		if (g->mean && t.data)
			MR_TRY(mr_state_add(&out->inflight, &t, "r%u.%s.rest", r, name));
		t = mr_state_param(param, run->c.kernels->types.weights, NULL);
	}
	if (g->velocity) {
		of_state.data = g->velocity + state_at;
		MR_TRY(mr_state_add(&out->optimizer, &of_state, "%s.velocity", name));
	}
	if (!g->mean)
		return MR_OK;
	of_state.data = g->mean + state_at;
	return mr_state_add(&out->inflight, &of_state, "mean.%s", name);
}

const mr_feature mr_feature_replicas = {
	.facts = MR_OVERWRITES,
	.instead = {.carry_out = {[MR_OP_AVG] = average}, .completes = completes, .save_param = save_param},
	.create = create,
	.choose = choose,
	.open_links = open_links,
	.destroy = destroy,
	.layout = layout,
	.memory = memory,
	.init = init,
	.reset_stage = reset_stage,
	.spread = spread,
	.count_buffers = count_buffers,
	.settle = settle,
	.ready = ready,
	.stepped = send_up,
	.pass = pass,
};
