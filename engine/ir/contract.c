#include "ir/contract.h"

#include "ir/contract_field.h"
#include "ir/frozen.h"
#include "ir/op.h"

static mr_status check_words(const mr_contract *c)
{
	for (unsigned i = 0; i < MR_N_FIELDS; i++) {
		const mr_contract_field *f = &mr_contract_fields[i];

		if (f->kind == MR_FIELD_WORD && mr_contract_get(c, f) >= f->n_words)
			return mr_fail(MR_ECONFIG, "contract: %s is %llu, and the values are 0 (%s) to %u (%s)", f->key,
				       (unsigned long long)mr_contract_get(c, f), f->words[0], f->n_words - 1,
				       f->words[f->n_words - 1]);
	}
	return MR_OK;
}

static mr_status check_header(const mr_plan *p)
{
	const mr_contract *c = &p->contract;

	MR_TRY(check_words(c));
	if ((unsigned)p->storage > MR_MODULO)
		return mr_fail(MR_ECONFIG, "storage rule %d: there are %d and %d", (int)p->storage, MR_STORED,
			       MR_MODULO);
	if (!p->n_micro || !c->need)
		return mr_fail(MR_ECONFIG, "an iteration of %u micro-batches with %u a commit: both must be at least 1",
			       p->n_micro, c->need);
	if (c->coverage == MR_COVER_FORWARD && (p->commits || c->clip))
		return mr_fail(MR_ECONFIG, "a forward-only plan commits nothing and clips nothing");
	if (c->coverage != MR_COVER_FORWARD &&
	    (p->n_micro % c->need || p->commits != mr_contract_after(c, p->n_micro / c->need)))
		return mr_fail(MR_ECONFIG,
			       "%u commits of %u micro-batches each do not make the %u micro-batches of an iteration",
			       p->commits, c->need, p->n_micro);
	return MR_OK;
}

/* Refuses a delay of 0 with delayed stages and the reverse, so that equal contracts have equal fields. */
static mr_status check_delay(const mr_plan *p)
{
	const mr_contract *c = &p->contract;

	if (c->delay > INT32_MAX)
		return mr_fail(MR_ECONFIG, "reads delayed by %u commits: at most %d", c->delay, INT32_MAX);
	if (!c->delay != !c->delayed || c->delayed > p->n_stages)
		return mr_fail(MR_ECONFIG,
			       "reads delayed by %u at the first %u stages: the plan has %u, and neither or both are 0",
			       c->delay, c->delayed, p->n_stages);
	if (c->delay && c->read_f != MR_READ_BATCH)
		return mr_fail(MR_ECONFIG, "only reads by batch can be delayed");
	return MR_OK;
}

/* Refuses values that the rule does not use, so that equal contracts have equal fields. */
static mr_status check_average_numbers(const mr_average *a)
{
	bool mean = a->rule == MR_AVERAGE_MEAN, elastic = a->rule == MR_AVERAGE_ELASTIC;

	if ((a->rule == MR_AVERAGE_NONE) != (a->every == 0))
		return mr_fail(MR_ECONFIG, "averages by rule %d every %u rounds: neither, or both", (int)a->rule,
			       a->every);
	if (elastic ? !(a->alpha > 0 && a->alpha <= 1) : a->alpha != 0)
		return mr_fail(MR_ECONFIG,
			       "the pull towards the reference must be above 0 and at most 1 for elastic averages, 0 "
			       "for others, got %g",
			       a->alpha);
	if (!(a->outer_lr >= 0 && a->outer_lr <= 1e6 && a->outer_mu >= 0 && a->outer_mu < 1) ||
	    (a->outer_lr == 0 && a->outer_mu != 0) || (!mean && (a->outer_lr != 0 || a->state)))
		return mr_fail(MR_ECONFIG,
			       "an outer step (rate %g, momentum %g) or averaged state needs the rule MEAN, a rate of "
			       "at least 0 and a momentum below 1",
			       a->outer_lr, a->outer_mu);
	return MR_OK;
}

