#include "checkpoint/checkpoints.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/notice.h"
#include "checkpoint/gather.h"
#include "checkpoint/identity.h"
#include "checkpoint/rank_fetch.h"
#include "checkpoint/rank_parts.h"
#include "checkpoint/run_manifest.h"
#include "checkpoint/state_copy.h"
#include "exec/snapshot.h"
#include "ranks/rank_state.h"
#include "session/average_trigger.h"
#include "checkpoint/network_text.h"
#include "session/objective_report.h"
#include "store/checkpoint_io.h"

/* Growth of the weights a step, relative to max(1, their previous root mean square), above which a checkpoint is
 * suspect. */
#define MOST_GROWTH 1000.0

static mr_status make_content(mr_checkpoint_draft *d, uint64_t step, bool best, mr_session *s)
{
	const mr_job_checkpoint *job = &s->job->checkpoint;
	uint32_t n_threads = s->place.n_cores_used + s->place.n_cores_idle;
	static const char *const names[3] = MR_CHECKPOINT_FILES;
	const mr_state_list *lists[3] = {&d->state.model, &d->state.optimizer, &d->state.inflight};
	mr_checkpoint_content *c = &d->content;
	const char *network;

	MR_TRY(mr_network_text(s, &network));
	d->metadata[0] = (mr_saved_text){"format", "pt"}; /* what transformers wants; layouts are PyTorch's */
	d->metadata[1] = (mr_saved_text){"network", network};
	*c = (mr_checkpoint_content){.step = step, .parts = d->parts, .facts = d->facts.at, .n_facts = d->facts.n,
				     .n_threads = n_threads, .best = best, .keep = (uint32_t)job->keep,
				     .keep_every = (uint64_t)job->keep_every};
	for (int i = 0; i < 3; i++) {
		if (lists[i]->n == 0)
			continue;
		d->parts[c->n_parts++] = (mr_checkpoint_shard){
			.name = names[i],
			.tensors = lists[i]->at,
			.n_tensors = lists[i]->n,
			.metadata = d->metadata,
			.n_metadata = i ? 1 : 2, /* the network: of the model alone */
		};
	}
	return MR_OK;
}

/* The scale of the weights of @st at @step, whose squares add up to @squares; @bad is not finite, unless it is "". */
static mr_status scale_of(const mr_state *st, uint64_t step, double squares, const char *bad,
			  mr_checkpoints_scale *out)
{
	double n = 0;

	if (*bad)
		return mr_fail(MR_EDIVERGED,
			       "step %" PRIu64 " left weights that are not finite in %s, and is not saved", step, bad);
	for (size_t i = 0; i < st->model.n; i++)
		n += (double)(st->model.at[i].bytes / mr_dtype_bytes(st->model.at[i].dtype));
	*out = (mr_checkpoints_scale){.size = n > 0 ? sqrt(squares / n) : 0, .step = step};
	return MR_OK;
}

/* Root of the mean square of all weights, which are copied to @to if that is not NULL, with the rest of the state.
 * Errors: MR_EDIVERGED when one is not finite; MR_ERESOURCE. */
static mr_status measure(const mr_session *s, mr_state *st, uint64_t step, void *to, mr_checkpoints_scale *out)
{
	const mr_saved_tensor *bad;
	double squares;

	MR_TRY(mr_state_copy(st, &s->place, to, &squares, &bad));
	return scale_of(st, step, squares, bad ? bad->name : "", out);
}

/* The same of a training whose ranks each have a part of @st, which comes from there. */
static mr_status measure_ranks(mr_session *s, mr_state *st, uint64_t step, mr_checkpoints_scale *out)
{
	double squares;
	char bad[160];
	mr_status err;

	MR_TRY(mr_rank_parts_measure(s, st, &squares, bad));
	err = scale_of(st, step, squares, bad, out);
	if (err != MR_OK)
		mr_state_fini(st);
	return err;
}

