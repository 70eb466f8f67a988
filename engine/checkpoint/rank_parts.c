#include "checkpoint/rank_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/notice.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/str.h"
#include "checkpoint/gather.h"
#include "checkpoint/part_layout.h"
#include "checkpoint/part_names.h"
#include "checkpoint/rank_fetch.h"
#include "checkpoint/rundir.h"
#include "checkpoint/state_copy.h"
#include "ranks/rank_state.h"
#include "session/average_trigger.h"
#include "store/crc_blocks.h"

#define LOOKS 5           /* for a file that a network's folder shows late */
#define LOOK_NS 100000000

static const mr_ranks *ranks_of(const mr_session *s)
{
	return s->ranks;
}

bool mr_rank_parts_write(const mr_session *s)
{
	return s->ranks && (s->rank_parts == MR_PARTS_SHARED || s->rank_parts == MR_PARTS_LOCAL);
}

/* The folder of this rank's checkpoints, under run.dir of its own configuration. */
static char *own_folder(const mr_session *s)
{
	char *dir = mr_path_join(s->job->run_dir, "checkpoints"), *own;

	own = dir ? mr_part_folder(dir, ranks_of(s)->self) : NULL;
	free(dir);
	return own;
}

/* --- who writes --- */

static char *sign_path(const char *run_dir, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), ".shared-%.40s", text);
	return mr_path_join(run_dir, name);
}

static void make_nonce(char text[24])
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(text, 24, "%016" PRIx64, mr_mix64((uint64_t)now.tv_nsec + ((uint64_t)now.tv_sec << 30) +
						   ((uint64_t)getpid() << 8)));
}

/* Is there the file that rank 0 has made? */
static bool sees(const mr_session *s, const char *text)
{
	char *path = sign_path(s->job->run_dir, text), *found;
	bool seen = false;
	size_t len;

	for (int i = 0; path && i < LOOKS && !seen; i++) {
		if (i)
			nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		if (mr_file_read_regular(path, 64, &found, &len) != MR_OK)
			continue;
		seen = !strncmp(found, text, len) && len == strlen(text);
		free(found);
	}
	free(path);
	return seen;
}

/* *@blind: the first rank that does not see the folder of rank 0; 0: all do. */
static mr_status look(mr_session *s, const char *run_dir, uint32_t *blind)
{
	char text[24], *path;
	mr_status st;
	mr_note n;

	*blind = 0;
	make_nonce(text);
	path = sign_path(run_dir, text);
	st = path ? mr_result_write(path, text, strlen(text), MR_RESULT_UNSYNCED)
		  : mr_fail(MR_ERESOURCE, "no memory for a path");
	if (st == MR_OK)
		st = mr_rank_call(s, MR_RANK_LOOK, 0, text);
	for (uint32_t i = 1; st == MR_OK && i < ranks_of(s)->n; i++) {
		st = mr_rank_hear(s, i, &n);
		if (st == MR_OK && !n.number[0] && !*blind)
			*blind = i;
	}
	if (path)
		unlink(path);
	free(path);
	return st;
}

mr_status mr_rank_parts_begin(mr_session *s, const char *run_dir)
{
	uint32_t blind = 0;
	char name[96];

	if (!s->ranks)
		return MR_OK;
	s->rank_parts = (int)s->job->checkpoint.parts;
	if (s->n_shares && (s->rank_parts == MR_PARTS_SHARED || s->rank_parts == MR_PARTS_LOCAL))
		return mr_job_blame(s->job, MR_JOB_CHECKPOINT, "parts",
				    mr_fail(MR_ECONFIG, "shares of a weight are joined by rank 0, which writes all: "
							"set it to \"rank0\""));
	if (s->n_shares)
		s->rank_parts = MR_PARTS_RANK0;
	if (s->rank_parts == MR_PARTS_AUTO || s->rank_parts == MR_PARTS_SHARED)
		MR_TRY(look(s, run_dir, &blind));
	if (s->rank_parts == MR_PARTS_SHARED && blind)
		return mr_job_blame(s->job, MR_JOB_CHECKPOINT, "parts",
				    mr_fail(MR_ECONFIG, "%s does not see the folder %s of rank 0",
					    mr_ranks_name(s->ranks, blind, name, sizeof(name)), run_dir));
	if (s->rank_parts == MR_PARTS_AUTO)
		s->rank_parts = blind ? MR_PARTS_LOCAL : MR_PARTS_SHARED;
	if (s->rank_parts == MR_PARTS_LOCAL)
		mr_notice("checkpoints: each rank keeps its parts in its own folder %s; millrace gather brings them "
			  "together (checkpoint.parts)", run_dir);
	if (mr_rank_parts_write(s))
		s->copy_bytes = 0; /* all wait for the disks, and none needs memory for a copy */
	return mr_rank_call(s, MR_RANK_WRITERS, (uint64_t)s->rank_parts, "");
}

