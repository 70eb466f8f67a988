/*
 * cyclic.c - cyclic data parallelism: replicas that begin two stages' passes after each other (3 workers, 3 stages,
 * b = f; each F and B is of one stage).
 *
 *   w0 F0F0F0B0B0B0F3F3F3B3B3B3F6 ...        pipe 0: micro-batches 0, 3, 6: all stages on worker 0
 *   w1 ....F1F1F1B1B1B1F4F4F4B4B4B4F7 ...    pipe 1
 *   w2 ........F2F2F2B2B2B2F5F5F5B5B5B5 ...  pipe 2; U of each stage behind its B
 *
 * Problem: replicas that begin together have all their activations at the same time, and all their gradients to add at
 * another. Idea: each begins two stages' passes after the one before it. Then activations of one replica go while those
 * of the next come, and a stage's gradient is added to by one replica every two passes, in a ring. The price is delay:
 * when replica 0 begins count t, replica n - 1 has yet to complete count t - 1. So with rule = v1 all read one commit
 * late,
 *	w(t+1) = w(t) - lr * mean of the gradients at w(t-1)
 * and with v2 micro-batch j of a count reads w(t) at the stages i that are committed by then, i + j >= n - 1.
 *
 * Rooms: stage i keeps the activations of all replicas in n - i rooms, which they use in turn (ir/plan.h): n (n + 1)
 * / 2 stages' in all, where replicas that begin together keep n n. The rooms are what holds the replicas two passes
 * apart.
 * Sums: one of each stage, to which the replicas add in turn; the last of a count steps the stage, all of it.
 *
 * Time: with b = f nobody waits but for the steps, which one worker makes: a count takes 2 n passes and n steps.
 * Weights: two versions (v2: one of the last stage).
 * Over ranks: the sums go from replica to replica and from the last one to all ranks, each of which makes all steps;
 * the rooms of a rank are for its own replicas, so those of one replica save nothing.
 *
 * Source: Fournier and Oyallon, Cyclic Data Parallelism for Efficient Parallelism of Deep Neural Networks, arXiv
 * 2403.08837.
 * NOTE 1: what the source adds in a ring of messages is added in place where workers share memory, in the same order.
 */
#include <string.h>

#include "ir/sched.h"

static const mr_option options[] = {
	{"rule", MR_OPT_ENUM, "v1", 0, 0, "v1|v2", NULL,
	 "v1: all read the weights before the last commit; v2: the newest of each stage that is committed by then"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	return n_workers;
}

static bool catches_up(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "rule"), "v2");
}

static mr_status fill(mr_plan *plan, mr_section section)
{
	uint16_t n = plan->n_workers;

	for (uint16_t w = 0; w < n; w++)
		for (uint32_t m = w; m < plan->n_micro; m += n) {
			for (uint16_t s = 0; s < n; s++)
				MR_TRY(mr_sched_emit(plan, w, section, MR_OP_F, m, s, (uint8_t)w));
			for (uint16_t s = n; s-- > 0;)
				MR_TRY(mr_sched_emit(plan, w, section, MR_OP_B, m, s, (uint8_t)w));
		}
	return MR_OK;
}

static void set_header(const mr_sched_args *args, mr_plan *plan)
{
	uint16_t n = args->n_workers, delayed = (uint16_t)(n - catches_up(args));

	plan->commits = args->finite ? args->n_commits : 1;
	plan->n_micro = plan->commits * args->n_micro;
	plan->contract = (mr_contract){
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_BATCH,
		.sum = MR_SUM_ASCENDING,
		.need = args->n_micro,
		.same_version_b = true,
	};
	if (n == 1)
		return;
	plan->contract.max_staleness = plan->contract.delay = 1;
	plan->contract.delayed = delayed;
	plan->contract.catches_up = catches_up(args);
	plan->contract.whole_steps = plan->contract.ring = true;
	for (uint16_t s = 0; s < n; s++)
		plan->rooms[s] = (uint8_t)(n - s);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_sched_args own = *args;
	mr_plan *plan;

	if (args->n_micro % args->n_workers)
		return mr_fail(MR_ECONFIG,
			       "%u replicas cannot share %u micro-batch%s a commit evenly: give a multiple of %u",
			       args->n_workers, args->n_micro, args->n_micro == 1 ? "" : "es", args->n_workers);
	if (args->finite)
		own.n_micro *= args->n_commits;
	MR_TRY(mr_sched_create(&own, "cyclic", args->n_workers, args->n_workers, 2, &plan));
	for (uint16_t p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++)
			plan->worker_of[mr_plan_at(plan, (uint8_t)p, s)] = p;
	set_header(args, plan);
	return mr_sched_finish(plan, fill(plan, args->finite ? MR_PROLOGUE : MR_BODY), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	bool one = args->n_workers == 1 || (args->finite && args->n_commits == 1);

	(void)f;
	(void)i;
	(void)w;
	out->peak_slots_first = out->peak_slots_last = 1;
	out->versions_first = one ? 1 : 2;
	out->versions_last = one || catches_up(args) ? 1 : 2;
}

const mr_sched_ops mr_sched_cyclic = {
	.name = "cyclic",
	.summary = "cyclic data parallelism: replicas begin two stages after each other, read weights of one update "
		   "ago, and keep half the activations",
	.source = "Fournier and Oyallon, Cyclic Data Parallelism, arXiv 2403.08837",
	.options = options,
	.asynchronous = true,
	.accumulates = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