static bool grew_too_much(const mr_checkpoints_scale *now, const mr_checkpoints_scale *good)
{
	uint64_t steps = now->step > good->step ? now->step - good->step : 1;

	return now->size > MOST_GROWTH * fmax(1, good->size) * (double)steps;
}

/* Did the loss rise? False without a loss to compare with. */
static bool rose(double now, double before)
{
	return now > before || (isinf(now) && !isnan(before));
}

static bool loss_rose(const mr_checkpoints_case *c, const mr_checkpoints_guard *g)
{
	return isnan(c->val_loss) ? rose(c->loss, g->loss) : rose(c->val_loss, fmax(g->loss, c->best_loss));
}

static mr_status refuse(const mr_checkpoints_scale *now, const mr_checkpoints_case *c, const mr_checkpoints_guard *g)
{
	return mr_fail(MR_EDIVERGED,
		       "step %" PRIu64 " left weights of %.3g (root of the mean square; %.3g at step %" PRIu64
		       ") and the loss rose from %.4g to %.4g, so they are not saved",
		       now->step, now->size, g->good.size, g->good.step, g->loss,
		       isnan(c->val_loss) ? c->loss : c->val_loss);
}

/* A step can spoil the weights while its loss is still finite, and its weights must not replace a good checkpoint.
 * Weights that were evaluated and found better than earlier ones are good. *@wait: undecided as yet. */
static mr_status judge(const mr_checkpoints_scale *now, const mr_checkpoints_case *c, mr_checkpoints_guard *g,
		       bool *wait)
{
	bool proved = mr_checkpoints_is_best(c) && !isnan(c->best_loss);

	*wait = false;
	if (g->doubt.step && !proved) {
		if (loss_rose(c, g))
			return refuse(&g->doubt, c, g);
		g->good = g->doubt;
	}
	g->doubt = (mr_checkpoints_scale){0};
	if (proved || !grew_too_much(now, &g->good))
		return MR_OK;
	if (loss_rose(c, g))
		return refuse(now, c, g);
	if (c->can_wait && isnan(c->val_loss)) {
		g->doubt = *now;
		*wait = true;
	}
	return MR_OK;
}

bool mr_checkpoints_is_best(const mr_checkpoints_case *c)
{
	return isfinite(c->val_loss) && !(c->val_loss >= c->best_loss);
}

mr_status mr_checkpoints_guard_init(mr_session *s, uint64_t step, mr_checkpoints_guard *out)
{
	mr_state st;
	mr_status err;

	*out = (mr_checkpoints_guard){.loss = NAN};
	if (mr_rank_parts_write(s)) {
		MR_TRY(measure_ranks(s, &st, step, &out->good));
		mr_state_fini(&st);
		return MR_OK;
	}
	MR_TRY(mr_executor_state(&s->executor, &st));
	err = measure(s, &st, step, NULL, &out->good);
	mr_state_fini(&st);
	return err;
}

/* Judge the state of @d, copied to @to if that is not NULL, and make the checkpoint's content of it. */
static mr_status draft(mr_session *s, const mr_checkpoints_case *c, mr_checkpoints_guard *g, void *to,
		       mr_checkpoint_draft *d, mr_checkpoints_scale *now, bool *wait)
{
	MR_TRY(measure(s, &d->state, c->step, to, now));
	MR_TRY(judge(now, c, g, wait));
	return make_content(d, c->step, mr_checkpoints_is_best(c), s);
}

/* Without a thread for it, or with a state that outgrew the copy, @writer's checkpoint is written here. */
static mr_status write_out(const char *dir, mr_checkpoint_writer *writer, bool copied, const mr_checkpoint_draft *d)
{
	if (!writer)
		return mr_checkpoint_save(dir, &d->content, NULL);
	if (copied && mr_checkpoint_writer_begin(writer) == MR_OK)
		return MR_OK;
	if (copied)
		mr_log(MR_LOG_WARN, "checkpoint", "%s: the training waits", mr_error_text());
	return mr_checkpoint_writer_write(writer);
}

