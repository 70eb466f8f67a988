#include "sync_cases.h"

#include <string.h>

#include "check.h"
#include "rig.h"
#include "schedules/registry.h"
#include "sum_lists.h"

#define MOST_ORDERS 64
#define MOST_WORKERS 7

/* Beside each system's defaults, and private weights where it has them. */
static const char *const variants[] = {
	"system.name=gpipe system.backward=lifo",
	"system.name=gpipe system.recompute=except_last",
	"system.name=gpipe system.backward=lifo system.recompute=always",
	"system.name=1f1b system.recompute=always",
	"system.name=1f1b system.merge_w=2",
	"system.name=1f1b system.merge_w=3 system.recompute=always",
	"system.name=dapple system.policy=pb system.memory=3 system.recompute=always",
	"system.name=chimera system.variant=doubling system.ref_tail=true",
	"system.name=data_parallel system.chunks=3",
	"system.name=data_parallel system.chunks=3 system.weights=private",
	"system.name=weipipe system.ring=false",
	"system.name=helixpipe system.blocks=1 system.recompute=true",
	"system.name=interleaved system.chunks=3",
	"system.name=roundpipe system.stages=5",
	"system.name=interleaved_zb system.steal=true",
	"system.name=zb_h2 system.steal=true",
	"system.name=sequential train.gradients=merged",
	"system.name=1f1b train.gradients=merged",
	"system.name=interleaved system.chunks=3 train.gradients=merged",
	"system.name=zb_v train.gradients=merged",
	"system.name=hanayo train.gradients=merged",
	"system.name=chimera train.gradients=merged",
	"system.name=data_parallel train.gradients=merged",
	"system.name=data_parallel system.chunks=3 system.weights=private train.gradients=merged",
};

#define N_VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* Four fifths of the time of all cases went into plans that a system judged, only to choose one of them. */
#define SHORT_SEARCH " system.chunks=2 system.tries=20"

/* What suits one number of workers alone. */
static const struct {
	const char *system;
	unsigned workers;
} sized[] = {
	{"system.name=dapple system.replicas=[2]", 2},
	{"system.name=dapple system.replicas=[1,2] system.recompute=always", 3},
	{"system.name=dapple system.replicas=[2,1,1]", 4},
	{"system.name=chimera system.pipes=4 system.weights=private", 4},
};

const char *sync_dnnl(void)
{
	return mr_kernels_find("auto", MR_F32) ? "backend=auto precision=f32" : NULL;
}

const char *sync_system(uint32_t i)
{
	static char text[100];

	for (size_t k = 0; mr_schedule_at(k); k++) {
		const mr_sched_ops *ops = mr_schedule_at(k);
		uint32_t n = ops->asynchronous || ops->replicates                      ? 0
			     : ops->options && mr_option_find(ops->options, "weights") ? 2
										       : 1;

		if (i < n) {
			snprintf(text, sizeof(text), "system.name=%s%s%s", ops->name,
				 i ? " system.weights=private" : "", ops->judged ? SHORT_SEARCH : "");
			return text;
		}
		i -= n;
	}
	return i < N_VARIANTS ? variants[i] : NULL;
}

static void set_case(rig *r, const sync_case *c, const char *system, unsigned workers)
{
	rig_init(r);
	if (c->gpt)
		rig_tokens(r, c->sets);
	else if (strstr(c->sets, "model.patch="))
		rig_vit(r);
	rig_sets(r, c->backend);
	rig_sets(r, c->sets);
	rig_sets(r, system);
	rig_set(r, "machine.workers=%u", workers);
}

/*
 * The order of sums in what the system's schedule emits for the open rig. A system that chooses among plans has chosen
 * when it is open: its lists say the same once they are lowered.
 */
static void sums_of(const rig *r, sum_lists *out)
{
	const mr_sched_ops *ops = mr_job_system(r->job);
	mr_sched_args a = {
		.n_workers = mr_job_workers(r->job),
		.n_micro = r->s.n_micro,
		.n_apart = ops->apart ? mr_partition_count(r->s.graph, ops->apart) : 0,
		.options = ops->options ? r->job->system.values : NULL,
	};
	mr_plan *p = NULL;

	if (!ops->judged)
		MR_CHECK_OK(mr_schedule_emit(ops, &a, &p));
	sum_lists_of(p ? p : r->s.plan, &r->s.partition, out);
	mr_plan_destroy(p);
}

/* Results of the oracle for one case, by order of sums. */
typedef struct orders {
	sum_lists lists[MOST_ORDERS];
	rig_result result[MOST_ORDERS];
	uint32_t n;
} orders;

static void by_oracle(const sync_case *c, const sum_lists *l, rig_result *out)
{
	rig r;

	set_case(&r, c, "system.name=sequential", 1);
	rig_open(&r);
	oracle_train(&r.s, &l->lists, c->steps, true, out);
	rig_fini(&r);
	/* it does train */
	CU_ASSERT_FATAL(out->n_steps == c->steps && out->step[0].loss != out->step[c->steps - 1].loss);
}

/* The result in the order of @l, which this takes. */
static const rig_result *wanted(const sync_case *c, orders *o, sum_lists *l)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (sum_lists_equal(&o->lists[i], l)) {
			sum_lists_fini(l);
			return &o->result[i];
		}
	CU_ASSERT_FATAL(o->n < MOST_ORDERS);
	o->lists[o->n] = *l;
	by_oracle(c, &o->lists[o->n], &o->result[o->n]);
	return &o->result[o->n++];
}

