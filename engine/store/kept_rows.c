#include "store/kept_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/notice.h"
#include "base/result.h"
#include "base/stats.h"
#include "base/str.h"
#include "store/kept_path.h"

#define NAME "kept-layers.csv"
#define FIRST_WORDS "# millrace layers 1; "
#define COLUMNS "key,kind,samples,threads,f_s,i_s,w_s,u_s\n"
#define MAX_BYTES ((size_t)16 << 20)
#define MOST_ROWS 50000u
#define FARTHEST 3.0 /* doublings of samples and threads between a row and a layer that takes it */
#define MORE 1.25

const char *const mr_kept_word[MR_KEPT_WORDS] = {"processor", "instructions", "kernels", "program"};

bool mr_kept_rows_path(char *path, size_t size)
{
	return mr_kept_path(NAME, path, size);
}

bool mr_kept_rows_there(void)
{
	char path[4096];

	return mr_kept_rows_path(path, sizeof(path)) && !access(path, F_OK);
}

/* --- reading --- */

static bool is_time(double s)
{
	return s >= 0 && s < 1e6;
}

static bool read_row(const char *line, mr_kept_row *r)
{
	mr_kept_layer *l = &r->layer;
	int used = 0, n = sscanf(line, "%" SCNx64 ",%31[^,],%" SCNd64 ",%u,%lf,%lf,%lf,%lf%n", &r->key, r->kind,
				 &l->samples, &l->threads, &l->f, &l->i, &l->w, &l->u, &used);

	return n == 8 && line[used] == '\n' && l->samples > 0 && l->threads > 0 && is_time(l->f) && is_time(l->i) &&
	       is_time(l->w) && is_time(l->u);
}

static int by_key(const void *a, const void *b)
{
	const mr_kept_row *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->layer.samples != y->layer.samples)
		return x->layer.samples < y->layer.samples ? -1 : 1;
	return (x->layer.threads > y->layer.threads) - (x->layer.threads < y->layer.threads);
}

/* Value of @word in the first line; "": it is not there. */
static void head_value(const char *head, const char *word, char *value, size_t size)
{
	char want[40];
	const char *at;

	snprintf(want, sizeof(want), " %s=", word);
	at = strstr(head, want);
	snprintf(value, size, "%.*s", at ? (int)strcspn(at + strlen(want), ";\n") : 0, at ? at + strlen(want) : "");
}

/* Is the file of here, and whole? Else why not, in @why. */
static bool is_of_here(const char *text, mr_kept_words here, char *why, size_t size)
{
	char value[128], hash[32];
	const char *end = strchr(text, '\n');

	if (strncmp(text, FIRST_WORDS, strlen(FIRST_WORDS)) != 0 || !end ||
	    strncmp(end + 1, COLUMNS, strlen(COLUMNS)) != 0) {
		snprintf(why, size, "is not a file of this program");
		return false;
	}
	for (size_t i = 0; i < MR_KEPT_WORDS; i++) {
		head_value(text, mr_kept_word[i], value, sizeof(value));
		if (strcmp(value, here[i])) {
			snprintf(why, size, "was measured with %s %s, and this is %s", mr_kept_word[i], value, here[i]);
			return false;
		}
	}
	head_value(text, "hash", value, sizeof(value));
	snprintf(hash, sizeof(hash), "%016" PRIx64, mr_hash64(0, end + 1, strlen(end + 1)));
	snprintf(why, size, "is damaged");
	return !strcmp(value, hash);
}

static bool read_rows(mr_kept_rows *k, const char *text)
{
	const char *line = strchr(strchr(text, '\n') + 1, '\n') + 1;
	uint32_t room = 0;

	for (const char *c = line; *c; c++)
		room += *c == '\n';
	k->at = calloc(room + 1u, sizeof(*k->at));
	for (; k->at && *line; line = strchr(line, '\n') + 1)
		if (!strchr(line, '\n') || !read_row(line, &k->at[k->n++]))
			return false;
	return k->at != NULL;
}

static void read_file(const char *path, mr_kept_words words, mr_kept_rows *k)
{
	char *text, why[768] = "is damaged";
	size_t len;

	*k = (mr_kept_rows){0};
	if (access(path, F_OK))
		return;
	if (mr_file_read_regular(path, MAX_BYTES, &text, &len) != MR_OK) {
		mr_notice("warning: %s: times of layers are not taken from it", mr_error_text());
		return;
	}
	if (strlen(text) != len || !is_of_here(text, words, why, sizeof(why)) || !read_rows(k, text)) {
		mr_notice("warning: %s %s: it is ignored until millrace profile, or plan --auto "
			  "--measure, replaces it", path, why);
		mr_kept_rows_fini(k);
	}
	free(text);
}

void mr_kept_rows_read(mr_kept_rows *k, mr_kept_words words)
{
	char path[4096];

	*k = (mr_kept_rows){0};
	if (mr_kept_rows_path(path, sizeof(path)))
		read_file(path, words, k);
}

void mr_kept_rows_fini(mr_kept_rows *k)
{
	free(k->at);
	*k = (mr_kept_rows){0};
}

/* --- looking up --- */

/* Doublings between @r and a layer with these samples and threads; those of threads count MORE times, since how a layer
 * scales with threads varies more between layers. */