static void note_good(mr_checkpoints_guard *g, const mr_checkpoints_scale *now, const mr_checkpoints_case *c)
{
	g->good = *now;
	g->loss = isnan(c->loss) ? g->loss : c->loss;
}

/* Each rank writes what it has. */
static mr_status put_parts(mr_session *s, const char *dir, const mr_checkpoints_case *c, mr_checkpoints_guard *g,
			   bool *saved)
{
	mr_checkpoints_scale now;
	mr_checkpoint_draft d;
	bool wait;
	mr_status err;

	MR_TRY(mr_run_manifest_collect(s, mr_checkpoints_is_best(c) ? c->val_loss : c->best_loss, &d.facts));
	MR_TRY(measure_ranks(s, &d.state, c->step, &now));
	err = judge(&now, c, g, &wait);
	if (err == MR_OK && !wait)
		err = make_content(&d, c->step, mr_checkpoints_is_best(c), s);
	if (err == MR_OK && !wait)
		err = mr_rank_parts_save(s, dir, &d);
	*saved = err == MR_OK && !wait;
	if (*saved)
		note_good(g, &now, c);
	mr_state_fini(&d.state);
	return err;
}

mr_status mr_checkpoints_put(mr_session *s, const char *dir, mr_checkpoint_writer *writer, const mr_checkpoints_case *c,
			     mr_checkpoints_guard *g, bool *saved)
{
	mr_checkpoint_draft here, *d = writer ? mr_checkpoint_writer_draft(writer) : &here;
	uint64_t room = 0;
	void *to = writer ? mr_checkpoint_writer_room(writer, &room) : NULL;
	mr_checkpoints_scale now;
	bool wait = false;
	mr_status err;

	*saved = false;
	if (mr_rank_parts_write(s))
		return put_parts(s, dir, c, g, saved);
	MR_TRY(mr_run_manifest_collect(s, mr_checkpoints_is_best(c) ? c->val_loss : c->best_loss, &d->facts));
	MR_TRY(mr_executor_state(&s->executor, &d->state));
	mr_average_rename(s, &d->state);
	if (mr_state_copy_bytes(&d->state) > room)
		to = NULL;
	err = draft(s, c, g, to, d, &now, &wait);
	if (err == MR_OK && !wait) {
		err = write_out(dir, writer, to != NULL, d);
		*saved = err == MR_OK;
	}
	if (!mr_checkpoint_writer_busy(writer))
		mr_state_fini(&d->state);
	if (*saved)
		note_good(g, &now, c);
	return err;
}

/* --- while the training goes on --- */

mr_status mr_checkpoints_open_snapshots(mr_session *s)
{
	char averages[2];

	if (s->ranks || s->n_shares || s->known || *mr_average_fact(s, averages, sizeof(averages)))
		return MR_OK;
	return mr_snapshot_open(mr_executor_run_of(&s->executor));
}

mr_status mr_checkpoints_arm(mr_session *s, mr_checkpoint_writer *writer, uint64_t step, uint64_t until, double best,
			     mr_state_copying **copying)
{
	mr_run *run = mr_executor_run_of(&s->executor);
	uint64_t room;
	void *to = mr_checkpoint_writer_room(writer, &room);

	*copying = NULL;
	if (!mr_engine_may_pass(s->executor.engine, step))
		return MR_OK;
	MR_TRY(mr_run_manifest_collect(s, best, &mr_checkpoint_writer_draft(writer)->facts));
	MR_TRY(mr_snapshot_list(run, step));
	if (mr_state_copy_bytes(&run->snapshot->state) > room)
		return MR_OK;
	MR_TRY(mr_state_copying_begin(&run->snapshot->state, to, copying));
	mr_engine_snapshot(s->executor.engine, step, until, mr_state_copying_copy, *copying);
	return MR_OK;
}