static mr_status check_replicas(const mr_plan *p)
{
	const mr_contract *c = &p->contract;

	MR_TRY(check_average_numbers(&c->average));
	if (!mr_contract_replicates(c))
		return MR_OK;
	if (p->n_pipes < 2 || c->need % p->n_pipes)
		return mr_fail(
			MR_ECONFIG,
			"%u micro-batches a round cannot be shared evenly by %u replica%s; at least 2 are needed",
			c->need, p->n_pipes, p->n_pipes == 1 ? "" : "s");
	if (c->coverage != MR_COVER_TRAIN || c->flush != MR_FLUSH_LOCAL || c->tied || c->private_weights)
		return mr_fail(MR_ECONFIG, "replicas train with flush policy LOCAL, without clipping by the global "
					   "norm and without tied weights: nothing is reduced between stages or pipes");
	if (p->n_micro / c->need % c->average.every)
		return mr_fail(MR_ECONFIG,
			       "an iteration of %u rounds must end with an average, and these come every %u",
			       p->n_micro / c->need, c->average.every);
	return MR_OK;
}

/* Rules whose texts name the value. */
static mr_status check_numbers(const mr_plan *p)
{
	const mr_contract *c = &p->contract;

	if ((c->predict == MR_PREDICT_BACK) != (c->ema_decay_ppm > 0) || c->ema_decay_ppm >= 1000000)
		return mr_fail(MR_ECONFIG,
			       "aim=%d with memory=%u millionths: memory must be 1 to 999999 with aim=back, else 0",
			       (int)c->predict, c->ema_decay_ppm);
	if (c->coverage == MR_COVER_FORWARD)
		return MR_OK;
	if (c->flush == MR_FLUSH_NONE && p->n_pipes > 1 && !mr_plan_has_stage_replicas(p) && !c->whole_steps)
		return mr_fail(MR_ECONFIG,
			       "%u pipes without a flush: no list decides which version a foreign pipe reads",
			       p->n_pipes);
	return check_delay(p);
}

/* A racing worker has two sequences, whose instructions wait only for their own sequence and for neighbours. */
static mr_status check_racing(const mr_plan *p)
{
	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *once = mr_plan_list(p, w, MR_PROLOGUE), *body = mr_plan_list(p, w, MR_BODY);

		for (uint32_t i = 0; i < once->n; i++)
			if (once->at[i].op != MR_OP_F)
				return mr_fail(MR_ECONFIG,
					       "worker %u races from its first version on, so its prologue is F alone",
					       w);
		for (uint32_t i = 0; i < body->n; i++)
			if (body->at[i].op != MR_OP_F && body->at[i].op != MR_OP_B && body->at[i].op != MR_OP_U)
				return mr_fail(MR_ECONFIG, "worker %u: F and B race, and %s cannot", w,
					       mr_op_name((mr_op)body->at[i].op));
		if (!body->n || p->n_micro != p->contract.need)
			return mr_fail(MR_ECONFIG, "a racing plan repeats, with one commit an iteration");
	}
	return MR_OK;
}

/* What is left for joint gradients is kept until all of them are computed. */
static mr_status check_left(const mr_plan *p)
{
	for (size_t i = 0; i < (size_t)p->n_workers * MR_N_SECTIONS; i++) {
		bool left = false;

		for (uint32_t k = 0; k < p->lists[i].n; k++) {
			const mr_instr *in = &p->lists[i].at[k];

			if (in->op == MR_OP_B || in->op == MR_OP_R ||
			    (left && (in->op == MR_OP_F || in->op == MR_OP_I)))
				return mr_fail(MR_ECONFIG,
					       "worker %zu: %s of micro-batch %u: before joint gradients every W comes "
					       "behind all F and I, and there is no B or R",
					       i / MR_N_SECTIONS, mr_op_name((mr_op)in->op), in->micro);
			left = left || in->op == MR_OP_W;
		}
	}
	return MR_OK;
}

static mr_status check_ring(const mr_plan *p)
{
	for (size_t i = 0; i < (size_t)p->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < p->lists[i].n; k++) {
			const mr_instr *in = &p->lists[i].at[k];

			if (mr_op_is_compute(in->op) && in->micro % p->n_pipes != in->pipe)
				return mr_fail(MR_ECONFIG,
					       "worker %zu: micro-batch %u goes through pipe %u, and in a ring its "
					       "pipe is %u",
					       i / MR_N_SECTIONS, in->micro, in->pipe, in->micro % p->n_pipes);
		}
	return MR_OK;
}

