#include "training/train_ranks.h"

#include <stdlib.h>

#include "base/stats.h"
#include "checkpoint/rank_parts.h"
#include "ranks/over_ranks.h"
#include "host/signals.h"
#include "training/search_limit.h"

static mr_status hash_values(const mr_config *config, uint64_t *out)
{
	mr_strbuf text = {0};
	mr_status st = mr_config_print_shared(config, &text);

	if (st == MR_OK)
		*out = mr_hash64(0, mr_strbuf_text(&text), text.len);
	mr_strbuf_fini(&text);
	return st;
}

/* What one process alone does so far. */
static mr_status refuse(const mr_train *t)
{
	const mr_train_opts *o = &t->opts;
	const char *option = o->record ? "--record" : o->virtual_time ? "simulate" : o->counts ? "--counters" : NULL;

	if (option)
		return mr_fail(MR_EUSAGE, "%s goes in one process only, and this training has %u ranks", option,
			       o->ranks->n);
	if (t->s.plan->endless || t->s.plan->contract.racing)
		return mr_fail(MR_ECONFIG, "%s %s, and this training has %u ranks", t->s.plan->system,
			       t->s.plan->endless ? "makes its plan as it goes, in one process only"
						  : "races, and workers that race share memory", o->ranks->n);
	return MR_OK;
}

mr_status mr_train_open_ranks(mr_train *t)
{
	const mr_job *job = mr_config_job(t->config);
	const mr_train_opts *o = &t->opts;
	const char *plan = o->replay ? o->replay : o->plan;
	uint64_t hash = 0;

	if (!plan && o->resume)
		plan = t->own_plan = mr_rundir_plan(job->run_dir);
	MR_TRY(hash_values(t->config, &hash));
	MR_TRY(mr_session_open_ranks(job, o->ranks, hash, plan, o->replay != NULL, &t->s));
	return refuse(t);
}

static mr_status follow(mr_train *t)
{
	mr_session_opts so = {0};
	uint64_t a, b;

	if (t->opts.resume)
		MR_TRY(mr_train_take_up(t));
	MR_TRY(mr_train_open_ranks(t));
	MR_TRY(mr_search_limit_settle(t->config, t->s.n_tries));
	so.trace = !t->opts.no_folder && mr_job_trace_steps(t->s.job, &a, &b);
	MR_TRY(mr_session_start(&t->s, &so));
	return mr_over_ranks_follow(t->s.executor.engine, mr_rank_parts_follow, &t->s);
}

mr_status mr_train_follow(mr_config *config, const mr_train_opts *opts)
{
	mr_train t = {.config = config, .opts = *opts};
	mr_status st;

	mr_signals_catch(); /* rank 0 has got the same signal, and says what follows */
	st = follow(&t);

	if (st != MR_OK && st != MR_ESTOPPED)
		mr_over_ranks_give_up(opts->ranks, st);
	mr_session_close(&t.s);
	free(t.own_plan);
	return st;
}
