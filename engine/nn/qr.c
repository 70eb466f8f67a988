#include "nn/qr.h"

#include "nn/reflection.h"

/* Columns whose reflections are applied together. */
enum { PANEL = 32 };

typedef struct columns {
	int64_t n;
	double *a;
	const double *tau;
	int64_t first, end; /* reflections, of these columns */
	bool back;          /* the last one first */
} columns;

static void reflect(const columns *c, int64_t k, double *x)
{
	mr_reflection_apply(c->n - k, c->a + k * c->n + k, c->tau[k], x + k);
}

/* The columns behind the panel, from number @lo of them on. */
static void apply(const void *args, int64_t lo, int64_t hi)
{
	const columns *c = args;

	for (int64_t j = c->end + lo; j < c->end + hi; j++)
		for (int64_t i = c->first; i < c->end; i++)
			reflect(c, c->back ? c->first + c->end - 1 - i : i, c->a + j * c->n);
}

static mr_status apply_behind(const mr_kernels *k, mr_kctx *kc, const columns *c)
{
	if (c->end == c->n)
		return MR_OK;
	return k->ranges(kc, &(mr_ranges_args){.n = c->n - c->end,
					       .fn = apply,
					       .args = c,
					       .weight = 4 * (c->end - c->first) * (c->n - c->first)});
}

static mr_status factor(const mr_kernels *k, mr_kctx *kc, int64_t n, double *a, double *tau)
{
	for (int64_t first = 0; first < n; first += PANEL) {
		columns c = {.n = n, .a = a, .tau = tau, .first = first, .end = first + PANEL < n ? first + PANEL : n};

		for (int64_t j = first; j < c.end; j++) {
			for (int64_t i = first; i < j; i++)
				reflect(&c, i, a + j * n);
			tau[j] = mr_reflection_make(n - j, a + j * n + j);
		}
		MR_TRY(apply_behind(k, kc, &c));
	}
	return MR_OK;
}

/* Column @j of the product of all reflections, which is that of its own applied to the j-th axis. */
static void begin_column(int64_t n, int64_t j, double *x, double tau)
{
	for (int64_t i = 0; i < j; i++)
		x[i] = 0;
	x[j] = 1 - tau;
	for (int64_t i = j + 1; i < n; i++)
		x[i] *= -tau;
}

mr_status mr_qr(const mr_kernels *k, mr_kctx *kc, int64_t n, double *a, double *tau)
{
	MR_TRY(factor(k, kc, n, a, tau));
	for (int64_t first = (n - 1) / PANEL * PANEL; first >= 0; first -= PANEL) {
		columns c = {.n = n, .a = a, .tau = tau, .first = first, .end = first + PANEL < n ? first + PANEL : n,
			     .back = true};

		MR_TRY(apply_behind(k, kc, &c));
		for (int64_t i = c.end - 1; i >= first; i--) {
			for (int64_t j = i + 1; j < c.end; j++)
				reflect(&c, i, a + j * n);
			begin_column(n, i, a + i * n, tau[i]);
		}
	}
	return MR_OK;
}