mr_status mr_checkpoints_land(mr_session *s, const char *dir, mr_checkpoint_writer *writer,
			      const mr_checkpoints_case *c, mr_state_copying *copying, mr_checkpoints_guard *g,
			      bool *saved)
{
	mr_checkpoint_draft *d = mr_checkpoint_writer_draft(writer);
	mr_snapshot *x = mr_executor_run_of(&s->executor)->snapshot;
	mr_checkpoints_scale now;
	const mr_saved_tensor *bad;
	double squares;
	bool wait = false;
	mr_status err;

	mr_snapshot_end(mr_executor_run_of(&s->executor));
	mr_state_copying_end(copying, &squares, &bad);
	d->state = x->state;
	x->state = (mr_state){0};
	err = scale_of(&d->state, c->step, squares, bad ? bad->name : "", &now);
	if (err == MR_OK)
		err = judge(&now, c, g, &wait);
	if (err == MR_OK && !wait)
		err = make_content(d, c->step, false, s);
	if (err == MR_OK && !wait)
		err = write_out(dir, writer, true, d);
	*saved = err == MR_OK && !wait;
	if (!mr_checkpoint_writer_busy(writer))
		mr_state_fini(&d->state);
	if (*saved)
		note_good(g, &now, c);
	return err;
}

/* Upper bound of the tensors under way in a plan that never drains; at its first step there are none yet. */
static uint64_t inflight_bytes(const mr_session *s)
{
	uint64_t sum = 0;

	if (s->plan->contract.flush != MR_FLUSH_NONE)
		return 0;
	for (uint16_t i = 0; i < s->plan->n_stages; i++) {
		mr_run_memory m;

		mr_run_memory_of_stage(mr_executor_run_of(&s->executor), 0, i, &m);
		sum += m.stashes + m.activations + m.boundaries;
	}
	return sum;
}

/* The most checkpoints of this run that lie on the disk at once: those that are kept, at most as many as will be made,
 * the best one, those that are kept for ever, and one being written. */
static uint64_t most_at_once(const mr_session *s, uint64_t step)
{
	uint64_t every = (uint64_t)s->job->checkpoint.every, keep = (uint64_t)s->job->checkpoint.keep;
	uint64_t end = (uint64_t)s->job->train.steps, for_ever = (uint64_t)s->job->checkpoint.keep_every;
	uint64_t due = every && end > step ? (end - step - 1) / every + 1 : 1;

	return (keep < due ? keep : due) + 1 + (due > 1 && s->data->n_valid > 0) + (for_ever ? end / for_ever : 0);
}

mr_status mr_checkpoints_preflight(mr_session *s, const char *dir, uint64_t step)
{
	mr_checkpoint_draft d;
	uint64_t bytes;
	mr_status err;

	MR_TRY(mr_run_manifest_collect(s, NAN, &d.facts));
	MR_TRY(mr_rank_parts_write(s) ? mr_state_of_run(mr_executor_run_of(&s->executor), &d.state)
				      : mr_executor_state(&s->executor, &d.state));
	err = make_content(&d, 0, false, s);
	bytes = err == MR_OK ? mr_checkpoint_bytes(&d.content) + (d.state.inflight.n ? 0 : inflight_bytes(s)) : 0;
	if (err == MR_OK)
		err = mr_checkpoint_preflight(dir, bytes, most_at_once(s, step));
	mr_state_fini(&d.state);
	return err;
}

/* --- loading --- */

static bool is_listed(const mr_state_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->at[i].name, name))
			return true;
	return false;
}

/* A checkpoint of a larger network must not pass for one of this. */
static mr_status check_all_listed(const mr_safetensors *f, const char *file, const mr_state_list *l)
{
	for (size_t i = 0; i < mr_safetensors_count(f); i++)
		if (!is_listed(l, mr_safetensors_at(f, i)->name))
			return mr_fail(MR_ECKPT, "%s: the network has no parameter for tensor \"%s\"", file,
				       mr_safetensors_at(f, i)->name);
	return MR_OK;
}