/* --- measuring --- */

typedef struct own_weights {
	mr_state state;
	uint32_t self;
} own_weights;

static mr_status take_own(void *arg, const mr_saved_tensor *t, uint64_t at, uint64_t bytes, uint32_t rank)
{
	mr_saved_tensor part = *t;
	own_weights *o = arg;

	if (rank != o->self)
		return MR_OK;
	part.data = (uint8_t *)t->data + at;
	part.bytes = bytes;
	return mr_state_add(&o->state.model, &part, "%s", t->name);
}

/* The lists, and of the weights what this rank has. */
static mr_status measure_own(mr_session *s, mr_state *st, double *squares, char bad[160])
{
	const mr_run *run = mr_executor_run_of(&s->executor);
	own_weights own = {.self = ranks_of(s)->self};
	const mr_saved_tensor *found = NULL;
	mr_status err;

	bad[0] = '\0';
	MR_TRY(mr_over_ranks_mirror(s->executor.engine));
	MR_TRY(mr_state_of_run(run, st));
	mr_average_rename(s, st);
	err = mr_rank_state_check(run, st);
	for (size_t i = 0; err == MR_OK && i < st->model.n; i++)
		err = mr_rank_state_cut(run, &st->model.at[i], take_own, &own);
	if (err == MR_OK)
		err = mr_state_copy(&own.state, &s->place, NULL, squares, &found);
	if (err == MR_OK && found)
		snprintf(bad, 160, "%s", found->name);
	mr_state_fini(&own.state);
	if (err != MR_OK)
		mr_state_fini(st);
	return err;
}

mr_status mr_rank_parts_measure(mr_session *s, mr_state *st, double *squares, char bad[160])
{
	mr_status err;
	mr_note n;

	MR_TRY(mr_rank_call(s, MR_RANK_MEASURE, 0, ""));
	MR_TRY(measure_own(s, st, squares, bad));
	for (uint32_t i = 1; i < ranks_of(s)->n; i++) {
		err = mr_rank_hear(s, i, &n);
		if (err != MR_OK) {
			mr_state_fini(st);
			return err;
		}
		*squares += n.value[0];
		if (!bad[0])
			snprintf(bad, 160, "%.159s", n.text);
	}
	return MR_OK;
}

/* --- shared: all write into the same files --- */

static mr_status tell_to_write(void *arg, const char *temp)
{
	return mr_rank_call(arg, MR_RANK_WRITE, 0, temp);
}

/* For the first file: wait until all others have written. */
static mr_status add_others(void *arg, size_t file, uint32_t *crcs, size_t n, uint64_t bytes)
{
	const mr_ranks *r = ranks_of(arg);
	uint32_t *other = malloc((n + 1) * sizeof(*other));
	mr_status st = other ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for %zu checksums", n);
	mr_note note;

	for (uint32_t i = 1; st == MR_OK && file == 0 && i < r->n; i++)
		st = mr_rank_hear(arg, i, &note);
	for (uint32_t i = 1; st == MR_OK && i < r->n; i++) {
		st = r->by->receive(i, other, n * sizeof(*other));
		if (st == MR_OK)
			mr_crc_blocks_add(crcs, other, n, bytes);
	}
	free(other);
	return st;
}

static mr_status save_shared(mr_session *s, const char *dir, const mr_checkpoint_draft *d, const mr_part_layout *l)
{
	mr_checkpoint_others others = {.arg = s, .begin = tell_to_write, .end = add_others};
	mr_checkpoint_content c = d->content;
	mr_checkpoint_shard file[3];

	c.n_parts = mr_part_layout_files(l, file);
	c.parts = file;
	c.others = &others;
	return mr_checkpoint_save(dir, &c, NULL);
}

/* Another rank: its parts into the files in the temporary folder @temp; then its checksums. */
static mr_status write_shared(mr_session *s, const mr_part_layout *l, const char *temp)
{
	mr_checkpoint_content c = {.n_threads = s->place.n_cores_used + s->place.n_cores_idle};
	char *dir = mr_path_join(s->job->run_dir, "checkpoints");
	mr_checkpoint_shard file[3];
	uint32_t *crcs[3] = {NULL};
	mr_status st, told;
	mr_note n = {0};

	c.n_parts = mr_part_layout_files(l, file);
	c.parts = file;
	st = dir ? mr_checkpoint_write_pieces(dir, temp, &c, crcs) : mr_fail(MR_ERESOURCE, "no memory for a path");
	told = mr_rank_answer(s, st, &n);
	for (size_t i = 0; st == MR_OK && told == MR_OK && i < c.n_parts; i++)
		told = ranks_of(s)->by->send(0, crcs[i], mr_crc_blocks_of(l->file[i].bytes) * sizeof(**crcs));
	for (size_t i = 0; i < c.n_parts; i++)
		free(crcs[i]);
	free(dir);
	return told;
}

