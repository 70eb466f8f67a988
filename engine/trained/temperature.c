#include "trained/temperature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/result.h"
#include "base/str.h"
#include "trained/class_scores.h"

#define MOST 100.0 /* a temperature, and the inverse of the least */
#define LEAST_P 1e-300
#define HALVINGS 100 /* of the range, in which log 10000 becomes less than what is left of f64 */
#define FILE_NAME "calibration.json"

void mr_temperature_apply(double *p, size_t n, double temperature)
{
	double most = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, p[i]);
	for (size_t i = 0; i < n; i++)
		sum += p[i] = p[i] > 0 ? exp((log(p[i]) - log(most)) / temperature) : 0;
	for (size_t i = 0; i < n; i++)
		p[i] /= sum;
}

/* The derivative of the loss by b = 1 / T, summed over samples: what scores are on the average, less the target's. It
 * rises with b. */
static double slope(const mr_class_samples *s, double b)
{
	double all = 0;

	for (size_t i = 0; i < s->n; i++) {
		const double *p = s->p + i * s->classes;
		double most = 0, sum = 0, mean = 0;

		for (size_t k = 0; k < s->classes; k++)
			most = fmax(most, p[k]);
		for (size_t k = 0; k < s->classes; k++) {
			double score = log(fmax(p[k], LEAST_P) / most), part = exp(b * score);

			sum += part;
			mean += part * score;
		}
		all += mean / sum - log(fmax(p[s->target[i]], LEAST_P) / most);
	}
	return all;
}

/* Loss and calibration error with @temperature. */
static mr_status judge(const mr_class_samples *s, double temperature, double *loss, double *error)
{
	double *p = malloc(s->classes * sizeof(*p));
	mr_class_scores scores;
	mr_status st = p ? mr_class_scores_init(&scores, s->classes)
			 : mr_fail(MR_ERESOURCE, "no memory for %zu classes", s->classes);

	for (size_t i = 0; st == MR_OK && i < s->n; i++) {
		memcpy(p, s->p + i * s->classes, s->classes * sizeof(*p));
		mr_temperature_apply(p, s->classes, temperature);
		mr_class_scores_add(&scores, (size_t)s->target[i], mr_class_of(p, s->classes), p);
	}
	if (st == MR_OK) {
		*loss = scores.loss / (double)s->n;
		*error = mr_class_scores_calibration(&scores);
	}
	if (p)
		mr_class_scores_fini(&scores);
	free(p);
	return st;
}

mr_status mr_temperature_fit(const mr_class_samples *s, mr_calibration *out)
{
	double low = -log(MOST), high = log(MOST); /* of b */

	MR_TRY(mr_class_samples_check(s));
	if (!s->n)
		return mr_fail(MR_EDATA, "there are no samples to fit a temperature to");
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (slope(s, exp(middle)) < 0)
			low = middle;
		else
			high = middle;
	}
	*out = (mr_calibration){.temperature = exp(-(low + high) / 2), .samples = s->n};
	MR_TRY(judge(s, 1, &out->loss, &out->error));
	return judge(s, out->temperature, &out->calibrated_loss, &out->calibrated_error);
}

/* --- the file --- */

static mr_status put(const void *arg, FILE *file)
{
	const mr_calibration *c = arg;
	mr_json_writer w = mr_json_begin(file, true);

	mr_json_field_double(&w, "temperature", c->temperature);
	mr_json_field_uint(&w, "samples", c->samples);
	mr_json_field_double(&w, "loss", c->loss);
	mr_json_field_double(&w, "calibrated_loss", c->calibrated_loss);
	mr_json_field_double(&w, "calibration_error", c->error);
	mr_json_field_double(&w, "calibrated_error", c->calibrated_error);
	return mr_json_finish(&w);
}

mr_status mr_calibration_write(const char *checkpoint, const mr_calibration *c)
{
	return mr_result_make(checkpoint, FILE_NAME, MR_RESULT_OWN, put, c);
}

mr_status mr_calibration_read(const char *checkpoint, mr_calibration *out)
{
	char *path = mr_path_join(checkpoint, FILE_NAME);
	mr_json *j = NULL;
	mr_status st;

	if (!path)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	if (access(path, F_OK))
		st = mr_fail(MR_ECKPT,
			     "%s: its probabilities are not calibrated: millrace eval CONF --calibrate does so",
			     checkpoint);
	else
		st = mr_json_read_file(path, 1 << 16, &j);
	*out = (mr_calibration){.temperature = mr_json_double(mr_json_get(j, "temperature")),
				.samples = (uint64_t)mr_json_int(mr_json_get(j, "samples")),
				.loss = mr_json_double(mr_json_get(j, "loss")),
				.calibrated_loss = mr_json_double(mr_json_get(j, "calibrated_loss")),
				.error = mr_json_double(mr_json_get(j, "calibration_error")),
				.calibrated_error = mr_json_double(mr_json_get(j, "calibrated_error"))};
	if (st == MR_ECONFIG || (st == MR_OK && !(out->temperature > 0 && isfinite(out->temperature))))
		st = mr_fail(MR_ECKPT, "%s: is damaged", path);
	mr_json_destroy(j);
	free(path);
	return st;
}

mr_status mr_calibration_keep(const mr_class_samples *s, const char *checkpoint, mr_calibration *out)
{
	MR_TRY(mr_temperature_fit(s, out));
	return mr_calibration_write(checkpoint, out);
}

void mr_calibration_print(const mr_calibration *c, mr_strbuf *out)
{
	mr_strbuf_printf(out,
			 "temperature %.6g: loss %.6g, calibrated %.6g; calibration error %.4f%%, calibrated %.4f%%; "
			 "%llu samples",
			 c->temperature, c->loss, c->calibrated_loss, 100 * c->error, 100 * c->calibrated_error,
			 (unsigned long long)c->samples);
}