/* @over: each tensor goes to the ranks of that run that need it; NULL: none. */
static mr_status load_list(const mr_graph *g, const mr_checkpoint *ck, const char *file, const mr_state_list *l,
			   mr_run *over)
{
	mr_safetensors *t;
	mr_status st = MR_OK;

	if (l->n == 0)
		return MR_OK;
	MR_TRY(mr_checkpoint_tensors(ck, file, &t));
	for (size_t i = 0; i < l->n && st == MR_OK; i++) {
		st = mr_safetensors_load(t, &l->at[i]);
		if (st == MR_OK && over)
			st = mr_rank_state_give(over, &l->at[i]);
	}
	if (st == MR_OK)
		st = check_all_listed(t, file, l);
	if (st == MR_OK)
		st = mr_network_check(g, file, mr_safetensors_metadata(t, "network"));
	mr_safetensors_close(t);
	return st;
}

/* May the slots of @inflight be loaded from @ck? */
static mr_status slots_fit(const mr_session *s, const mr_checkpoint *ck, const mr_state_list *inflight)
{
	const char *then = mr_checkpoint_fact(ck, "slots");
	bool any = false;
	char now[20];

	for (size_t i = 0; i < inflight->n; i++)
		any = any || !strncmp(inflight->at[i].name, "slot.", 5);
	snprintf(now, sizeof(now), "%016" PRIx64, mr_identity_slots(s));
	if (!any || (then && !strcmp(then, now)))
		return MR_OK;
	return mr_fail(MR_ECKPT,
		       "it holds micro-batches under way as another build saves them (slots %s, here %s) and cannot be "
		       "resumed",
		       then ? then : "of no number", now);
}

static mr_status load_all(mr_session *s, const mr_checkpoint *ck)
{
	mr_run *over = s->ranks && !s->n_shares ? mr_executor_run_of(&s->executor) : NULL;
	mr_state st;
	mr_status err;

	MR_TRY(mr_executor_stand_at(&s->executor, mr_checkpoint_step(ck)));
	MR_TRY(mr_average_take_up(s, mr_checkpoint_fact(ck, "averaging")));
	MR_TRY(mr_executor_state(&s->executor, &st));
	mr_average_rename(s, &st);
	err = slots_fit(s, ck, &st.inflight);
	if (err == MR_OK && over)
		err = mr_over_ranks_give(s->executor.engine, &st);
	if (err == MR_OK)
		err = load_list(mr_session_model(s), ck, "model.safetensors", &st.model, over);
	if (err == MR_OK)
		err = load_list(mr_session_model(s), ck, "optimizer.safetensors", &st.optimizer, over);
	if (err == MR_OK)
		err = load_list(mr_session_model(s), ck, "inflight.safetensors", &st.inflight, over);
	mr_state_fini(&st);
	return err;
}

/* A run may be resumed with more steps or another rate; the change of the rate from this step on is reported. */
static void tell_rate(const mr_session *s, const mr_checkpoint *ck)
{
	const char *then = mr_checkpoint_fact(ck, "learning_rate");
	char now[MR_RATE_ROOM];

	if (s->lr.total > mr_checkpoint_step(ck) && then &&
	    strcmp(then, mr_run_manifest_rate(&s->lr, now, sizeof(now))) != 0)
		mr_notice("learning rate from here on: %s; until step %" PRIu64 " it was: %s", now,
			  mr_checkpoint_step(ck), then);
}

/* The same bits are promised for the same instructions alone. */
static void warn_isa(const mr_session *s, const mr_checkpoint *ck)
{
	const char *then = mr_checkpoint_fact(ck, "isa"), *now = mr_identity_isa(s);

	if (then && strcmp(then, now))
		mr_notice("warning: the checkpoint was computed by %s, this run is by %s%s: it goes on as "
			  "another run, with other last bits",
			  then, now,
			  s->kernels->choices ? ", for which the table of choices may say something else" : "");
}