/* Checks for stage @s what "Stage replicas" in plan.h requires. */
static mr_status check_stage_turns(const mr_plan *p, uint16_t s)
{
	uint8_t r = p->stage_replicas[s];

	if (!r || p->n_pipes % r)
		return mr_fail(MR_ECONFIG,
			       "%u workers take turns at stage %u: the %u pipes must be a multiple of them, and every "
			       "stage has replicas or none",
			       r, s, p->n_pipes);
	for (unsigned a = 0; a < p->n_pipes; a++)
		for (unsigned b = 0; b < a; b++)
			if ((mr_plan_worker(p, (uint8_t)a, s) == mr_plan_worker(p, (uint8_t)b, s)) != (a % r == b % r))
				return mr_fail(MR_ECONFIG,
					       "stage %u of pipes %u and %u: with %u workers that take turns, every "
					       "%uth pipe is one worker's",
					       s, b, a, r, r);
	return MR_OK;
}

static mr_status check_turns(const mr_plan *p)
{
	const mr_contract *c = &p->contract;

	for (uint16_t s = 0; s < p->n_stages; s++)
		MR_TRY(check_stage_turns(p, s));
	if (c->coverage != MR_COVER_TRAIN || c->flush != MR_FLUSH_NONE || c->read_f != MR_READ_LATEST ||
	    mr_contract_replicates(c) || c->slow_start || c->sync_steps)
		return mr_fail(MR_ECONFIG, "workers that take turns train without a flush, read the latest version, "
					   "and begin like any others");
	if (c->need % p->n_pipes)
		return mr_fail(MR_ECONFIG, "a step of %u micro-batches is no multiple of the replicas in %u pipes",
			       c->need, p->n_pipes);
	for (size_t i = 0; i < (size_t)p->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < p->lists[i].n; k++) {
			const mr_instr *in = &p->lists[i].at[k];

			if (in->op == MR_OP_I || in->op == MR_OP_W)
				return mr_fail(MR_ECONFIG,
					       "worker %zu: %s of micro-batch %u: workers that take turns go backward "
					       "in whole B",
					       i / MR_N_SECTIONS, mr_op_name((mr_op)in->op), in->micro);
			if (in->op <= MR_OP_B && in->micro % p->n_pipes != in->pipe)
				return mr_fail(MR_ECONFIG,
					       "worker %zu: micro-batch %u goes through pipe %u, and with stage "
					       "replicas its pipe is %u",
					       i / MR_N_SECTIONS, in->micro, in->pipe, in->micro % p->n_pipes);
		}
	return MR_OK;
}

static bool has_rooms(const mr_plan *p)
{
	for (uint16_t s = 0; s < p->n_stages; s++)
		if (p->rooms[s])
			return true;
	return false;
}

/* What goes with whole steps alone. */
static mr_status check_beside_whole_steps(const mr_plan *p)
{
	const mr_contract *c = &p->contract;

	if ((c->own_data || c->equal_rates) && !c->whole_steps)
		return mr_fail(MR_ECONFIG, "pipes have data and rates of their own where each makes whole steps");
	if (c->catches_up && !(c->delay && c->whole_steps))
		return mr_fail(MR_ECONFIG, "micro-batches catch up with a delay where pipes make whole steps");
	if (has_rooms(p) && !(c->ring && c->whole_steps))
		return mr_fail(MR_ECONFIG, "pipes keep activations in rooms by turns in a ring, with whole steps");
	return MR_OK;
}

/* Checks what "Whole steps" in plan.h requires. */
static mr_status check_whole_steps(const mr_plan *p)
{
	const mr_contract *c = &p->contract;

	if (c->coverage != MR_COVER_TRAIN || c->flush != MR_FLUSH_NONE || p->n_pipes < 2 ||
	    mr_plan_has_stage_replicas(p) || mr_contract_replicates(c) || c->predict != MR_PREDICT_NONE ||
	    c->sync_steps || c->racing)
		return mr_fail(MR_ECONFIG, "whole steps are for several pipes that train without a flush, in a fixed "
					   "order, on the weights that they read");
	if (!c->same_version_b || c->sum != MR_SUM_ASCENDING || (c->ring ? c->need % p->n_pipes : c->need != 1) ||
	    (c->ring && c->read_f != MR_READ_BATCH) || (c->read_f != MR_READ_LATEST && c->read_f != MR_READ_BATCH))
		return mr_fail(MR_ECONFIG, "whole steps commit each micro-batch, or in a ring rounds of all pipes, and "
					   "read the latest version or that of the batch, forward and backward");
	MR_TRY(check_beside_whole_steps(p));
	if (mr_plan_repeats(p) && (mr_plan_length(p, MR_PROLOGUE) || mr_plan_length(p, MR_EPILOGUE)))
		return mr_fail(MR_ECONFIG,
			       "with whole steps every iteration ends what it begins: the body is the whole plan");
	for (size_t i = 0; i < (size_t)p->n_workers * MR_N_SECTIONS; i++)
		for (uint32_t k = 0; k < p->lists[i].n; k++) {
			const mr_instr *in = &p->lists[i].at[k];

			if (mr_op_is_compute(in->op) && in->op != MR_OP_F && in->op != MR_OP_B)
				return mr_fail(MR_ECONFIG,
					       "worker %zu: %s of micro-batch %u: with whole steps there are F and B "
					       "alone",
					       i / MR_N_SECTIONS, mr_op_name((mr_op)in->op), in->micro);
			if (mr_op_is_compute(in->op) && in->micro >= p->n_micro)
				return mr_fail(MR_ECONFIG,
					       "worker %zu: micro-batch %u belongs to another iteration, and with "
					       "whole steps each ends what it begins",
					       i / MR_N_SECTIONS, in->micro);
		}
	return MR_OK;
}

