#include "checkpoint/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grown.h"
#include "base/str.h"
#include "checkpoint/part_names.h"

#define MOST_RANKS 65536u
#define MOST_FILES 8u
#define THREADS 4u /* that write */

char *mr_part_folder(const char *dir, uint32_t rank)
{
	char name[32];

	snprintf(name, sizeof(name), MR_CHECKPOINT_PARTS "%u", rank);
	return mr_path_join(dir, name);
}

static bool is_of(const char *path, uint32_t rank, uint64_t step, const char *save)
{
	const char *of, *its;
	mr_checkpoint *c;
	bool is;

	if (mr_checkpoint_open(path, &c) != MR_OK)
		return false;
	of = mr_checkpoint_fact(c, MR_PART_RANK);
	its = mr_checkpoint_fact(c, MR_PART_SAVE);
	is = mr_checkpoint_step(c) == step && of && its && strtoul(of, NULL, 10) == rank && !strcmp(its, save);
	mr_checkpoint_close(c);
	return is;
}

char *mr_part_find(const char *dir, uint32_t rank, uint64_t step, const char *save)
{
	char *folder = mr_part_folder(dir, rank), *path = NULL;
	mr_checkpoint_name *list = NULL;
	size_t n = 0;

	if (folder && mr_checkpoint_names(folder, &list, &n) != MR_OK)
		n = 0;
	for (size_t i = 0; i < n && !path; i++) {
		if (list[i].step != step)
			continue;
		path = mr_path_join(folder, list[i].name);
		if (path && !is_of(path, rank, step, save)) {
			free(path);
			path = NULL;
		}
	}
	free(list);
	free(folder);
	return path;
}

/* --- the parts --- */

static mr_status open_first(mr_part_set *set, const char *path)
{
	const char *rank, *ranks;
	mr_checkpoint *c;

	MR_TRY(mr_checkpoint_open(path, &c));
	rank = mr_checkpoint_fact(c, MR_PART_RANK);
	ranks = mr_checkpoint_fact(c, MR_PART_RANKS);
	set->step = mr_checkpoint_step(c);
	set->save = mr_checkpoint_fact(c, MR_PART_SAVE);
	set->hosts = mr_checkpoint_fact(c, MR_PART_HOSTS);
	set->n = ranks ? (uint32_t)strtoul(ranks, NULL, 10) : 0;
	if (!rank || strcmp(rank, "0") != 0 || !set->save || !set->hosts || set->n < 1 || set->n > MOST_RANKS) {
		mr_checkpoint_close(c);
		set->n = 0;
		return mr_fail(MR_ECKPT, "%s: is not rank 0's part of a checkpoint", path);
	}
	set->part = calloc(set->n, sizeof(*set->part));
	set->path = calloc(set->n, sizeof(*set->path));
	if (!set->part || !set->path || !(set->path[0] = strdup(path))) {
		mr_checkpoint_close(c);
		return mr_fail(MR_ERESOURCE, "%s: no memory for %u parts", path, set->n);
	}
	set->part[0] = c;
	return MR_OK;
}

mr_status mr_part_set_open(const char *path, const char *const *dirs, size_t n, mr_part_set *out)
{
	*out = (mr_part_set){0};
	MR_TRY(open_first(out, path));
	for (uint32_t r = 1; r < out->n; r++) {
		for (size_t i = 0; i < n && !out->path[r]; i++)
			out->path[r] = mr_part_find(dirs[i], r, out->step, out->save);
		if (out->path[r])
			MR_TRY(mr_checkpoint_open(out->path[r], &out->part[r]));
	}
	return MR_OK;
}

void mr_part_set_close(mr_part_set *set)
{
	for (uint32_t r = 0; set->part && set->path && r < set->n; r++) {
		mr_checkpoint_close(set->part[r]);
		free(set->path[r]);
	}
	free(set->part);
	free(set->path);
	*set = (mr_part_set){0};
}

