#include "data/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The input pixels of one output pixel, along one side. */
typedef struct taps {
	int64_t first, n;
} taps;

static double reach(int64_t n, int64_t to)
{
	return n > to ? (double)n / (double)to : 1;
}

/* The largest number of input pixels of one output pixel, when @n pixels are resized to @to. */
static int64_t most_taps(int64_t n, int64_t to)
{
	return 2 * (int64_t)ceil(reach(n, to)) + 1;
}

/* The input pixels of output pixel @i, when @n pixels are resized to @to. Fills @weight, whose sum is 1. */
static taps taps_of(int64_t i, int64_t n, int64_t to, float *weight)
{
	double wide = reach(n, to), centre = ((double)i + 0.5) * (double)n / (double)to, sum = 0, w;
	int64_t first = (int64_t)floor(centre - wide + 0.5), end = (int64_t)floor(centre + wide + 0.5);
	taps t;

	first = first < 0 ? 0 : first;
	end = end > n ? n : end;
	t = (taps){first, end - first};
	for (int pass = 0; pass < 2; pass++)
		for (int64_t j = 0; j < t.n; j++) {
			w = 1 - fabs((double)(first + j) + 0.5 - centre) / wide;
			w = w > 0 ? w : 0;
			if (pass)
				weight[j] = (float)(w / sum);
			else
				sum += w;
		}
	return t;
}

/* Work memory of one call: weights of all columns of the result, weights of one row, and one vertically resized row. */
typedef struct room {
	taps *across;          /* [cols of the result] */
	float *weight;         /* [cols of the result][n_taps] */
	float *upright;        /* [rows' taps] */
	float *line;           /* [3 cols of the part] */
	int64_t n_taps;
} room;

static size_t floats_of(int64_t cols, int64_t n_taps, int64_t rows_taps, const mr_augment *a)
{
	return (size_t)(a->cols * n_taps + rows_taps + 3 * cols);
}

size_t mr_resample_bytes(int64_t rows, int64_t cols, const mr_augment *a)
{
	return floats_of(cols, most_taps(cols, a->cols), most_taps(rows, a->rows), a) * sizeof(float) +
	       (size_t)a->cols * sizeof(taps);
}

static mr_status room_take(room *m, const mr_resample *r, const mr_augment *a)
{
	int64_t rows_taps = most_taps(r->part.rows, r->rows_to);
	size_t floats, bytes;

	m->n_taps = most_taps(r->part.cols, r->cols_to);
	floats = floats_of(r->part.cols, m->n_taps, rows_taps, a) * sizeof(float);
	bytes = floats + (size_t)a->cols * sizeof(taps);
	m->across = malloc(bytes);
	if (!m->across)
		return mr_data_no_memory(bytes);
	m->weight = (float *)(void *)(m->across + a->cols);
	m->upright = m->weight + a->cols * m->n_taps;
	m->line = m->upright + rows_taps;
	for (int64_t x = 0; x < a->cols; x++)
		m->across[x] = taps_of(r->right + x, r->part.cols, r->cols_to, m->weight + x * m->n_taps);
	return MR_OK;
}

/* Add @w times the @n values of @p to @line. The thread sanitizer does not look at each: this thread has just decoded
 * them, and nobody else knows of @line. */
__attribute__((no_sanitize("thread")))
static void add_row(float *line, const uint8_t *p, int64_t n, float w)
{
	for (int64_t i = 0; i < n; i++)
		line[i] += w * (float)p[i];
}

/* Resize row @y of the result vertically only, into @m->line, for columns @from to @end - 1 of the part. */
static void resize_upright(const mr_resample *r, const room *m, int64_t y, int64_t from, int64_t end)
{
	taps t = taps_of(r->down + y, r->part.rows, r->rows_to, m->upright);
	int64_t n = 3 * (end - from);
	float *line = m->line + 3 * from;

	memset(line, 0, (size_t)n * sizeof(*line));
	for (int64_t j = 0; j < t.n; j++)
		add_row(line, r->pixels + 3 * ((r->part.down + t.first + j) * r->cols + r->part.right + from), n,
			m->upright[j]);
}

mr_status mr_resample_put(const mr_resample *r, const mr_augment *a, void *image)
{
	int64_t from, end;
	room m = {0};

	MR_TRY(room_take(&m, r, a));
	from = m.across[0].first;
	end = m.across[a->cols - 1].first + m.across[a->cols - 1].n;
	for (int64_t y = 0; y < a->rows; y++) {
		resize_upright(r, &m, y, from, end);
		for (int64_t x = 0; x < a->cols; x++) {
			int64_t to = (y * a->cols + (r->flip ? a->cols - 1 - x : x)) * a->channels;
			const float *w = m.weight + x * m.n_taps, *p = m.line + 3 * m.across[x].first;
			float sum[3] = {0, 0, 0};

			for (int64_t j = 0; j < m.across[x].n; j++)
				for (int c = 0; c < a->channels; c++)
					sum[c] += w[j] * p[3 * j + c];
			for (int c = 0; c < a->channels; c++)
				mr_element_put(a->dtype, image, to + c,
					       ((double)sum[c] / 255 - a->mean[c]) / a->std[c]);
		}
	}
	free(m.across);
	return MR_OK;
}