static bool has_turns(const mr_plan *p)
{
	for (uint16_t s = 0; s < p->n_stages; s++)
		if (p->stage_replicas[s])
			return true;
	return false;
}

static mr_status check_sections(const mr_plan *p)
{
	uint64_t n[MR_N_SECTIONS];

	for (int s = 0; s < MR_N_SECTIONS; s++)
		n[s] = mr_plan_length(p, (mr_section)s);
	if (n[MR_EPILOGUE] && !n[MR_BODY])
		return mr_fail(MR_ECONFIG, "an epilogue without a body");
	if (p->contract.flush != MR_FLUSH_NONE && n[MR_BODY] && n[MR_PROLOGUE] + n[MR_EPILOGUE])
		return mr_fail(
			MR_ECONFIG,
			"a system that flushes is a body alone (or, finite, a prologue alone): nothing is in flight "
			"between its iterations");
	if (!n[MR_PROLOGUE] && !n[MR_BODY])
		return mr_fail(MR_ECONFIG, "the plan has no instructions");
	return MR_OK;
}

static bool any_frozen(const mr_plan *p)
{
	for (uint16_t s = 0; s < p->n_stages; s++)
		if (p->frozen[s])
			return true;
	return false;
}

/* What the fields of a contract require of each other: the first rule that is broken refuses it. */
static mr_status check_rules(const mr_plan *p)
{
	const mr_contract *c = &p->contract;
	bool flushes = c->flush != MR_FLUSH_NONE, barrier = c->flush == MR_FLUSH_BARRIER;
	bool validated = c->flush == MR_FLUSH_VALIDATED, trains = c->coverage == MR_COVER_TRAIN;
	bool back = c->coverage != MR_COVER_FORWARD, latest = c->read_f == MR_READ_LATEST, one = p->n_pipes == 1;
	bool steps = c->predict == MR_PREDICT_STEPS, ahead = c->predict == MR_PREDICT_AHEAD;
	bool from_state = c->predict != MR_PREDICT_NONE && !steps, ascending = c->sum == MR_SUM_ASCENDING;
	const struct {
		bool broken;
		const char *text;
	} rules[] = {
		{validated && (!c->clip || !trains),
		 "flush policy VALIDATED validates clipping: the plan must train and clip"},
		{validated && (!one || c->tied),
		 "a step that may be rolled back needs one pipe and no tied weights: other workers would read weights "
		 "that are rolled back"},
		{c->clip && !barrier && !validated,
		 "clipping by the global norm needs all gradients before any update: the system must flush with a "
		 "barrier; without one, clip per stage"},
		{c->private_weights && one, "private weights are for several pipes, and the plan has one"},
		{back && !flushes && c->tied,
		 "tied weights need a system that flushes: without a flush the first and the last stage would read the "
		 "shared parameter at different ages"},
		{back && flushes && (c->read_f != MR_READ_BATCH || c->delay || !c->same_version_b),
		 "a system that flushes reads the version of its batch, forward and backward"},
		{c->read_f == MR_READ_FIRST && !ahead,
		 "only weights predicted ahead are held for all micro-batches of a commit"},
		/* from two versions, which may be any, but all stages must step at every commit */
		{steps && (flushes || !trains || c->sync_steps || c->read_f == MR_READ_AGED),
		 "predictions by steps like the last are for plans that never flush and in which every stage steps at "
		 "every commit, from the start"},
		/* by the optimizer's state, which belongs to the latest version and to the stage's owner */
		{from_state && (flushes || (!latest && c->read_f != MR_READ_FIRST) || !one),
		 "predictions start from the latest version, in one pipe that never flushes"},
		{from_state && c->same_version_b && !(ahead && latest),
		 "only weights predicted ahead of the latest can be those of F and B alike"},
		{c->keep_read && flushes,
		 "keep_read is for stale gradients: a system that flushes applies them to what F read"},
		{c->sync_steps && (flushes || !latest || !trains || c->racing),
		 "a synchronous start is for plans that never flush and read the latest version, in a fixed order"},
		{c->slow_start && flushes, "a slow start is for stale gradients: a system that flushes has none"},
		{c->read_f == MR_READ_AGED && (mr_plan_repeats(p) || flushes || !c->same_version_b),
		 "aged reads are for finite lists that never flush and read the same version backward"},
		{c->coverage == MR_COVER_BLOCK && (c->need != 1 || !one || flushes),
		 "steps that update one stage take one micro-batch and one pipe, and never flush"},
		{c->steal && !(trains && barrier && ascending && one),
		 "W can be taken by other workers where one pipe trains, sums in ascending order and has a barrier "
		 "behind each iteration: only there an idle worker keeps no other waiting"},
		{c->joint_w && (!trains || (!barrier && c->flush != MR_FLUSH_LOCAL) || !ascending || one ||
				p->n_stages > 1 || c->private_weights || c->tied || c->steal ||
				mr_contract_replicates(c) || p->n_micro != c->need),
		 "the gradients of all pipes are computed jointly where several pipes of one stage each share their "
		 "weights, flush and sum in ascending order"},
		{c->joint_w && c->clip,
		 "gradients: those that are computed jointly go into the step without being written, so they cannot be "
		 "clipped: leave train.clip out, or let each replica sum its own"},
		{c->release_sums && (!trains || (!barrier && c->flush != MR_FLUSH_LOCAL) || one || c->clip || c->tied ||
				     c->joint_w || mr_contract_replicates(c) || p->n_micro != c->need),
		 "sums are released stage by stage where several pipes share their weights and flush, nothing is "
		 "clipped and no stages share a parameter"},
		{c->weight_groups > 1 && (!c->weight_rooms || p->n_pipes % c->weight_groups ||
					  p->n_pipes / c->weight_groups < 2),
		 "weights are sharded in groups of as many pipes each, at least two"},
		{c->weight_rooms == 1 || (c->weight_rooms && (!c->release_sums || c->private_weights || any_frozen(p))),
		 "weights are sharded where sums are released, in at least two rooms, one copy of the weights, and "
		 "every stage trains"},
		{c->ring && !(trains && (barrier || c->flush == MR_FLUSH_LOCAL || c->whole_steps) && !one &&
			      !mr_contract_replicates(c)),
		 "a ring is of several pipes that read the same weights and flush, or make whole steps"},
		{c->racing && !(trains && !flushes && latest && !c->same_version_b &&
				c->predict != MR_PREDICT_BACK && ascending && one && p->n_stages == p->n_workers),
		 "a racing plan has one stage a worker, one pipe and no flush, reads the latest version forward and "
		 "backward and sums in ascending order"},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].broken)
			return mr_fail(MR_ECONFIG, "%s", rules[i].text);
	return MR_OK;
}

