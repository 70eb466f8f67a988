/* train_run.c - a training as the command carries it out: with its words, and with the process's signals. */
#include "cli/train_words.h"
#include "ranks/over_ranks.h"
#include "host/service.h"
#include "host/signals.h"
#include "session/sample.h"

static mr_status train(mr_train *t)
{
	mr_status st;

	mr_train_words_start(t);
	mr_service_notify("READY=1\nSTATUS=training from step %llu to %llu", (unsigned long long)t->step,
			  (unsigned long long)t->n_steps);
	st = mr_train_go(t, t->n_steps, false);
	if (st == MR_OK)
		st = mr_train_end(t);
	MR_TRY(st);
	mr_train_words_end(t);
	return mr_train_is_begun(t) && !mr_signals_end() ? mr_sample_at_end(&t->s) : MR_OK;
}

mr_status mr_train_run(mr_config *config, const mr_train_opts *opts, int *signal)
{
	mr_train_opts o = *opts;
	mr_train_words words = {0};
	mr_train_hooks hooks = mr_train_words_hooks(&words);
	mr_train *t;
	mr_status st;

	*signal = 0;
	o.owns_process = true;
	st = mr_train_open(config, &o, &hooks, &t);
	if (st == MR_OK) {
		mr_train_words_begin(&words, t);
		(void)mr_train_keep(t, train(t)); /* which mr_train_close returns */
	}
	if (o.ranks)
		mr_over_ranks_end(o.ranks);
	mr_service_notify("STOPPING=1");
	if (t)
		st = mr_train_close(t);
	if (st == MR_OK) /* an error takes precedence: the signal's work may not have been done */
		*signal = mr_signals_end();
	return st;
}
