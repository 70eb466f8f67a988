#include "report/metrics_log.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"

#define FLUSH_SECONDS 1.0

struct mr_metrics_log {
	FILE *file;
	char *path;
	double flushed; /* monotonic seconds */
	int error;      /* errno of the first failure: later failures follow from it */
};

/* The figures of an evaluation: keys for validation samples and for training samples. */
static const struct {
	size_t offset;
	const char *key[2];
} evaluated[] = {
	{offsetof(mr_metrics_row, val_loss), {"val_loss", "train_loss"}},
	{offsetof(mr_metrics_row, perplexity), {"val_perplexity", "train_perplexity"}},
	{offsetof(mr_metrics_row, accuracy), {"val_accuracy", "train_accuracy"}},
	{offsetof(mr_metrics_row, top5), {"val_top5", "train_top5"}},
	{offsetof(mr_metrics_row, auc), {"val_auc", "train_auc"}},
};
#define N_EVALUATED (sizeof(evaluated) / sizeof(evaluated[0]))

mr_metrics_row mr_metrics_row_at(uint64_t step)
{
	return (mr_metrics_row){
		.step = step,
		.loss = NAN,
		.lr = NAN,
		.seconds = NAN,
		.grad_norm = NAN,
		.stage_grad_norm = NAN,
		.rate = NAN,
		.gflops = NAN,
		.val_loss = NAN,
		.perplexity = NAN,
		.accuracy = NAN,
		.top5 = NAN,
		.auc = NAN,
	};
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

mr_status mr_metrics_log_open(const char *path, mr_metrics_log **out)
{
	mr_metrics_log *log = calloc(1, sizeof(*log));
	mr_status st;

	if (!log || !(log->path = strdup(path))) {
		free(log);
		return mr_fail(MR_ERESOURCE, "no memory to open %s", path);
	}
	log->file = fopen(path, "ae");
	if (!log->file) {
		st = mr_fail(MR_EIO, "%s: cannot open: %s", path, strerror(errno));
		free(log->path);
		free(log);
		return st;
	}
	log->flushed = now();
	*out = log;
	return MR_OK;
}

static mr_status cannot_write(const mr_metrics_log *log, int error)
{
	bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;

	return mr_fail(full ? MR_ERESOURCE : MR_EIO, "%s: cannot write: %s", log->path, strerror(error));
}

static mr_status refused(mr_metrics_log *log)
{
	if (!log->error)
		log->error = errno;
	return cannot_write(log, log->error);
}

static void put_double(mr_json_writer *w, const char *key, double x)
{
	if (isnan(x))
		return;
	mr_json_key(w, key);
	mr_json_put_double(w, x);
}

static void put_count(mr_json_writer *w, const char *key, uint64_t x)
{
	if (!x)
		return;
	mr_json_key(w, key);
	mr_json_put_uint(w, x);
}

mr_status mr_metrics_log_put(mr_metrics_log *log, const mr_metrics_row *row)
{
	mr_json_writer w;

	mr_json_init(&w, log->file, false);
	mr_json_begin_object(&w);
	mr_json_key(&w, "step");
	mr_json_put_uint(&w, row->step);
	put_double(&w, "loss", row->loss);
	put_double(&w, "lr", row->lr);
	put_count(&w, "samples", row->samples);
	put_count(&w, "tokens", row->tokens);
	put_double(&w, "seconds", row->seconds);
	put_double(&w, "grad_norm", row->grad_norm);
	put_double(&w, "stage_grad_norm", row->stage_grad_norm);
	put_double(&w, "rate", row->rate);
	put_double(&w, "gflops", row->gflops);
	for (size_t i = 0; i < N_EVALUATED; i++)
		put_double(&w, evaluated[i].key[row->trains_only],
			   *(const double *)((const char *)row + evaluated[i].offset));
	mr_json_end_object(&w);
	if (mr_json_finish(&w) != MR_OK)
		return refused(log);
	return now() - log->flushed >= FLUSH_SECONDS ? mr_metrics_log_flush(log) : MR_OK;
}

mr_status mr_metrics_log_flush(mr_metrics_log *log)
{
	log->flushed = now();
	return fflush(log->file) || ferror(log->file) ? refused(log) : MR_OK;
}

mr_status mr_metrics_log_sync(const mr_metrics_log *log)
{
	/* EINVAL: a pipe or a terminal, which has nothing to sync */
	return fsync(fileno(log->file)) && errno != EINVAL ? cannot_write(log, errno) : MR_OK;
}

mr_status mr_metrics_log_close(mr_metrics_log *log)
{
	mr_status st = MR_OK;
	bool before;

	if (!log)
		return MR_OK;
	before = ferror(log->file) != 0;
	if (fclose(log->file) || before)
		st = refused(log);
	free(log->path);
	free(log);
	return st;
}

static double get_double(const mr_json *j, const char *key)
{
	const mr_json *x = mr_json_get(j, key);

	if (mr_json_is_null(x) && x)
		return INFINITY;
	return mr_json_is_number(x) ? mr_json_double(x) : NAN;
}

static uint64_t get_count(const mr_json *j, const char *key)
{
	int64_t x = mr_json_int(mr_json_get(j, key));

	return x > 0 ? (uint64_t)x : 0;
}

/* Is the line a metrics line? Then *@row is filled. */
static bool parse(const char *line, size_t len, mr_metrics_row *row)
{
	mr_json *j = NULL;
	bool well, trains_only;

	if (!len || line[len - 1] != '\n' || mr_json_read_text(line, len, &j) != MR_OK)
		return false;
	well = mr_json_is_int(mr_json_get(j, "step")) && mr_json_int(mr_json_get(j, "step")) >= 0;
	trains_only = well && mr_json_get(j, "train_loss");
	if (well)
		*row = (mr_metrics_row){
			.step = (uint64_t)mr_json_int(mr_json_get(j, "step")),
			.loss = get_double(j, "loss"),
			.lr = get_double(j, "lr"),
			.samples = get_count(j, "samples"),
			.tokens = get_count(j, "tokens"),
			.seconds = get_double(j, "seconds"),
			.grad_norm = get_double(j, "grad_norm"),
			.stage_grad_norm = get_double(j, "stage_grad_norm"),
			.rate = get_double(j, "rate"),
			.gflops = get_double(j, "gflops"),
			.trains_only = trains_only,
		};
	for (size_t i = 0; well && i < N_EVALUATED; i++)
		*(double *)((char *)row + evaluated[i].offset) = get_double(j, evaluated[i].key[trains_only]);
	mr_json_destroy(j);
	return well;
}

/* Calls @take with each metrics line and the offset after it, until it returns false; a torn last line is skipped. */
static mr_status scan(FILE *f, const char *path, bool (*take)(void *arg, const mr_metrics_row *row, long end),
		      void *arg)
{
	size_t room = 0, number = 0, bad = 0;
	char *line = NULL;
	mr_metrics_row row;
	ssize_t len;

	while ((len = getline(&line, &room, f)) > 0) {
		number++;
		if (!parse(line, (size_t)len, &row)) {
			bad = bad ? bad : number;
			continue;
		}
		if (bad || !take(arg, &row, ftell(f)))
			break;
	}
	free(line);
	if (ferror(f))
		return mr_fail(MR_EIO, "%s: cannot read: %s", path, strerror(errno));
	if (bad && len > 0)
		return mr_fail(MR_EIO, "%s:%zu: no metrics line, but line %zu is one again", path, bad, number);
	return MR_OK;
}

struct cut {
	uint64_t step;
	long end;
};

static bool take_until(void *arg, const mr_metrics_row *row, long end)
{
	struct cut *cut = arg;

	if (row->step > cut->step)
		return false;
	cut->end = end;
	return true;
}

mr_status mr_metrics_truncate(const char *path, uint64_t step)
{
	struct cut cut = {.step = step};
	FILE *f = fopen(path, "r+e");
	mr_status st;

	if (!f && errno == ENOENT)
		return MR_OK;
	if (!f)
		return mr_fail(MR_EIO, "%s: cannot open: %s", path, strerror(errno));
	st = scan(f, path, take_until, &cut);
	if (st == MR_OK && (ftruncate(fileno(f), cut.end) || fsync(fileno(f))))
		st = mr_fail(MR_EIO, "%s: cannot cut it to %ld bytes: %s", path, cut.end, strerror(errno));
	fclose(f);
	return st;
}

struct rows {
	mr_metrics_row *at;
	size_t n, room;
	bool failed;
};

static bool take_row(void *arg, const mr_metrics_row *row, long end)
{
	struct rows *rows = arg;

	(void)end;
	if (rows->n == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 256;
		mr_metrics_row *more = realloc(rows->at, room * sizeof(*more));

		if (!more) {
			rows->failed = true;
			return false;
		}
		rows->at = more;
		rows->room = room;
	}
	rows->at[rows->n++] = *row;
	return true;
}

mr_status mr_metrics_read(const char *path, mr_metrics_row **out, size_t *n)
{
	struct rows rows = {0};
	FILE *f = fopen(path, "re");
	mr_status st;

	if (!f)
		return mr_fail(MR_EIO, "%s: cannot open: %s", path, strerror(errno));
	st = scan(f, path, take_row, &rows);
	fclose(f);
	if (st == MR_OK && rows.failed)
		st = mr_fail(MR_ERESOURCE, "%s: no memory for %zu lines", path, rows.n);
	if (st != MR_OK) {
		free(rows.at);
		return st;
	}
	*out = rows.at;
	*n = rows.n;
	return MR_OK;
}