/* False: the system does not take this number of workers and micro-batches. */
static bool pipeline(const sync_case *c, const char *system, unsigned workers, orders *o)
{
	char what[300], refusal[1024];
	rig_result got = {0};
	sum_lists l;
	mr_status st;
	rig r;

	snprintf(what, sizeof(what), "%s %s %s %s, %u workers", c->gpt ? "gpt" : "mlp", c->backend, c->sets, system,
		 workers);
	set_case(&r, c, system, workers);
	st = rig_try_open(&r);
	if (st != MR_OK) {
		snprintf(refusal, sizeof(refusal), "%s", mr_error_text());
		/* A refusal is the system's own, not one of the model or the engine. */
		if (st != MR_ECONFIG || !strstr(refusal, "system.name: "))
			fprintf(stderr, "\n%s: %s\n", what, refusal);
		CU_ASSERT_FATAL(st == MR_ECONFIG && strstr(refusal, "system.name: ") != NULL);
		rig_fini(&r);
		return false;
	}
	sums_of(&r, &l);
	rig_train(&r, c->steps, true, &got);
	CU_ASSERT_FATAL(rig_equal(&got, wanted(c, o, &l), false, what));
	CU_ASSERT_EQUAL(got.inflight.n, 0);
	rig_result_fini(&got);
	rig_fini(&r);
	return true;
}

static void free_orders(orders *o)
{
	for (uint32_t i = 0; i < o->n; i++) {
		sum_lists_fini(&o->lists[i]);
		rig_result_fini(&o->result[i]);
	}
	free(o);
}

/* Under the address sanitizer each case takes every third system, under that of threads, which takes ten times as long,
 * every ninth; the next case begins one system later. */
static bool takes_part(size_t i, size_t n_cases)
{
	return (i + n_cases) % (RIG_TSAN ? 9 : RIG_SANITIZED ? 3 : 1) == 0;
}

void sync_case_check(const sync_case *c)
{
	static size_t n_cases;
	orders *o = calloc(1, sizeof(*o));
	const char *system;

	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	for (uint32_t i = 0; (system = sync_system(i)); i++) {
		bool any = false;

		if (!takes_part(i, n_cases))
			continue;
		for (unsigned d = MOST_WORKERS; d >= 1; d--)
			if (c->workers >> d & 1 && !(RIG_TSAN && any))
				any = pipeline(c, system, d, o) || any;
		if (!any && !c->may_refuse)
			fprintf(stderr, "\n%s: refuses every number of workers\n", system);
		CU_ASSERT_TRUE(any || c->may_refuse);
	}
	for (size_t i = 0; i < sizeof(sized) / sizeof(sized[0]); i++)
		if (c->workers >> sized[i].workers & 1 && takes_part(i, n_cases))
			CU_ASSERT_TRUE(pipeline(c, sized[i].system, sized[i].workers, o));
	free_orders(o);
	n_cases++;
}

void sync_case_system(const sync_case *c, const char *system, unsigned workers)
{
	orders *o = calloc(1, sizeof(*o));

	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	CU_ASSERT(pipeline(c, system, workers, o));
	free_orders(o);
}

/* --- the grid --- */

#define ALL_WORKERS (1 << 1 | 1 << 2 | 1 << 3 | 1 << 4)
#define SOME_WORKERS (1 << 2 | 1 << 3 | 1 << 4)

/* Deep enough for several stages on each of four workers. */
#define MLP "model.depth=16 model.width=8 "
#define GPT "model.layers=12 model.width=8 model.heads=1 model.context=4 "

void sync_case_models(const char *backend, size_t first, size_t every)
{
	const sync_case cases[] = {
		{backend, false, MLP "model.activation=relu optimizer.name=adamw train.microbatches=8", 4, ALL_WORKERS,
		 false},
		{backend, false,
		 MLP "model.activation=gelu optimizer.name=sgd train.clip=0.05 train.batch=9 train.microbatches=3", 4,
		 SOME_WORKERS, true},
		{backend, false, MLP "optimizer.name=momentum train.batch=11 train.microbatches=11", 3, SOME_WORKERS,
		 false},
		{backend, true, GPT "model.tied=false optimizer.name=momentum train.microbatches=8", 3, SOME_WORKERS,
		 false},
		{backend, true,
		 GPT "model.tied=true model.dropout=0.2 train.clip=0.05 lr_schedule.name=cosine lr_schedule.warmup=2 "
		     "train.microbatches=8",
		 3, SOME_WORKERS, false},
		{backend, true, GPT "model.tied=true model.dropout=0.1 train.batch=5 train.microbatches=5", 3,
		 SOME_WORKERS, true},
	};

	for (size_t i = first; backend && i < sizeof(cases) / sizeof(cases[0]); i += every)
		sync_case_check(&cases[i]);
}

void sync_case_odd_sizes(bool all)
{
	static const unsigned micro[] = {1, 2, 3, 5, 7, 12};

	for (size_t i = 0; i < sizeof(micro) / sizeof(micro[0]); i++) {
		unsigned workers = all ? 0xfe : i % 2 ? 0x54 : 0xaa;
		char sets[200];

		snprintf(sets, sizeof(sets),
			 "model.depth=24 model.width=4 train.clip=%s train.batch=%u train.microbatches=%u",
			 i % 2 ? "0.1" : "0.0", micro[i], micro[i]);
		sync_case_check(&(sync_case){"backend=reference precision=f32", false, sets, 3, workers, true});
	}
}