/* The host of @rank, by the list of blank-separated names. */
static void print_host(const mr_part_set *set, uint32_t rank, mr_strbuf *out)
{
	const char *at = set->hosts;

	for (uint32_t i = 0; i < rank; i++) {
		at += strcspn(at, " ");
		at += *at != 0;
	}
	mr_strbuf_append_n(out, at, strcspn(at, " "));
}

mr_status mr_part_set_check(const mr_part_set *set)
{
	uint32_t n = 0;
	mr_strbuf text = {0};
	mr_status st = MR_OK;

	for (uint32_t r = 0; r < set->n; r++) {
		if (set->part[r])
			continue;
		mr_strbuf_printf(&text, "%srank %u (host ", n++ ? ", " : "", r);
		print_host(set, r, &text);
		mr_strbuf_append(&text, ")");
	}
	if (n)
		st = mr_fail(MR_ECKPT, "the checkpoint of step %" PRIu64 " has %u parts, and %s missing: %s",
			     set->step, set->n, n == 1 ? "that of one rank is" : "those of some ranks are",
			     mr_strbuf_text(&text));
	mr_strbuf_fini(&text);
	return st;
}

/* --- the whole --- */

/* What one part has of a file. */
typedef struct stretch {
	uint32_t file;
	int fd;
	uint64_t at, bytes, from;
} stretch;

typedef struct whole {
	const mr_part_set *set;
	int *fd;              /* [set->n] */
	mr_checkpoint_shard shard[MOST_FILES];
	char name[MOST_FILES][64];
	uint64_t bytes[MOST_FILES];
	uint32_t n_files;
	stretch *stretch;
	size_t n;
	mr_crc_piece *piece;  /* [n] */
	mr_saved_text *fact;
	size_t n_facts;
} whole;

static mr_status read_files(whole *w)
{
	const char *text = mr_checkpoint_fact(w->set->part[0], MR_PART_FILES);
	int len = 0;

	for (; text && *text && w->n_files < MOST_FILES; text += len) {
		uint32_t i = w->n_files;

		if (sscanf(text, " %63s %" SCNu64 "%n", w->name[i], &w->bytes[i], &len) < 2)
			break;
		w->shard[i].name = w->name[i];
		w->n_files++;
	}
	if (!w->n_files || *text)
		return mr_fail(MR_ECKPT, "%s: its list of files is damaged", w->set->path[0]);
	return MR_OK;
}

/* Tensor @t of the part of @rank, which is called by file and offset. */
static mr_status take_stretch(whole *w, uint32_t rank, const mr_saved_tensor *t)
{
	const char *colon = strrchr(t->name, ':');
	char *end = NULL;
	stretch s = {.fd = w->fd[rank], .bytes = t->bytes, .from = t->offset}, *grown;

	while (colon && s.file < w->n_files &&
	       (strlen(w->name[s.file]) != (size_t)(colon - t->name) ||
		strncmp(w->name[s.file], t->name, (size_t)(colon - t->name)) != 0))
		s.file++;
	s.at = colon ? strtoull(colon + 1, &end, 10) : 0;
	if (!colon || s.file == w->n_files || end == colon + 1 || *end)
		return mr_fail(MR_ECKPT, "%s: has bytes \"%.80s\", which are of no file of the checkpoint",
			       w->set->path[rank], t->name);
	grown = mr_grown(w->stretch, w->n, sizeof(*grown));
	if (!grown)
		return mr_fail(MR_ERESOURCE, "no memory for a list of %zu stretches", w->n + 1);
	w->stretch = grown;
	w->stretch[w->n++] = s;
	return MR_OK;
}

static mr_status take_part(whole *w, uint32_t rank)
{
	char *path = mr_path_join(w->set->path[rank], MR_PART_FILE);
	mr_safetensors *file = NULL;
	uint64_t bytes;
	mr_status st = path ? mr_checkpoint_verify(w->set->part[rank]) : mr_fail(MR_ERESOURCE, "no memory");

	if (st == MR_OK)
		st = mr_file_open(path, &w->fd[rank], &bytes);
	if (st == MR_OK)
		st = mr_checkpoint_tensors(w->set->part[rank], MR_PART_FILE, &file);
	for (size_t i = 0; st == MR_OK && i < mr_safetensors_count(file); i++)
		st = take_stretch(w, rank, mr_safetensors_at(file, i));
	mr_safetensors_close(file);
	free(path);
	return st;
}

