/* run_warm_up.c - the passes on zeros before the first step (mr_run_warm_up). */
#include "exec/run_plan.h"
#include "ir/stage_ops.h"

/*
 * Carries out the backward of the first, a middle and the last micro-batch of a sum, as far as the plan has them: they
 * differ in adding and in stepping. The step has rate 0, gradients times 0 and no decay, which may be a part of the
 * gradient, so weights and state do not change.
 */
static mr_status warm_up_backward(mr_run *run, uint8_t pipe, uint16_t s, mr_stage_io *io)
{
	uint32_t need = mr_plan_sum(run->c.plan, s), passes = need < 3 ? need : 3;
	mr_stage_weights *b = mr_run_weights(run, pipe, s);
	double decay = b->optim.weight_decay;
	const mr_step *step = NULL;
	bool split = mr_run_has_split(run->c.plan);

	if (!mr_stage_has(run->c.plan, s, MR_OP_U))
		return mr_stage_backward_input(run->stage[s], io);
	b->optim.weight_decay = 0;
	if (mr_run_steps_inside(run->c.plan, s))
		step = mr_weights_steps_inside(b, 0, 0);
	b->optim.weight_decay = decay;
	if (split)
		MR_TRY(mr_stage_backward_input(run->stage[s], io));
	for (uint32_t i = 0; i < passes; i++) {
		io->add_grads = i > 0;
		io->step = i + 1 == passes ? step : NULL;
		MR_TRY(split ? mr_stage_backward_weight(run->stage[s], io) : mr_stage_backward(run->stage[s], io));
	}
	return MR_OK;
}

/* W alone, of another worker's stage, as a worker carries it out that takes W from others. */
static mr_status warm_up_weights(mr_run *run, uint16_t id, uint16_t s)
{
	mr_links_stage *st = mr_links_at(&run->train, 0, s);
	bool last = s + 1 == run->n_stages;
	mr_stage_io io = {
		.kc = run->worker[id].kc,
		.in = mr_link_buffer(&st->in, 0),
		.grad_out = last ? NULL : mr_link_buffer(&st->grad, 0),
		.slot = st->slot[0].memory,
		.scratch = run->worker[id].scratch,
		.samples = run->c.samples,
		.train = true,
		.seed = run->c.seed,
	};

	mr_weights_show(&run->weights[s], 0, 0, &io);
	for (unsigned i = 0; i < 2; i++) {
		io.add_grads = i > 0;
		MR_TRY(mr_stage_backward_weight(run->stage[s], &io));
	}
	return MR_OK;
}

/* A pipe without micro-batches does not train, but it evaluates. */
static mr_status warm_up_stage(mr_run *run, uint16_t id, uint8_t pipe, uint16_t s)
{
	bool idle = !mr_links_at(&run->train, pipe, s)->n_slots, last = s + 1 == run->n_stages;
	mr_links_stage *st = mr_links_at(idle ? &run->eval : &run->train, pipe, s);
	double loss;
	mr_stage_io io = {
		.kc = run->worker[id].kc,
		.in = mr_link_buffer(&st->in, 0),
		.out = last ? NULL : mr_link_out(&st[1].in, 0),
		.grad_out = last ? NULL : mr_link_buffer(&st->grad, 0),
		.grad_in = s ? mr_link_out(&st[-1].grad, 0) : NULL,
		.slot = st->slot[0].memory,
		.scratch = run->worker[id].scratch,
		.target = last ? mr_link_buffer(&st->target, 0) : NULL,
		.loss = &loss,
		.samples = run->c.samples,
		.train = true,
		.seed = run->c.seed,
	};

	mr_weights_show(mr_run_weights(run, pipe, s), mr_run_shard(run, pipe, s), 0, &io);
	MR_EACH_FEATURE(run, f, warm_up)
		(*f)->warm_up(run, pipe, s, &io);
	MR_TRY(mr_stage_forward(run->stage[s], &io));
	return idle ? MR_OK : warm_up_backward(run, pipe, s, &io);
}

mr_status mr_run_warm_up(mr_run *run, uint16_t id)
{
	for (unsigned p = 0; p < run->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++)
			if (mr_plan_worker(run->c.plan, (uint8_t)p, s) == id &&
			    (mr_links_at(&run->train, (uint8_t)p, s)->n_slots || p < run->eval_plan->n_pipes))
				MR_TRY(warm_up_stage(run, id, (uint8_t)p, s));
			else if (run->facts & MR_ANY_WORKER)
				MR_TRY(warm_up_weights(run, id, s));
	return MR_OK;
}