static double distance(const mr_kept_row *r, int64_t samples, uint32_t threads)
{
	const mr_kept_layer *l = &r->layer;

	return fabs(log2((double)l->samples / (double)samples)) +
	       MORE * fabs(log2((double)l->threads / threads));
}

/* The first row of @key or of a later one. */
static uint32_t first_of(const mr_kept_rows *k, uint64_t key)
{
	uint32_t low = 0, high = k->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (k->at[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const mr_kept_row *mr_kept_rows_nearest(const mr_kept_rows *k, uint64_t key, int64_t samples, uint32_t threads)
{
	const mr_kept_row *best = NULL;

	for (uint32_t i = first_of(k, key); i < k->n && k->at[i].key == key; i++)
		if (!best || distance(&k->at[i], samples, threads) < distance(best, samples, threads))
			best = &k->at[i];
	return best && distance(best, samples, threads) <= FARTHEST ? best : NULL;
}

bool mr_kept_rows_around(const mr_kept_rows *k, uint64_t key, int64_t samples, uint32_t threads,
			 const mr_kept_row *around[2])
{
	around[0] = around[1] = NULL;
	for (uint32_t i = first_of(k, key); i < k->n && k->at[i].key == key; i++) {
		const mr_kept_row *r = &k->at[i];

		if (r->layer.threads != threads)
			continue;
		if (r->layer.samples < samples && (!around[0] || r->layer.samples > around[0]->layer.samples))
			around[0] = r;
		if (r->layer.samples > samples && (!around[1] || r->layer.samples < around[1]->layer.samples))
			around[1] = r;
	}
	return around[0] && around[1];
}

uint32_t mr_kept_rows_same(const mr_kept_row *at, uint32_t n, const mr_kept_row *r)
{
	uint32_t i = 0;

	while (i < n && by_key(&at[i], r) != 0)
		i++;
	return i;
}

/* --- writing --- */

mr_status mr_kept_rows_add(mr_kept_rows *k, const mr_kept_row *fresh, uint32_t n)
{
	mr_kept_row *wide = realloc(k->at, (k->n + n + 1u) * sizeof(*wide));
	uint32_t left = 0;

	if (!wide)
		return mr_fail(MR_ERESOURCE, "no memory for the times of %u layers", n);
	k->at = wide;
	for (uint32_t i = 0; i < k->n && k->n + n <= MOST_ROWS; i++) /* too many: begin anew */
		if (mr_kept_rows_same(fresh, n, &k->at[i]) == n)
			k->at[left++] = k->at[i];
	memcpy(k->at + left, fresh, n * sizeof(*fresh));
	k->n = left + n;
	qsort(k->at, k->n, sizeof(*k->at), by_key);
	return MR_OK;
}

static mr_status write_file(const mr_kept_rows *k, mr_kept_words words, const char *path)
{
	mr_strbuf rows = {0}, all = {0};
	mr_status st;

	mr_strbuf_append(&rows, COLUMNS);
	for (uint32_t i = 0; i < k->n; i++) {
		const mr_kept_row *r = &k->at[i];

		mr_strbuf_printf(&rows, "%016" PRIx64 ",%s,%" PRId64 ",%u,%.6g,%.6g,%.6g,%.6g\n", r->key, r->kind,
				 r->layer.samples, r->layer.threads, r->layer.f, r->layer.i, r->layer.w, r->layer.u);
	}
	mr_strbuf_append(&all, FIRST_WORDS);
	for (size_t i = 0; i < MR_KEPT_WORDS; i++)
		mr_strbuf_printf(&all, "%s=%s; ", mr_kept_word[i], words[i]);
	mr_strbuf_printf(&all, "hash=%016" PRIx64 "\n%s", mr_hash64(0, mr_strbuf_text(&rows), rows.len),
			 mr_strbuf_text(&rows));
	st = rows.failed || all.failed ? mr_fail(MR_ERESOURCE, "no memory for %s", path)
				       : mr_result_write(path, all.data, all.len, MR_RESULT_OWN);
	mr_strbuf_fini(&rows);
	mr_strbuf_fini(&all);
	return st;
}

/* *@lock: the folder of @path, locked until it is closed. */
static mr_status lock_folder(char *path, int *lock)
{
	char *slash = strrchr(path, '/');
	mr_status st = MR_OK;

	*slash = '\0';
	*lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*lock < 0 || flock(*lock, LOCK_EX)) {
		st = mr_fail(MR_EIO, "%s: %s", path, strerror(errno));
		if (*lock >= 0)
			close(*lock);
	}
	*slash = '/';
	return st;
}

mr_status mr_kept_rows_store(mr_kept_words words, const mr_kept_row *fresh, uint32_t n, bool anew, uint32_t *rows)
{
	char path[4096];
	mr_kept_rows k = {0};
	mr_status st;
	int lock;

	MR_TRY(mr_kept_path_make(NAME, path, sizeof(path)));
	MR_TRY(lock_folder(path, &lock));
	if (!anew)
		read_file(path, words, &k);
	st = mr_kept_rows_add(&k, fresh, n);
	if (st == MR_OK)
		st = write_file(&k, words, path);
	*rows = k.n;
	mr_kept_rows_fini(&k);
	close(lock);
	return st;
}
