#include "nn/optim/rotation.h"

#include <string.h>

#include "base/size.h"
#include "nn/eigen.h"
#include "nn/element.h"
#include "nn/optim/matrix.h"
#include "nn/qr.h"

const char *const mr_rotation_names[MR_ROTATION_FACTORS] = {"left_mean", "right_mean", "left_basis", "right_basis"};

int64_t mr_rotation_side(const mr_optim *o, const mr_optim_matrix *m, uint32_t i)
{
	int64_t side = i % 2 ? m->cols : m->rows, other = i % 2 ? m->rows : m->cols;
	bool smaller = side < other || (side == other && i % 2 == 0);

	if (side > o->max_side || (o->one_sided && !smaller) || (i < MR_ROTATION_BASIS && o->of_momentum))
		return 0;
	return side;
}

static int64_t larger_side(const mr_optim_matrix *m)
{
	return m->rows > m->cols ? m->rows : m->cols;
}

size_t mr_rotation_work_bytes(const mr_optim_matrix *m, mr_dtype t)
{
	int64_t side = larger_side(m);

	return 3 * mr_matrix_bytes(m->rows, m->cols, t) + mr_matrix_bytes(side, side, t) +
	       (size_t)(2 * side * side + 5 * side) * sizeof(double);
}

void mr_rotation_init(mr_rotation *r, const mr_optim_call *c, const mr_kernels *k, mr_kctx *kc)
{
	const mr_optim_matrix *m = &c->matrix;
	size_t whole = mr_matrix_bytes(m->rows, m->cols, k->types.state);
	char *at = c->work;

	*r = (mr_rotation){.k = k,
			   .kc = kc,
			   .side = {m->rows, m->cols},
			   .mean = {c->factor[MR_ROTATION_MEAN].at, c->factor[MR_ROTATION_MEAN + 1].at},
			   .basis = {c->factor[MR_ROTATION_BASIS].at, c->factor[MR_ROTATION_BASIS + 1].at},
			   .x = at,
			   .other = at + whole,
			   .room = at + 2 * whole,
			   .square = at + 3 * whole};
	r->wide = (void *)((char *)r->square + mr_matrix_bytes(larger_side(m), larger_side(m), k->types.state));
}

/* --- refreshes of stages --- */

double mr_rotation_work(const mr_optim *o, const mr_optim_matrix *m)
{
	double work = 0;

	for (uint32_t i = MR_ROTATION_BASIS; i < MR_ROTATION_FACTORS; i++)
		work += pow((double)mr_rotation_side(o, m, i), 3);
	return work;
}

void mr_rotation_share(uint32_t n, const double *work, const uint32_t *delay, double frequency, double *interval)
{
	double left = 0, late = 0; /* work a step that is not given out yet, and the sum by which it is given out */
	bool again = true;

	for (uint32_t i = 0; i < n; i++) {
		interval[i] = INFINITY;
		left += work[i] / frequency;
		late += work[i] * delay[i];
	}
	for (uint32_t i = 0; i < n && late <= 0; i++)
		interval[i] = frequency;
	while (again && late > 0) {
		double rest = left, of = late;

		again = false;
		for (uint32_t i = 0; i < n; i++)
			if (interval[i] > 1 && delay[i] * left >= late) {
				interval[i] = 1;
				rest -= work[i];
				of -= work[i] * delay[i];
				again = true;
			}
		left = rest;
		late = of;
	}
	for (uint32_t i = 0; i < n && late > 0; i++)
		if (interval[i] > 1 && delay[i])
			interval[i] = late / (delay[i] * left);
}

/* --- products --- */

enum { LEFT_IN, RIGHT_IN, LEFT_BACK, RIGHT_BACK, LEFT_SQUARE, RIGHT_SQUARE, LEFT_POWER, RIGHT_POWER };

void mr_rotation_products(const mr_optim_matrix *m, mr_gemm out[MR_OPTIM_PRODUCTS])
{
	int64_t rows = m->rows, cols = m->cols;

	out[LEFT_IN] = (mr_gemm){.of = MR_GEMM_STATE, .m = rows, .n = cols, .k = rows, .ta = true};
	out[RIGHT_IN] = (mr_gemm){.of = MR_GEMM_STATE, .m = rows, .n = cols, .k = cols};
	out[LEFT_BACK] = (mr_gemm){.of = MR_GEMM_STATE, .m = rows, .n = cols, .k = rows};
	out[RIGHT_BACK] = (mr_gemm){.of = MR_GEMM_STATE, .m = rows, .n = cols, .k = cols, .tb = true};
	out[LEFT_SQUARE] = (mr_gemm){.of = MR_GEMM_STATE, .m = rows, .n = rows, .k = cols, .tb = true};
	out[RIGHT_SQUARE] = (mr_gemm){.of = MR_GEMM_STATE, .m = cols, .n = cols, .k = rows, .ta = true};
	out[LEFT_POWER] = (mr_gemm){.of = MR_GEMM_STATE, .m = rows, .n = rows, .k = rows};
	out[RIGHT_POWER] = (mr_gemm){.of = MR_GEMM_STATE, .m = cols, .n = cols, .k = cols};
}