/* --- local: each rank has a checkpoint of its own parts --- */

static void put_fact(mr_saved_text *fact, size_t *n, const char *key, const char *value)
{
	fact[(*n)++] = (mr_saved_text){key, value};
}

/* "model.safetensors 8192 ..." */
static void print_files(const mr_part_layout *l, mr_strbuf *out)
{
	for (size_t i = 0; i < l->n_files; i++)
		mr_strbuf_printf(out, "%s%s %" PRIu64, i ? " " : "", l->file[i].name, l->file[i].bytes);
}

static void print_hosts(const mr_ranks *r, mr_strbuf *out)
{
	for (uint32_t i = 0; i < r->n; i++)
		mr_strbuf_printf(out, "%s%s", i ? " " : "", r->at[i].host);
}

/* Save this rank's parts into @folder. @whole: rank 0's, the content of the checkpoint; else NULL. */
static mr_status save_part(const mr_session *s, const char *folder, const mr_part_layout *l, const char *save,
			   const mr_checkpoint_content *whole)
{
	const mr_ranks *r = ranks_of(s);
	char rank[16], ranks[16], text[256];
	mr_saved_text fact[MR_RUN_MANIFEST_MOST + 6];
	mr_checkpoint_shard file = {.name = MR_PART_FILE};
	mr_checkpoint_content c = {.step = mr_over_ranks_step(s->executor.engine), .parts = &file,
				   .n_parts = 1, .facts = fact, .keep_all = true,
				   .n_threads = s->place.n_cores_used + s->place.n_cores_idle};
	mr_state_list list = {0};
	mr_strbuf files = {0}, hosts = {0};
	mr_status st;

	if (whole) {
		c = *whole;
		c.parts = &file;
		c.n_parts = 1;
		memcpy(fact, whole->facts, whole->n_facts * sizeof(*fact));
		c.facts = fact;
	}
	print_files(l, &files);
	print_hosts(r, &hosts);
	snprintf(rank, sizeof(rank), "%u", r->self);
	snprintf(ranks, sizeof(ranks), "%u", r->n);
	snprintf(text, sizeof(text), "part %u of 0 to %u of the checkpoint of step %" PRIu64 ", of host %s: millrace "
				     "gather brings them together", r->self, r->n - 1, c.step, r->at[r->self].host);
	put_fact(fact, &c.n_facts, MR_PART_RANK, rank);
	put_fact(fact, &c.n_facts, MR_PART_RANKS, ranks);
	put_fact(fact, &c.n_facts, MR_PART_SAVE, save);
	put_fact(fact, &c.n_facts, MR_PART_TEXT, text);
	if (whole) {
		put_fact(fact, &c.n_facts, MR_PART_FILES, mr_strbuf_text(&files));
		put_fact(fact, &c.n_facts, MR_PART_HOSTS, mr_strbuf_text(&hosts));
	}
	st = mr_part_layout_stretches(l, &list);
	file.tensors = list.at;
	file.n_tensors = list.n;
	if (st == MR_OK)
		st = mr_checkpoint_save(folder, &c, NULL);
	mr_state_list_fini(&list);
	mr_strbuf_fini(&files);
	mr_strbuf_fini(&hosts);
	return st;
}

/* Rank 0's is the last, so that what it has is whole. */
static mr_status save_local(mr_session *s, const char *dir, const mr_checkpoint_draft *d, const mr_part_layout *l,
			    const char *save)
{
	char *folder = mr_part_folder(dir, 0);
	mr_status st = folder ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a path");
	mr_note n;

	for (uint32_t i = 1; st == MR_OK && i < ranks_of(s)->n; i++)
		st = mr_rank_hear(s, i, &n);
	if (st == MR_OK)
		st = mr_rundir_make(dir);
	if (st == MR_OK)
		st = save_part(s, folder, l, save, &d->content);
	if (st == MR_OK)
		st = mr_rank_call(s, MR_RANK_KEEP, d->content.best, "");
	free(folder);
	return st;
}

