/*
 * reader_records.c - files that hold a sample in each of their records: rows of an array of NumPy, for every kind of
 * model; pictures of an IDX file and of CIFAR's binary form, for models of such pictures.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/idx.h"
#include "formats/number_file.h"
#include "reader/number_rows.h"
#include "reader/reader.h"

typedef struct records {
	mr_reader base;
	mr_number_rows rows;
	mr_number_file array;
	mr_idx idx;
	mr_contents *cifar;
	uint64_t n, at;    /* records; the next one */
	double *row;       /* [rows.width] */
	void *room;        /* a record */
} records;

static void close_records(mr_reader *r)
{
	records *s = (records *)r;

	mr_number_rows_fini(&s->rows);
	mr_number_file_close(&s->array);
	mr_idx_close(&s->idx);
	mr_contents_close(s->cifar);
	free(s->row);
	free(s->room);
	free(s);
}

static mr_status open_array(records *s, const char *path)
{
	const mr_number_file *a = &s->array;
	size_t width = s->rows.width;

	MR_TRY(mr_number_file_open(path, MR_NUMBER_F64, &s->array));
	s->n = a->rows;
	if (a->cols == width + 1 && s->base.form->inputs.n_columns)
		return mr_fail(MR_EDATA, "%s: rows of %llu numbers, where the model takes %zu: leave out the target",
			       path, (unsigned long long)a->cols, width);
	if (a->cols != width)
		return mr_fail(MR_EDATA, "%s: rows of %llu numbers, where the model takes %zu", path,
			       (unsigned long long)a->cols, width);
	return MR_OK;
}

static mr_status open_idx(records *s, const char *path)
{
	const mr_form *f = s->base.form;
	const mr_idx *x = &s->idx;

	MR_TRY(mr_idx_open(&s->idx, path, MR_IDX_IMAGES));
	s->idx.keeps = false;
	MR_TRY(mr_idx_load(&s->idx));
	s->n = x->n;
	if (f->channels == 1 && x->rows == f->rows && x->cols == f->cols)
		return MR_OK;
	return mr_fail(MR_EDATA, "%s: grey pictures of %u x %u, where the model takes %s ones of %lld x %lld",
		       path, x->cols, x->rows, f->channels == 1 ? "grey" : "coloured", (long long)f->cols,
		       (long long)f->rows);
}

static mr_status open_cifar(records *s, const char *path)
{
	uint64_t bytes, record = (uint64_t)s->base.form->record;

	MR_TRY(mr_contents_open(path, &s->cifar));
	bytes = mr_contents_bytes(s->cifar);
	s->n = bytes / record;
	if (bytes % record == 0)
		return MR_OK;
	return mr_fail(MR_EDATA, "%s: %llu bytes are not a whole number of records of %llu bytes", path,
		       (unsigned long long)bytes, (unsigned long long)record);
}

static bool is_bin(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".bin");
}

static mr_status open_file(records *s, const char *path, mr_dtype dtype)
{
	const mr_form *f = s->base.form;
	size_t record;

	MR_TRY(mr_number_rows_init(&s->rows, f, dtype));
	if (mr_number_file_is_array(path))
		MR_TRY(open_array(s, path));
	else if (f->record && is_bin(path))
		MR_TRY(open_cifar(s, path));
	else
		MR_TRY(open_idx(s, path));
	record = s->cifar ? (size_t)f->record : s->rows.width * sizeof(double);
	s->row = calloc(s->rows.width, sizeof(*s->row));
	s->room = malloc(record);
	return s->row && s->room ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a record");
}

static mr_status open_records(const mr_form *f, const char *path, mr_dtype dtype, mr_reader **out)
{
	records *s = calloc(1, sizeof(*s));
	mr_status st;

	if (!s)
		return mr_fail(MR_ERESOURCE, "no memory to read records");
	s->base = (mr_reader){.kind = &mr_reader_records, .form = f, .dtype = dtype};
	st = open_file(s, path, dtype);
	if (st != MR_OK) {
		close_records(&s->base);
		return st;
	}
	*out = &s->base;
	return MR_OK;
}

static void take_array(records *s)
{
	const void *from = mr_number_file_at(&s->array, s->at * s->array.cols, s->array.cols, s->room);

	for (size_t i = 0; i < s->rows.width; i++)
		s->row[i] = mr_number_file_value(&s->array, from, i);
}

static void take_idx(records *s)
{
	const uint8_t *from = mr_contents_at(s->idx.in, s->idx.header + s->at * s->rows.width, s->rows.width, s->room);

	for (size_t i = 0; i < s->rows.width; i++)
		s->row[i] = from[i];
}

/* A plane for each channel. */
static void take_cifar(records *s, mr_reader_sample *out)
{
	const mr_form *f = s->base.form;
	size_t record = (size_t)f->record, width = s->rows.width, channels = (size_t)f->channels;
	size_t plane = width / channels;
	const uint8_t *from = mr_contents_at(s->cifar, s->at * record, record, s->room);
	char label[8];

	for (size_t i = 0; i < width; i++)
		s->row[i] = from[record - width + i % channels * plane + i / channels];
	snprintf(label, sizeof(label), "%u", from[f->label_at]);
	out->has_target = true;
	out->target = mr_reader_class(f, label);
}

static mr_status next(mr_reader *r, void *input, mr_reader_sample *out)
{
	records *s = (records *)r;
	mr_contents *in = s->cifar ? s->cifar : s->idx.in ? s->idx.in : s->array.in;
	mr_status st;

	if (s->at == s->n)
		return MR_OK;
	out->got = true;
	if (s->cifar)
		take_cifar(s, out);
	else if (s->idx.in)
		take_idx(s);
	else
		take_array(s);
	MR_TRY(mr_contents_check(in));
	r->skips = true;
	st = mr_number_rows_put(&s->rows, s->row, s->at++, input);
	return st == MR_OK ? st : mr_fail_in(st, "%s", mr_contents_path(in));
}

bool mr_reader_is_records(const mr_form *f, const char *path)
{
	if (mr_number_file_is_array(path))
		return true;
	return !strcmp(f->files, "pictures") && ((f->record && is_bin(path)) || mr_idx_is_images(path));
}

const mr_reader_kind mr_reader_records = {.open = open_records, .next = next, .close = close_records};
