/*
 * rotation.h - a hidden matrix in other coordinates, for optimizers that go element by element there.
 *
 *	x~ = U^T x V,  x = U x~ V^T         U [rows, rows], V [cols, cols], orthogonal: a column for each new coordinate
 *
 * Coordinates are the eigenvectors of two running means, L of x x^T and R of x^T x: at first exactly (nn/eigen.h), and
 * from then on followed by a power iteration and a QR (nn/qr.h) now and then. A side that is not rotated has no
 * factors, and keeps its coordinates. Products and factors are in the type of the run's states; eigenvectors and Q are
 * computed in f64.
 */
#ifndef MR_OPTIM_ROTATION_H
#define MR_OPTIM_ROTATION_H

#include <math.h>

#include "nn/optim.h"

/* The factors of a call (mr_optim_call.factor), by side: 0 rows, 1 columns. */
enum { MR_ROTATION_MEAN = 0, MR_ROTATION_BASIS = 2, MR_ROTATION_FACTORS = 4 };

extern const char *const mr_rotation_names[MR_ROTATION_FACTORS];

typedef struct mr_rotation {
	const mr_kernels *k;
	mr_kctx *kc;
	int64_t side[2];
	void *mean[2], *basis[2]; /* NULL: there is none */
	void *x, *other, *room;   /* [rows, cols] of work memory; `room` is in use in the functions here */
	void *square;             /* [larger side, larger side] of it */
	double *wide;             /* of the same in f64, twice, and five rows */
} mr_rotation;

/** Side of factor @i of @m under @o: 0 where that side is not rotated. */
int64_t mr_rotation_side(const mr_optim *o, const mr_optim_matrix *m, uint32_t i);

size_t mr_rotation_work_bytes(const mr_optim_matrix *m, mr_dtype t);
void mr_rotation_init(mr_rotation *r, const mr_optim_call *c, const mr_kernels *k, mr_kctx *kc);

/** @x to the new coordinates, or @back. */
mr_status mr_rotation_turn(const mr_rotation *r, bool back, void *x) MR_MUST_USE;

/** The means follow @x: L = keep L + (1 - keep) x x^T, R likewise. */
mr_status mr_rotation_follow(const mr_rotation *r, double keep, const void *x) MR_MUST_USE;

/** @out of side @s: x x^T or x^T x. */
mr_status mr_rotation_square(const mr_rotation *r, int s, const void *x, void *out) MR_MUST_USE;

/** Bases: the axes; and the eigenvectors of the means. */
void mr_rotation_axes(const mr_rotation *r);
void mr_rotation_begin(const mr_rotation *r);

/** The basis of side @s becomes the Q of @mean times itself. @order: its columns are sorted before by x^T mean x, the
 * largest first, and with them the rows or columns of @order. NULL: they stay where they are. */
mr_status mr_rotation_refresh(const mr_rotation *r, int s, const void *mean, void *order) MR_MUST_USE;

/** Is step @t, from 1, the last of its interval of @interval steps? Of t steps floor(t / interval) are. */
static inline bool mr_rotation_due(double interval, uint64_t t)
{
	return floor((double)t / interval) > floor((double)(t - 1) / interval);
}

/** Work of a refresh of @m under @o, in units that only compare. */
double mr_rotation_work(const mr_optim *o, const mr_optim_matrix *m);

/**
 * The work that @n stages have when each refreshes every @frequency steps, in proportion to their @delay: @interval [n]
 * gets the steps between the refreshes of a stage, INFINITY where there is no delay. @work [n]: of a refresh of all
 * matrices of a stage. No stage refreshes more than once a step; what is over goes to the others. @frequency everywhere
 * if no stage with work has delay.
 */
void mr_rotation_share(uint32_t n, const double *work, const uint32_t *delay, double frequency, double *interval);

/** All products of these. */
void mr_rotation_products(const mr_optim_matrix *m, mr_gemm out[MR_OPTIM_PRODUCTS]);

#endif
