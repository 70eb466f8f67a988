#include "schedules/registry.h"

#include <string.h>

#define MR_SCHEDULE(id) extern const mr_sched_ops mr_sched_##id;
#include "schedules/schedules.def"
#undef MR_SCHEDULE

static const mr_sched_ops *const systems[] = {
#define MR_SCHEDULE(id) &mr_sched_##id,
#include "schedules/schedules.def"
#undef MR_SCHEDULE
};

#define N_SYSTEMS (sizeof(systems) / sizeof(systems[0]))

const mr_sched_ops *mr_schedule_at(size_t i)
{
	return i < N_SYSTEMS ? systems[i] : NULL;
}

const mr_sched_ops *mr_schedule_find(const char *name)
{
	for (size_t i = 0; i < N_SYSTEMS; i++)
		if (!strcmp(systems[i]->name, name) || (systems[i]->alias && !strcmp(systems[i]->alias, name)))
			return systems[i];
	return NULL;
}

static const mr_sched_name names[] = {
#define MR_SCHEDULE_NAME(name, nearest, text) {name, nearest, text},
#include "schedules/names.def"
};

const mr_sched_name *mr_schedule_name_find(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, name))
			return &names[i];
	return NULL;
}

/* Set the chunks: the user's, else those of the option or the system. A system without the option has a fixed number.
 */
static mr_status complete_chunks(const mr_sched_ops *ops, mr_sched_args *full)
{
	uint16_t own = ops->chunks ? ops->chunks : 1;
	bool chooses = ops->options && mr_option_find(ops->options, "chunks");

	if (chooses)
		own = (uint16_t)mr_values_int(full->options, "chunks");
	else if (ops->chunks_of)
		own = ops->chunks_of(full->options);
	if (full->chunks == 0)
		full->chunks = own;
	if (!chooses && full->chunks != own)
		return mr_fail(MR_ECONFIG,
			       "a worker hosts exactly %u stage%s in this system%s, so chunks must be %u, got %u", own,
			       own == 1 ? "" : "s", ops->chunks_of ? " with these options" : "", own, full->chunks);
	return MR_OK;
}

/* @args with the default options where it has none and its chunks; the caller destroys *@defaults, also on error. */
static mr_status complete(const mr_sched_ops *ops, const mr_sched_args *args, mr_sched_args *full, mr_values **defaults)
{
	*full = *args;
	if (full->n_commits == 0)
		full->n_commits = 4;
	*defaults = NULL;
	if (ops->options && !args->options) {
		MR_TRY(mr_values_create(ops->options, defaults));
		full->options = *defaults;
	}
	if (ops->needs)
		MR_TRY(mr_values_check_needs(full->options, ops->needs));
	return complete_chunks(ops, full);
}

/* MR_SCHED_STEAL. */
static bool steals(const mr_sched_ops *ops, const mr_sched_args *full)
{
	return ops->options && mr_option_find(ops->options, "steal") && mr_values_bool(full->options, "steal");
}

mr_status mr_schedule_emit(const mr_sched_ops *ops, const mr_sched_args *args, mr_plan **out)
{
	mr_sched_args full;
	mr_values *defaults;
	mr_status st;

	if (args->n_workers == 0 || args->n_micro == 0)
		return mr_fail(MR_ECONFIG, "%s: at least 1 worker and 1 micro-batch are needed, got %u and %u",
			       ops->name, args->n_workers, args->n_micro);
	if (ops->workers && args->n_workers != ops->workers)
		return mr_fail(MR_ECONFIG, "%s: it has %u worker%s and no other number, got %u", ops->name,
			       ops->workers, ops->workers == 1 ? "" : "s", args->n_workers);
	st = complete(ops, args, &full, &defaults);
	if (st == MR_OK)
		st = ops->emit(&full, out);
	mr_values_destroy(defaults);
	if (st == MR_OK)
		return MR_OK;
	/* Arguments that a system's function calls invalid came from the user's configuration. */
	return mr_fail_in(st == MR_EINVAL ? MR_ECONFIG : st, "%s", ops->name);
}

uint32_t mr_schedule_step_micro(const mr_sched_ops *ops, const mr_values *values)
{
	return ops->step_micro && values ? ops->step_micro(values) : 1;
}

uint32_t mr_schedule_stages(const mr_sched_ops *ops, const mr_sched_args *args)
{
	mr_sched_args full;
	mr_values *defaults;
	uint32_t n = 0;

	if (complete(ops, args, &full, &defaults) == MR_OK)
		n = ops->stages ? ops->stages(&full) : (uint32_t)full.chunks * full.n_workers;
	mr_values_destroy(defaults);
	return n;
}

bool mr_schedule_orders_by_costs(const mr_sched_ops *ops, const mr_sched_args *args)
{
	mr_sched_args full;
	mr_values *defaults;
	bool yes = complete(ops, args, &full, &defaults) == MR_OK && ops->by_costs && ops->by_costs(full.options);

	mr_values_destroy(defaults);
	return yes;
}

mr_status mr_schedule_claims(const mr_sched_ops *ops, const mr_sched_args *args, double f, double i, double w,
			     mr_sched_claims *out)
{
	mr_sched_args full;
	mr_values *defaults;
	mr_status st;

	*out = (mr_sched_claims){.bubble_time = -1, .bubble_period = -1, .peak_first = -1, .peak_last = -1};
	if (ops->claims)
		out->versions_first = out->versions_last = 1;
	st = complete(ops, args, &full, &defaults);
	if (st == MR_OK && ops->claims)
		ops->claims(&full, f, i, w, out);
	if (st == MR_OK && steals(ops, &full))
		out->bubble_period = out->bubble_time; /* the period has the barrier, too */
	mr_values_destroy(defaults);
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", ops->name);
}