static void warn_threads(const mr_session *s, const mr_checkpoint *ck)
{
	const char *then = mr_checkpoint_fact(ck, "threads"), *lib = mr_checkpoint_fact(ck, "kernels");
	char text[128];
	const char *now = mr_run_manifest_kernels(s, text, sizeof(text));

	if (then && (uint32_t)atoi(then) != s->place.worker[0].n_threads)
		mr_notice("warning: the checkpoint was made with %s threads a worker, this run has %u: the "
			  "last bits may differ",
			  then, s->place.worker[0].n_threads);
	if (lib && strcmp(lib, now))
		mr_notice("warning: the checkpoint was made with %s, this is %s: the last bits may differ",
			  lib, now);
}

void mr_checkpoints_best_name(const char *dir, char *name, size_t size)
{
	char *path = NULL, *text;
	size_t len;

	*name = 0;
	if (asprintf(&path, "%s/BEST", dir) < 0)
		return;
	if (mr_file_read_regular(path, size - 1, &text, &len) == MR_OK) {
		snprintf(name, size, "%.*s", (int)strcspn(text, "\n"), text);
		free(text);
	}
	free(path);
}

/* The step of the newest checkpoint of @dir, which is not looked at; false: there is none. */
static bool newest(const char *dir, uint64_t *step)
{
	mr_checkpoint_name *list = NULL;
	size_t n = 0;
	bool some = mr_checkpoint_names(dir, &list, &n) == MR_OK && n > 0;

	*step = some ? list[0].step : 0;
	free(list);
	return some;
}

/* Where rank 0's parts are newer than what is whole, those say as well what a checkpoint is of. */
static char *first_parts(const char *dir)
{
	char *first = mr_part_folder(dir, 0);
	uint64_t step, of_parts;

	if (first && newest(first, &of_parts) && (!newest(dir, &step) || of_parts > step))
		return first;
	free(first);
	return NULL;
}

bool mr_checkpoints_best(const char *dir, uint64_t *step)
{
	char *first = mr_part_folder(dir, 0), name[64] = "";

	if (first)
		mr_checkpoints_best_name(first, name, sizeof(name));
	if (!*name)
		mr_checkpoints_best_name(dir, name, sizeof(name));
	free(first);
	return sscanf(name, "step-%20" SCNu64, step) == 1;
}

mr_status mr_checkpoints_check(const char *dir, uint64_t step)
{
	char *path, *first = first_parts(dir);
	uint64_t found = 0;
	mr_checkpoint *ck;
	mr_status st;

	st = mr_checkpoint_latest(first ? first : dir, &path);
	free(first);
	MR_TRY(st);
	st = mr_checkpoint_open(path, &ck);
	if (st == MR_OK) {
		found = mr_checkpoint_step(ck);
		mr_checkpoint_close(ck);
	}
	free(path);
	if (st == MR_OK && found != step)
		st = mr_fail(MR_ECKPT, "%s: the newest checkpoint that is whole is of step %" PRIu64, dir, found);
	return st;
}

static mr_status no_best(const char *dir)
{
	char *first = first_parts(dir);
	mr_status st = mr_fail(MR_ECKPT, "%s: no checkpoint was ever marked the best%s", dir,
			       first ? ", but there are parts of some: millrace gather brings them together" : "");

	free(first);
	return st;
}

mr_status mr_checkpoints_find(const char *dir, const char *name, char **path)
{
	char best[64];
	mr_status st;

	if (!strcmp(name, "best")) {
		mr_checkpoints_best_name(dir, best, sizeof(best));
		if (!*best)
			return no_best(dir);
		name = best;
	}
	if (strchr(name, '/'))
		return mr_fail(MR_EUSAGE, "expected best, or a name in %s such as step-00000100, got \"%.100s\"", dir,
			       name);
	if (asprintf(path, "%s/%s", dir, name) < 0)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	st = mr_checkpoint_check(dir, name);
	if (st != MR_OK) {
		free(*path);
		*path = NULL;
	}
	return st;
}