static mr_status product(const mr_rotation *r, int which, const void *a, const void *b, void *c)
{
	mr_gemm g[MR_OPTIM_PRODUCTS];

	mr_rotation_products(&(mr_optim_matrix){.rows = r->side[0], .cols = r->side[1]}, g);
	return r->k->gemm(r->kc, &(mr_gemm_args){.g = &g[which], .a = a, .b = b, .c = c});
}

static void copy(const mr_rotation *r, void *to, const void *from)
{
	memcpy(to, from, (size_t)(r->side[0] * r->side[1]) * mr_dtype_bytes(r->k->types.state));
}

mr_status mr_rotation_turn(const mr_rotation *r, bool back, void *x)
{
	if (r->basis[0]) {
		MR_TRY(product(r, back ? LEFT_BACK : LEFT_IN, r->basis[0], x, r->room));
		copy(r, x, r->room);
	}
	if (r->basis[1]) {
		MR_TRY(product(r, back ? RIGHT_BACK : RIGHT_IN, x, r->basis[1], r->room));
		copy(r, x, r->room);
	}
	return MR_OK;
}

mr_status mr_rotation_square(const mr_rotation *r, int s, const void *x, void *out)
{
	return product(r, s ? RIGHT_SQUARE : LEFT_SQUARE, x, x, out);
}

mr_status mr_rotation_follow(const mr_rotation *r, double keep, const void *x)
{
	for (int s = 0; s < 2; s++) {
		if (!r->mean[s])
			continue;
		MR_TRY(mr_rotation_square(r, s, x, r->square));
		mr_matrix_mix(r->k->types.state, r->side[s] * r->side[s], keep, r->mean[s], 1 - keep, r->square,
			      r->mean[s]);
	}
	return MR_OK;
}

/* --- bases --- */

void mr_rotation_axes(const mr_rotation *r)
{
	mr_dtype t = r->k->types.state;

	for (int s = 0; s < 2; s++) {
		int64_t n = r->side[s];

		for (int64_t i = 0; r->basis[s] && i < n * n; i++)
			mr_element_put(t, r->basis[s], i, i % (n + 1) == 0);
	}
}

/* The basis of side @s from vectors that are rows of @rows. */
static void put_basis(const mr_rotation *r, int s, const double *rows)
{
	int64_t n = r->side[s];

	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			mr_element_put(r->k->types.state, r->basis[s], i * n + j, rows[j * n + i]);
}

void mr_rotation_begin(const mr_rotation *r)
{
	for (int s = 0; s < 2; s++) {
		int64_t n = r->side[s];

		if (!r->basis[s])
			continue;
		mr_elements(r->k->types.state, r->mean[s], 0, n * n, r->wide);
		mr_eigen(n, r->wide, r->wide + n * n, r->wide + n * n + n);
		put_basis(r, s, r->wide);
	}
}

/* Where column @j of @n comes, by @size, the largest first. */
static int64_t place_of(int64_t n, const double *size, int64_t j)
{
	int64_t place = 0;

	for (int64_t i = 0; i < n; i++)
		place += size[i] > size[j] || (!(size[i] < size[j]) && i < j);
	return place;
}

/* By @place: each row (side 0) or column (side 1) of @x to its place. */
static void sort(const mr_rotation *r, int s, const double *place, void *x)
{
	size_t each = mr_dtype_bytes(r->k->types.state);
	int64_t cols = r->side[1];

	for (int64_t i = 0; i < r->side[0]; i++)
		for (int64_t j = 0; j < cols; j++) {
			int64_t to = s ? i * cols + (int64_t)place[j] : (int64_t)place[i] * cols + j;

			memcpy((char *)r->room + (size_t)to * each, (char *)x + (size_t)(i * cols + j) * each, each);
		}
	copy(r, x, r->room);
}

/* The places of the basis' columns of side @s, whose images under the mean are @image. */
static void find_places(const mr_rotation *r, int s, const void *image, double *place, double *size)
{
	mr_dtype t = r->k->types.state;
	int64_t n = r->side[s];

	memset(size, 0, (size_t)n * sizeof(*size));
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			size[j] += mr_element(t, r->basis[s], i * n + j) * mr_element(t, image, i * n + j);
	for (int64_t j = 0; j < n; j++)
		place[j] = (double)place_of(n, size, j);
}

mr_status mr_rotation_refresh(const mr_rotation *r, int s, const void *mean, void *order)
{
	int64_t n = r->side[s];
	double *column = r->wide, *place = r->wide + n * n, *rest = place + n;

	if (!r->basis[s])
		return MR_OK;
	MR_TRY(product(r, s ? RIGHT_POWER : LEFT_POWER, mean, r->basis[s], r->square));
	for (int64_t j = 0; j < n; j++)
		place[j] = (double)j;
	if (order) {
		find_places(r, s, r->square, place, rest);
		sort(r, s, place, order);
	}
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			column[(int64_t)place[j] * n + i] = mr_element(r->k->types.state, r->square, i * n + j);
	MR_TRY(mr_qr(r->k, r->kc, n, column, rest));
	put_basis(r, s, column);
	return MR_OK;
}
