#include "objective/objective_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "nn/element.h"

static mr_status check(const mr_objective_spec *spec, const mr_dataset *data)
{
	int64_t sum = 0;

	for (uint32_t b = 0; b < spec->n_blocks; b++)
		sum += spec->block[b];
	if (data->input.tokens || data->input.rows != 1 || data->target.tokens || data->target.rows != 1 ||
	    data->target.cols != 1)
		return mr_fail(MR_ECONFIG, "an objective needs rows of numbers with one number each as target");
	if (sum != data->input.cols)
		return mr_fail(MR_ECONFIG, "the blocks have %lld coordinates, the data %lld", (long long)sum,
			       (long long)data->input.cols);
	return MR_OK;
}

static mr_status allocate(mr_objective *o)
{
	size_t cells;

	if (!mr_size_mul(o->n, o->d, &cells))
		return mr_fail(MR_ERESOURCE, "the data are too large for their objective to be evaluated");
	o->first = calloc(o->n_blocks + 1u, sizeof(*o->first));
	o->x = calloc(cells, sizeof(double));
	o->y = calloc(o->n, sizeof(double));
	o->w = calloc(o->d, sizeof(double));
	o->share = calloc(o->n_blocks, o->n * sizeof(double));
	o->residual = calloc(o->n, sizeof(double));
	o->g = calloc(o->d, sizeof(double));
	if (!o->first || !o->x || !o->y || !o->w || !o->share || !o->residual || !o->g)
		return mr_fail(MR_ERESOURCE, "no memory to evaluate the objective on %llu rows",
			       (unsigned long long)o->n);
	return MR_OK;
}

static mr_status load(mr_objective *o, const mr_dataset *data, mr_dtype dtype)
{
	void *row = malloc(o->d * sizeof(double));
	double target = 0;

	if (!row)
		return mr_fail(MR_ERESOURCE, "no memory for a row");
	for (uint64_t i = 0; i < o->n; i++) {
		data->ops->train(data, i, row, &target);
		for (uint64_t j = 0; j < o->d; j++)
			o->x[i * o->d + j] = mr_element(dtype, row, (int64_t)j);
		o->y[i] = mr_element(mr_data_target_type(dtype), &target, 0);
	}
	free(row);
	return mr_dataset_check(data);
}

mr_status mr_objective_create(const mr_objective_spec *spec, const mr_dataset *data, mr_dtype dtype, mr_objective **out)
{
	mr_objective *o;
	mr_status st;

	*out = NULL;
	MR_TRY(check(spec, data));
	o = calloc(1, sizeof(*o));
	if (!o)
		return mr_fail(MR_ERESOURCE, "no memory for an objective");
	*o = (mr_objective){.kind = spec->kind, .l2 = spec->l2, .n = data->n_train, .d = (uint64_t)data->input.cols,
			    .n_blocks = spec->n_blocks};
	st = allocate(o);
	if (st == MR_OK)
		st = load(o, data, dtype);
	if (st != MR_OK) {
		mr_objective_destroy(o);
		return st;
	}
	for (uint32_t b = 0; b < o->n_blocks; b++)
		o->first[b + 1] = o->first[b] + (uint64_t)spec->block[b];
	*out = o;
	return MR_OK;
}

void mr_objective_destroy(mr_objective *o)
{
	if (!o)
		return;
	free(o->first);
	free(o->x);
	free(o->y);
	free(o->w);
	free(o->share);
	free(o->residual);
	free(o->g);
	free(o);
}

int64_t mr_objective_coordinates(const mr_objective *o)
{
	return (int64_t)o->d;
}

/* --- the arithmetic ----------------------------------------------------------------------------------------------- */

