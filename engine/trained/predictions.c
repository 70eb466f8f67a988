#include "trained/predictions.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/notice.h"

#define NPY_HEAD 128 /* bytes of an array's head, padded */

const char *mr_predictions_class(const mr_form *f, size_t i, char room[24])
{
	if (i < f->n_labels)
		return f->label[i];
	snprintf(room, 24, "%zu", i);
	return room;
}

/* --- formats --- */

void mr_predictions_field(FILE *f, const char *text)
{
	if (!text[strcspn(text, ",\"\n\r")] && *text != ' ') {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void put_head_csv(const mr_predictions *p)
{
	char room[24];

	fputs(p->named ? "file,prediction" : "prediction", p->file);
	for (size_t i = 0; p->classes && i < p->width; i++) {
		char name[512];

		snprintf(name, sizeof(name), "probability %s", mr_predictions_class(p->form, i, room));
		fputc(',', p->file);
		mr_predictions_field(p->file, name);
	}
	fputc('\n', p->file);
}

void mr_predictions_npy(FILE *f, uint64_t n, size_t width)
{
	char head[NPY_HEAD + 1];
	int len;

	memcpy(head, "\x93NUMPY\x01\x00", 8);
	head[8] = (char)(NPY_HEAD - 10);
	head[9] = 0;
	len = 10 + snprintf(head + 10, sizeof(head) - 10,
			  "{'descr': '<f8', 'fortran_order': False, 'shape': (%llu, %zu), }", (unsigned long long)n,
			  width);
	memset(head + len, ' ', (size_t)(NPY_HEAD - len));
	head[NPY_HEAD - 1] = '\n';
	fwrite(head, 1, NPY_HEAD, f);
}

static void put_csv(const mr_predictions *p, const mr_reader_sample *s, const double *value)
{
	char room[24];

	if (p->named) {
		mr_predictions_field(p->file, s->name);
		fputc(',', p->file);
	}
	if (!p->classes) {
		fprintf(p->file, "%.9g\n", value[0]);
		return;
	}
	mr_predictions_field(p->file, mr_predictions_class(p->form, mr_class_of(value, p->width), room));
	for (size_t i = 0; i < p->width; i++)
		fprintf(p->file, ",%.7g", value[i]);
	fputc('\n', p->file);
}

static void put_jsonl(const mr_predictions *p, const mr_reader_sample *s, const double *value)
{
	mr_json_writer w = mr_json_begin(p->file, false);
	char room[24];

	if (p->named)
		mr_json_field_string(&w, "file", s->name);
	if (!p->classes) {
		mr_json_field_double(&w, "prediction", value[0]);
	} else {
		mr_json_field_string(&w, "prediction",
				     mr_predictions_class(p->form, mr_class_of(value, p->width), room));
		mr_json_field_object(&w, "probabilities");
		for (size_t i = 0; i < p->width; i++)
			mr_json_field_double(&w, mr_predictions_class(p->form, i, room), value[i]);
		mr_json_end_object(&w);
	}
	if (mr_json_finish(&w) != MR_OK)
		return; /* the file's error is found when it is closed */
}

/* --- scores --- */

static void score(mr_predictions *p, const mr_reader_sample *s, const double *value)
{
	double off, by;

	if (!s->has_target)
		return;
	p->n_scored++;
	if (p->classes) {
		p->n_unknown += s->target < 0;
		p->n_right += (double)mr_class_of(value, p->width) == s->target;
		if (p->scores && s->target >= 0)
			mr_class_scores_add(p->scores, (size_t)s->target, mr_class_of(value, p->width), value);
		return;
	}
	off = value[0] - s->target;
	p->squares += off * off;
	p->distances += fabs(off);
	by = s->target - p->mean;
	p->mean += by / (double)p->n_scored;
	p->spread += by * (s->target - p->mean);
}

void mr_predictions_say(const mr_predictions *p)
{
	double n = (double)p->n_scored;

	if (!p->n_scored)
		mr_notice("%llu samples", (unsigned long long)p->n);
	else if (p->classes)
		mr_notice("accuracy %.4f%%, %llu samples", 100 * (double)p->n_right / n,
			  (unsigned long long)p->n_scored);
	else if (p->spread > 0)
		mr_notice("RMSE %.6g, MAE %.6g, R2 %.6f, %llu samples", sqrt(p->squares / n), p->distances / n,
			  1 - p->squares / p->spread, (unsigned long long)p->n_scored);
	else
		mr_notice("RMSE %.6g, MAE %.6g, %llu samples", sqrt(p->squares / n), p->distances / n,
			  (unsigned long long)p->n_scored);
	if (p->n_unknown)
		mr_notice("warning: %llu samples are of classes that the model does not know",
			  (unsigned long long)p->n_unknown);
}

/* --- the whole --- */

void mr_predictions_begin(mr_predictions *p)
{
	if (p->format == MR_PREDICTIONS_CSV)
		put_head_csv(p);
	else if (p->format == MR_PREDICTIONS_NPY)
		mr_predictions_npy(p->file, 0, p->width);
}

void mr_predictions_put(mr_predictions *p, const mr_reader_sample *sample, const double *value)
{
	if (p->file && p->format == MR_PREDICTIONS_CSV)
		put_csv(p, sample, value);
	else if (p->file && p->format == MR_PREDICTIONS_JSONL)
		put_jsonl(p, sample, value);
	else if (p->file)
		fwrite(value, sizeof(*value), p->width, p->file);
	score(p, sample, value);
	p->n++;
}

mr_status mr_predictions_npy_again(FILE *f, uint64_t n, size_t width)
{
	if (fseek(f, 0, SEEK_SET))
		return mr_fail(MR_EIO, "a NumPy array needs a regular file as output");
	mr_predictions_npy(f, n, width);
	return fseek(f, 0, SEEK_END) ? mr_fail(MR_EIO, "a NumPy array needs a regular file as output") : MR_OK;
}

mr_status mr_predictions_end(mr_predictions *p)
{
	return p->format == MR_PREDICTIONS_NPY ? mr_predictions_npy_again(p->file, p->n, p->width) : MR_OK;
}
