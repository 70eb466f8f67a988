/* errors_worst.c - the samples with the largest losses: their rows as they stand in the file, or their pictures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "nn/element.h"
#include "report/png.h"
#include "trained/errors_internal.h"

#define MOST_COLUMNS 24 /* of a row that is shown */
#define MOST_SIDE 96    /* pixels of a picture; a larger one is made smaller */

/* Where a sample comes from. */
typedef struct source {
	char *file;
	uint64_t line;
	char **value; /* [n_columns] */
} source;

typedef struct sources {
	source at[MR_WORST];
	char **column; /* [n_columns]; NULL: there are none */
	size_t n_columns, n_all;
} sources;

static char **copy(char *const *text, size_t n)
{
	char **to = calloc(n + 1, sizeof(*to));

	for (size_t i = 0; to && i < n; i++)
		to[i] = strdup(text[i]);
	return to;
}

static mr_status take_source(void *arg, const mr_data_origin *o)
{
	sources *s = arg;
	size_t n = o->n < MOST_COLUMNS ? o->n : MOST_COLUMNS;
	source *x = &s->at[o->which];

	if (!s->column && n) {
		s->column = copy(o->column, n);
		s->n_columns = n;
		s->n_all = o->n;
	}
	x->file = strdup(o->file);
	x->line = o->line;
	x->value = n ? copy(o->value, n) : NULL;
	return x->file && (!n || (x->value && s->column)) ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a row");
}

static void free_texts(char **text, size_t n)
{
	for (size_t i = 0; text && i < n; i++)
		free(text[i]);
	free(text);
}

static void release(sources *s)
{
	for (size_t i = 0; i < MR_WORST; i++) {
		free(s->at[i].file);
		free_texts(s->at[i].value, s->n_columns);
	}
	free_texts(s->column, s->n_columns);
}

static void put_texts(char *const *text, size_t n, const char *key, mr_json_writer *w)
{
	if (!text)
		return;
	mr_json_field_array(w, key);
	for (size_t i = 0; i < n; i++)
		mr_json_put_string(w, text[i]);
	mr_json_end_array(w);
}

/* --- pictures --- */

/* A sample's numbers as a picture of [rows][cols][channels]. */
typedef struct picture {
	int64_t rows, cols, channels;
	double *x;
} picture;

/* False: the samples are no pictures. */
static bool is_picture(const mr_dataset *d, picture *p)
{
	mr_shape s = mr_shape_dims(d->image) == 3 ? d->image : d->input;

	if (s.tokens || d->input.tokens || mr_shape_dims(s) != 3)
		return false;
	*p = (picture){mr_shape_dim(s, 0), mr_shape_dim(s, 1), mr_shape_dim(s, 2), NULL};
	return p->channels == 1 || p->channels == 3;
}

/* Back to brightness from 0 to 1: by the form, or so that all of it is used. */
static void restore(const mr_form *f, picture *p)
{
	int64_t n = p->rows * p->cols * p->channels;
	double low = INFINITY, high = -INFINITY;

	if (f->source && !strcmp(f->files, "pictures")) {
		for (int64_t i = 0; i < n; i++)
			p->x[i] = p->x[i] * f->std[i % p->channels] + f->mean[i % p->channels];
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		low = fmin(low, p->x[i]);
		high = fmax(high, p->x[i]);
	}
	for (int64_t i = 0; i < n; i++)
		p->x[i] = high > low ? (p->x[i] - low) / (high - low) : 0;
}

/* The mean of a square of @by pixels, as a byte. */
static uint8_t shade(const picture *p, int64_t row, int64_t col, int64_t by, int64_t channel)
{
	double sum = 0;

	for (int64_t y = 0; y < by; y++)
		for (int64_t x = 0; x < by; x++)
			sum += p->x[((row * by + y) * p->cols + col * by + x) * p->channels + channel];
	sum = sum / (double)(by * by) * 255 + 0.5;
	return sum > 255 ? 255 : sum > 0 ? (uint8_t)sum : 0;
}