static double dot(uint64_t n, const double *a, const double *b)
{
	double s[4] = {0}, sum;
	uint64_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (int j = 0; j < 4; j++)
			s[j] += a[i + (uint64_t)j] * b[i + (uint64_t)j];
	sum = (s[0] + s[1]) + (s[2] + s[3]);
	for (; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

void mr_objective_times(const mr_objective *o, const double *v, double *out)
{
	for (uint64_t i = 0; i < o->n; i++)
		out[i] = dot(o->d, o->x + i * o->d, v);
}

void mr_objective_transposed(const mr_objective *o, const double *r, double *out)
{
	memset(out, 0, o->d * sizeof(double));
	for (uint64_t i = 0; i < o->n; i++)
		for (uint64_t j = 0; j < o->d; j++)
			out[j] += r[i] * o->x[i * o->d + j];
	for (uint64_t j = 0; j < o->d; j++)
		out[j] /= (double)o->n;
}

double mr_objective_loss(const mr_objective *o, double m, double y)
{
	if (o->kind == MR_OBJECTIVE_QUADRATIC)
		return (m - y) * (m - y) / 2;
	return fmax(m, 0) - m * y + log1p(exp(-fabs(m)));
}

static double sigma(double m)
{
	double e = exp(-fabs(m));

	return m >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double mr_objective_slope(const mr_objective *o, double m, double y)
{
	return o->kind == MR_OBJECTIVE_QUADRATIC ? m - y : sigma(m) - y;
}

double mr_objective_curvature(const mr_objective *o, double m)
{
	return o->kind == MR_OBJECTIVE_QUADRATIC ? 1 : sigma(m) * (1 - sigma(m));
}

void mr_objective_set(mr_objective *o, uint32_t b, const void *w, mr_dtype dtype)
{
	uint64_t first = o->first[b], n = o->first[b + 1] - first;

	for (uint64_t j = 0; j < n; j++)
		o->w[first + j] = mr_element(dtype, w, (int64_t)j);
	for (uint64_t i = 0; i < o->n; i++)
		o->share[b * o->n + i] = dot(n, o->x + i * o->d + first, o->w + first);
}

const double *mr_objective_point(const mr_objective *o)
{
	return o->w;
}

/* residual[i] = margin of row i */
static void margins(mr_objective *o)
{
	memset(o->residual, 0, o->n * sizeof(double));
	for (uint32_t b = 0; b < o->n_blocks; b++)
		for (uint64_t i = 0; i < o->n; i++)
			o->residual[i] += o->share[b * o->n + i];
}

double mr_objective_value(mr_objective *o)
{
	double sum = 0;

	margins(o);
	for (uint64_t i = 0; i < o->n; i++)
		sum += mr_objective_loss(o, o->residual[i], o->y[i]);
	return sum / (double)o->n + (o->l2 > 0 ? o->l2 / 2 * dot(o->d, o->w, o->w) : 0);
}

double mr_objective_gradient(mr_objective *o, double *g)
{
	double *to = g ? g : o->g;

	margins(o);
	for (uint64_t i = 0; i < o->n; i++)
		o->residual[i] = mr_objective_slope(o, o->residual[i], o->y[i]);
	mr_objective_transposed(o, o->residual, to);
	for (uint64_t j = 0; j < o->d && o->l2 > 0; j++)
		to[j] += o->l2 * o->w[j];
	return dot(o->d, to, to);
}

/* Norm of block @b's gradient on rows @first .. @first + @n - 1, whose slopes are in residual. */
static double block_norm(mr_objective *o, uint32_t b, uint64_t first, uint64_t n)
{
	double sum = 0;

	for (uint64_t j = o->first[b]; j < o->first[b + 1]; j++) {
		double g = 0;

		for (uint64_t i = first; i < first + n; i++)
			g += o->residual[i] * o->x[i * o->d + j];
		g = g / (double)n + o->l2 * o->w[j];
		sum += g * g;
	}
	return sqrt(sum);
}

double mr_objective_largest(mr_objective *o, uint64_t samples)
{
	double most = 0;

	margins(o);
	for (uint64_t i = 0; i < o->n; i++)
		o->residual[i] = mr_objective_slope(o, o->residual[i], o->y[i]);
	for (uint64_t first = 0; first + samples <= o->n; first += samples)
		for (uint32_t b = 0; b < o->n_blocks; b++)
			most = fmax(most, block_norm(o, b, first, samples));
	return most;
}