static mr_status find_resumed(const char *dir, const char *from, char **path)
{
	mr_status st = *from ? mr_checkpoints_find(dir, from, path) : mr_checkpoint_latest(dir, path);

	return st != MR_OK && *from ? mr_fail_in(st, "--from") : st;
}

mr_status mr_checkpoints_backend(const char *dir, const char *from, char **backend, char **choices)
{
	char *path = NULL, *first = first_parts(dir);
	mr_checkpoint *ck = NULL;
	mr_status st;

	*backend = *choices = NULL;
	st = find_resumed(first ? first : dir, from, &path);
	if (st == MR_OK)
		st = mr_checkpoint_open(path, &ck);
	if (st == MR_OK) {
		const char *b = mr_checkpoint_fact(ck, "backend"), *c = mr_checkpoint_fact(ck, "choices");

		*backend = strdup(b ? b : "");
		*choices = strdup(c ? c : "");
		if (!*backend || !*choices)
			st = mr_fail(MR_ERESOURCE, "no memory for what a checkpoint says");
	}
	mr_checkpoint_close(ck);
	free(first);
	free(path);
	return st;
}

static mr_status resume_from(mr_session *s, const char *path, uint64_t *step, double *best)
{
	mr_checkpoint *ck = NULL;
	const char *loss, *largest;
	mr_status st = mr_checkpoint_open(path, &ck);

	if (st == MR_OK)
		st = mr_run_manifest_fit(s, ck);
	if (st == MR_OK)
		st = load_all(s, ck);
	if (st != MR_OK) {
		mr_checkpoint_close(ck);
		return mr_fail_in(st, "%s", path);
	}
	warn_threads(s, ck);
	warn_isa(s, ck);
	tell_rate(s, ck);
	largest = mr_checkpoint_fact(ck, "gradient");
	if (s->known && largest)
		s->known->before = strtod(largest, NULL);
	loss = mr_checkpoint_fact(ck, s->data->trains_only ? "best_train_loss" : "best_val_loss");
	if (!loss) /* made by a build with one name for both */
		loss = mr_checkpoint_fact(ck, "best_val_loss");
	*best = loss ? strtod(loss, NULL) : (double)NAN;
	*step = mr_checkpoint_step(ck);
	mr_checkpoint_close(ck);
	return MR_OK;
}

mr_status mr_checkpoints_resume(mr_session *s, const char *dir, const char *from, uint64_t *step, double *best)
{
	char *path = NULL, *parts = NULL;
	mr_status st = MR_OK;

	if (s->ranks)
		MR_TRY(mr_rank_fetch(s, dir, from, &parts));
	if (!parts)
		st = find_resumed(dir, from, &path);
	if (st == MR_OK)
		st = resume_from(s, parts ? parts : path, step, best);
	mr_rank_fetch_drop(dir, parts);
	free(path);
	return st;
}

mr_status mr_checkpoints_load_model(const char *where, const mr_graph *g, const mr_state_list *model,
				    uint64_t *step)
{
	mr_checkpoint *ck = NULL;
	char *path = NULL;
	mr_status st;

	if (mr_checkpoint_open(where, &ck) != MR_OK) {
		MR_TRY(mr_checkpoint_latest(where, &path));
		st = mr_checkpoint_open(path, &ck);
		free(path);
		MR_TRY(st);
	}
	st = mr_checkpoint_verify(ck);
	if (st == MR_OK)
		st = load_list(g, ck, "model.safetensors", model, NULL);
	*step = mr_checkpoint_step(ck);
	mr_checkpoint_close(ck);
	return st;
}