static int by_place(const void *a, const void *b)
{
	const stretch *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Each byte of each file must be in one part. */
static mr_status make_pieces(whole *w)
{
	size_t i = 0;

	qsort(w->stretch, w->n, sizeof(*w->stretch), by_place);
	w->piece = calloc(w->n + 1, sizeof(*w->piece));
	if (!w->piece)
		return mr_fail(MR_ERESOURCE, "no memory for %zu pieces", w->n);
	for (uint32_t f = 0; f < w->n_files; f++) {
		uint64_t at = 0;

		w->shard[f].pieces = &w->piece[i];
		for (; i < w->n && w->stretch[i].file == f && w->stretch[i].at == at; i++) {
			const stretch *s = &w->stretch[i];

			w->piece[i] = (mr_crc_piece){.bytes = s->bytes, .from = s->from, .fd = s->fd};
			at += s->bytes;
			w->shard[f].n_pieces++;
		}
		if (at != w->bytes[f] || (i < w->n && w->stretch[i].file == f))
			return mr_fail(MR_ECKPT,
				       "the parts of step %" PRIu64 " do not fit: byte %" PRIu64 " of %" PRIu64
				       " of %s is in none of them, or in two",
				       w->set->step, at, w->bytes[f], w->name[f]);
	}
	return MR_OK;
}

/* The facts of the whole: those that the part of rank 0 has beside its own. */
static mr_status take_facts(whole *w)
{
	static const char *const own[] = {MR_PART_RANK, MR_PART_RANKS, MR_PART_SAVE, MR_PART_TEXT, MR_PART_FILES,
					  MR_PART_HOSTS};
	mr_saved_text fact;
	size_t n = 0;

	while (mr_checkpoint_fact_at(w->set->part[0], n).key)
		n++;
	w->fact = calloc(n + 1, sizeof(*w->fact));
	if (!w->fact)
		return mr_fail(MR_ERESOURCE, "no memory for %zu facts", n);
	for (size_t i = 0; (fact = mr_checkpoint_fact_at(w->set->part[0], i)).key; i++) {
		bool is_own = false;

		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			is_own |= !strcmp(fact.key, own[k]);
		if (!is_own)
			w->fact[w->n_facts++] = fact;
	}
	return MR_OK;
}

static void close_whole(whole *w)
{
	for (uint32_t r = 0; w->fd && r < w->set->n; r++)
		if (w->fd[r] >= 0)
			close(w->fd[r]);
	free(w->fd);
	free(w->stretch);
	free(w->piece);
	free(w->fact);
}

mr_status mr_part_set_write(const mr_part_set *set, const char *dir, bool best)
{
	whole w = {.set = set};
	mr_checkpoint_content c;
	mr_status st;

	MR_TRY(mr_part_set_check(set));
	w.fd = malloc(set->n * sizeof(*w.fd));
	if (!w.fd)
		return mr_fail(MR_ERESOURCE, "no memory for %u parts", set->n);
	for (uint32_t r = 0; r < set->n; r++)
		w.fd[r] = -1;
	st = read_files(&w);
	for (uint32_t r = 0; st == MR_OK && r < set->n; r++)
		st = take_part(&w, r);
	if (st == MR_OK)
		st = make_pieces(&w);
	if (st == MR_OK)
		st = take_facts(&w);
	c = (mr_checkpoint_content){.step = set->step, .parts = w.shard, .n_parts = w.n_files, .facts = w.fact,
				    .n_facts = w.n_facts, .n_threads = THREADS, .best = best, .keep_all = true};
	if (st == MR_OK)
		st = mr_checkpoint_save(dir, &c, NULL);
	close_whole(&w);
	return st;
}