static mr_status keep_local(const mr_session *s, bool best)
{
	const mr_job_checkpoint *job = &s->job->checkpoint;
	mr_checkpoint_content c = {.step = mr_over_ranks_step(s->executor.engine), .best = best,
				   .keep = (uint32_t)job->keep, .keep_every = (uint64_t)job->keep_every};
	char *folder = own_folder(s);
	mr_status st = folder ? mr_checkpoint_keep(folder, &c) : mr_fail(MR_ERESOURCE, "no memory for a path");

	free(folder);
	return st;
}

/* --- both --- */

mr_status mr_rank_parts_save(mr_session *s, const char *dir, const mr_checkpoint_draft *d)
{
	mr_note n = {.number = {MR_RANK_SAVE}};
	mr_part_layout l;
	mr_status st;

	make_nonce(n.text);
	MR_TRY(mr_part_layout_begin(&l, s, &d->state));
	st = mr_part_layout_headers(&l, d->metadata, &n.number[1]);
	if (st == MR_OK)
		st = mr_over_ranks_call(s->executor.engine, &n);
	if (st == MR_OK)
		st = mr_part_layout_make(&l, &n.number[1]);
	if (st == MR_OK)
		st = s->rank_parts == MR_PARTS_SHARED ? save_shared(s, dir, d, &l) : save_local(s, dir, d, &l, n.text);
	mr_part_layout_fini(&l);
	return st;
}

/* Shared: rank 0 says where, unless it has failed and ends. */
static mr_status follow_write(mr_session *s, const mr_part_layout *l)
{
	mr_note n;

	MR_TRY(mr_ranks_wait_for(ranks_of(s), 0, &n));
	if (n.kind != MR_RANK_PART || n.number[0] != MR_RANK_WRITE)
		return mr_fail(MR_ESTOPPED, "rank 0 ends");
	return write_shared(s, l, n.text);
}

static mr_status follow_save(mr_session *s, const mr_note *said)
{
	mr_part_layout l;
	mr_note n = {0};
	char *folder;
	mr_state state;
	mr_status st;

	MR_TRY(mr_state_of_run(mr_executor_run_of(&s->executor), &state));
	mr_average_rename(s, &state);
	st = mr_part_layout_begin(&l, s, &state);
	if (st == MR_OK)
		st = mr_part_layout_make(&l, &said->number[1]);
	if (st == MR_OK && s->rank_parts == MR_PARTS_SHARED) {
		st = follow_write(s, &l);
	} else if (st == MR_OK) {
		folder = own_folder(s);
		st = folder ? save_part(s, folder, &l, said->text, NULL)
			    : mr_fail(MR_ERESOURCE, "no memory for a path");
		free(folder);
		st = mr_rank_answer(s, st, &n);
	}
	mr_part_layout_fini(&l);
	mr_state_fini(&state);
	return st;
}

/* From now on this rank writes so. */
static mr_status follow_parts(mr_session *s, int parts)
{
	char *folder = NULL, *dir = NULL;
	mr_status st = MR_OK;

	s->rank_parts = parts;
	if (parts == MR_PARTS_LOCAL) {
		dir = mr_path_join(s->job->run_dir, "checkpoints");
		folder = own_folder(s);
		st = dir && folder ? mr_rundir_make(dir) : mr_fail(MR_ERESOURCE, "no memory for a path");
		if (st == MR_OK)
			mr_checkpoint_sweep(folder);
	}
	free(dir);
	free(folder);
	return st;
}

static mr_status follow_measure(mr_session *s)
{
	mr_note n = {0};
	mr_state st;
	char bad[160];

	MR_TRY(measure_own(s, &st, &n.value[0], bad));
	mr_state_fini(&st);
	snprintf(n.text, sizeof(n.text), "%s", bad);
	return mr_rank_answer(s, MR_OK, &n);
}

mr_status mr_rank_parts_follow(void *session, const mr_note *said)
{
	mr_session *s = session;
	mr_note n = {0};

	switch (said->number[0]) {
	case MR_RANK_LOOK:
		n.number[0] = sees(s, said->text);
		return mr_rank_answer(s, MR_OK, &n);
	case MR_RANK_WRITERS:
		return follow_parts(s, (int)said->number[1]);
	case MR_RANK_MEASURE:
		return follow_measure(s);
	case MR_RANK_SAVE:
		return follow_save(s, said);
	case MR_RANK_HAVE:
		return mr_rank_fetch_have(s, said);
	case MR_RANK_SEND:
		return mr_rank_fetch_send(s, said);
	case MR_RANK_KEEP:
		return keep_local(s, said->number[1] != 0);
	default:
		return mr_fail(MR_EINVAL, "rank 0 says %llu of a checkpoint", (unsigned long long)said->number[0]);
	}
}