mr_status mr_contract_check(const mr_plan *plan)
{
	MR_TRY(check_header(plan));
	MR_TRY(check_numbers(plan));
	MR_TRY(check_replicas(plan));
	MR_TRY(check_sections(plan));
	MR_TRY(check_rules(plan));
	MR_TRY(mr_frozen_check(plan));
	if (plan->contract.joint_w)
		MR_TRY(check_left(plan));
	if (plan->contract.racing)
		MR_TRY(check_racing(plan));
	if (plan->contract.ring)
		MR_TRY(check_ring(plan));
	MR_TRY(plan->contract.whole_steps ? check_whole_steps(plan) : check_beside_whole_steps(plan));
	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++)
			if (mr_plan_worker(plan, (uint8_t)p, s) == MR_WORKER_ANY)
				return mr_fail(MR_ECONFIG,
					       "stage %u of pipe %u is placed on any worker: only W can be taken by "
					       "whichever is free "
					       "(steal in the contract); what F, B and I hand over and keep lies with "
					       "one worker",
					       s, p);
			else if (mr_plan_worker(plan, (uint8_t)p, s) >= plan->n_workers)
				return mr_fail(MR_ECONFIG, "stage %u of pipe %u has no worker among 0..%u", s, p,
					       plan->n_workers - 1);
	return has_turns(plan) ? check_turns(plan) : MR_OK;
}