static mr_status put_png(const picture *p, mr_json_writer *w)
{
	int64_t longer = p->rows > p->cols ? p->rows : p->cols, by = (longer + MOST_SIDE - 1) / MOST_SIDE;
	int64_t rows = p->rows / by, cols = p->cols / by;
	uint8_t *rgb;
	mr_strbuf png = {0}, text = {0};

	if (rows < 1 || cols < 1)
		return MR_OK;
	rgb = malloc((size_t)(rows * cols) * 3);
	if (!rgb)
		return mr_fail(MR_ERESOURCE, "no memory for a picture");
	for (int64_t y = 0; y < rows; y++)
		for (int64_t x = 0; x < cols; x++)
			for (int64_t c = 0; c < 3; c++)
				rgb[(y * cols + x) * 3 + c] = shade(p, y, x, by, p->channels == 3 ? c : 0);
	mr_png_append(rgb, (uint32_t)cols, (uint32_t)rows, &png);
	mr_strbuf_append(&text, "data:image/png;base64,");
	mr_base64(mr_strbuf_text(&png), png.len, &text);
	text.failed = text.failed || png.failed;
	if (!text.failed)
		mr_json_field_string(w, "picture", mr_strbuf_text(&text));
	free(rgb);
	mr_strbuf_fini(&png);
	mr_strbuf_fini(&text);
	return MR_OK;
}

/* The picture of sample @i, if samples are pictures. */
static mr_status put_picture(const mr_trained *t, uint64_t i, mr_json_writer *w)
{
	const mr_dataset *d = t->s.data;
	mr_dtype type = t->s.kernels->types.activations;
	void *input, *target;
	picture p;
	mr_status st = MR_OK;

	if (!is_picture(d, &p))
		return MR_OK;
	input = malloc(mr_shape_bytes(d->input, type));
	target = malloc(mr_shape_bytes(d->target, mr_data_target_type(type)));
	p.x = malloc((size_t)(p.rows * p.cols * p.channels) * sizeof(*p.x));
	if (input && target && p.x) {
		d->ops->valid(d, i, input, target);
		st = mr_dataset_check(d);
		mr_elements(type, input, 0, p.rows * p.cols * p.channels, p.x);
		restore(&t->form, &p);
	} else {
		st = mr_fail(MR_ERESOURCE, "no memory for a picture");
	}
	if (st == MR_OK)
		st = put_png(&p, w);
	free(input);
	free(target);
	free(p.x);
	return st;
}

/* --- the list --- */

static mr_status put_one(mr_trained *t, const mr_worst *x, const source *from, size_t n_columns, mr_json_writer *w)
{
	mr_status st;
	mr_strbuf room = {0};

	mr_json_begin_object(w);
	mr_json_field_uint(w, "sample", x->sample);
	if (t->classes) {
		mr_json_field_string(w, "target", mr_errors_name(t, (size_t)x->target, &room));
		mr_json_field_string(w, "prediction", mr_errors_name(t, (size_t)x->prediction, &room));
		mr_json_field_double(w, "probability", x->probability);
		mr_json_field_double(w, "confidence", x->confidence);
		mr_json_field_double(w, "loss", x->loss);
	} else {
		mr_json_field_double(w, "target", x->target);
		mr_json_field_double(w, "prediction", x->prediction);
	}
	if (from->file)
		mr_json_field_string(w, "file", from->file);
	if (from->line)
		mr_json_field_uint(w, "line", from->line);
	put_texts(from->value, n_columns, "values", w);
	st = put_picture(t, x->sample, w);
	mr_json_end_object(w);
	mr_strbuf_fini(&room);
	return st;
}

mr_status mr_errors_put_worst(mr_trained *t, const mr_worst_list *l, mr_json_writer *w)
{
	uint64_t at[MR_WORST];
	sources s = {0};
	mr_status st;

	for (size_t i = 0; i < l->n; i++)
		at[i] = l->at[i].sample;
	st = mr_dataset_origin(t->s.data, at, l->n, take_source, &s);
	put_texts(s.column, s.n_columns, "columns", w);
	if (s.n_all > s.n_columns)
		mr_json_field_uint(w, "of_columns", s.n_all);
	mr_json_field_array(w, "worst");
	for (size_t i = 0; st == MR_OK && i < l->n; i++)
		st = put_one(t, &l->at[i], &s.at[i], s.n_columns, w);
	mr_json_end_array(w);
	release(&s);
	return st;
}
