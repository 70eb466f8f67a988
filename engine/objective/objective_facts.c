/*
 * objective_facts.c - constants of an objective in the theory: the smoothness L and the minimum f*.
 *
 * L: Lanczos on X^T X / n, or on X X^T / n when there are fewer rows than coordinates (the same largest eigenvalue).
 * Every new vector is orthogonalised against all before it, twice, so the tridiagonal matrix has no ghosts; its largest
 * eigenvalue comes from bisection on Sturm counts. f*: Newton steps, each solved by conjugate gradients, halved while
 * they do not help.
 *
 * Source: Golub and Van Loan, Matrix computations, 4th ed., sections 10.1, 8.4, 11.3.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "objective/objective_internal.h"

#define NEWTON_STEPS 100
#define HALVINGS 40

static double dot(uint64_t n, const double *a, const double *b)
{
	double s = 0;

	for (uint64_t i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

static void add(uint64_t n, double a, const double *x, double *y)
{
	for (uint64_t i = 0; i < n; i++)
		y[i] += a * x[i];
}

/* --- L ------------------------------------------------------------------------------------------------------------ */

typedef struct lanczos {
	const mr_objective *o;
	bool by_rows;        /* the operator is X X^T / n */
	uint64_t n, most;    /* its size, and how many vectors there can be */
	double *q;           /* [most + 1][n] */
	double *between;     /* in the other space */
	double *a, *b;       /* diagonal, and below it */
} lanczos;

static void apply(lanczos *l, const double *v, double *out)
{
	const mr_objective *o = l->o;

	if (l->by_rows) {
		mr_objective_transposed(o, v, l->between);
		mr_objective_times(o, l->between, out);
	} else {
		mr_objective_times(o, v, l->between);
		mr_objective_transposed(o, l->between, out);
	}
}

/* How many eigenvalues of the leading @k x @k tridiagonal matrix lie below @x. */
static uint64_t below(const lanczos *l, uint64_t k, double x)
{
	uint64_t count = 0;
	double d = 1;

	for (uint64_t i = 0; i < k; i++) {
		d = l->a[i] - x - (i ? l->b[i - 1] * l->b[i - 1] / d : 0);
		if (d == 0)
			d = 1e-300;
		count += d < 0;
	}
	return count;
}

static double largest(const lanczos *l, uint64_t k)
{
	double low = 0, high = 0;

	for (uint64_t i = 0; i < k; i++)
		high = fmax(high, l->a[i] + (i ? l->b[i - 1] : 0) + (i + 1 < k ? l->b[i] : 0));
	for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
		double mid = (low + high) / 2;

		if (below(l, k, mid) < k)
			low = mid;
		else
			high = mid;
	}
	return (low + high) / 2;
}

/* The next vector; false when the space is exhausted. */
static bool extend(lanczos *l, uint64_t k)
{
	double *v = l->q + (k + 1) * l->n, norm;

	apply(l, l->q + k * l->n, v);
	l->a[k] = dot(l->n, v, l->q + k * l->n);
	for (int pass = 0; pass < 2; pass++)
		for (uint64_t i = 0; i <= k; i++)
			add(l->n, -dot(l->n, v, l->q + i * l->n), l->q + i * l->n, v);
	norm = sqrt(dot(l->n, v, v));
	l->b[k] = norm;
	if (norm <= 1e-13 * fabs(l->a[0]))
		return false;
	for (uint64_t i = 0; i < l->n; i++)
		v[i] /= norm;
	return true;
}

static double iterate(lanczos *l)
{
	double norm = 0, before = 0, now = 0;
	uint64_t k;

	for (uint64_t i = 0; i < l->n; i++)
		l->q[i] = mr_rng_normal(0, MR_RNG_SYNTHETIC, 0, 9, i);
	norm = sqrt(dot(l->n, l->q, l->q));
	for (uint64_t i = 0; i < l->n; i++)
		l->q[i] /= norm;
	for (k = 0; k < l->most; k++) {
		bool more = extend(l, k);

		if (more && k + 1 < l->most && k % 8)
			continue;
		now = largest(l, k + 1);
		/* Ritz values rise towards the eigenvalue: eight more vectors that add nothing have reached it. */
		if (!more || (k > 16 && now - before <= 1e-14 * now))
			break;
		before = now;
	}
	return now;
}

mr_status mr_objective_smoothness(const mr_objective *o, double *out)
{
	lanczos l = {.o = o, .by_rows = o->n < o->d, .n = o->n < o->d ? o->n : o->d};
	double eigenvalue = 0;

	l.most = l.n;
	l.q = calloc(l.most + 1, l.n * sizeof(double));
	l.between = calloc(l.by_rows ? o->d : o->n, sizeof(double));
	l.a = calloc(l.most, sizeof(double));
	l.b = calloc(l.most, sizeof(double));
	if (l.q && l.between && l.a && l.b)
		eigenvalue = iterate(&l);
	free(l.q);
	free(l.between);
	free(l.a);
	free(l.b);
	if (!(eigenvalue >= 0) || !l.q)
		return mr_fail(MR_ERESOURCE, "no memory for the largest eigenvalue of %llu rows",
			       (unsigned long long)o->n);
	*out = o->kind == MR_OBJECTIVE_QUADRATIC ? eigenvalue : eigenvalue / 4 + o->l2;
	return MR_OK;
}

/* --- f* ----------------------------------------------------------------------------------------------------------- */

typedef struct newton {
	mr_objective *o;
	double *w, *g, *s, *r, *p, *hp;  /* [d] */
	double *m, *curve, *along;       /* [n] */
} newton;

static double value_at(newton *t, const double *w)
{
	const mr_objective *o = t->o;
	double sum = 0;

	mr_objective_times(o, w, t->m);
	for (uint64_t i = 0; i < o->n; i++)
		sum += mr_objective_loss(o, t->m[i], o->y[i]);
	return sum / (double)o->n + o->l2 / 2 * dot(o->d, w, w);
}

/* Gradient and curvatures at w, whose margins are m. */
static void gradient_at(newton *t)
{
	const mr_objective *o = t->o;

	for (uint64_t i = 0; i < o->n; i++) {
		t->along[i] = mr_objective_slope(o, t->m[i], o->y[i]);
		t->curve[i] = mr_objective_curvature(o, t->m[i]);
	}
	mr_objective_transposed(o, t->along, t->g);
	add(o->d, o->l2, t->w, t->g);
}

static void hessian_times(newton *t, const double *v, double *out)
{
	const mr_objective *o = t->o;

	mr_objective_times(o, v, t->along);
	for (uint64_t i = 0; i < o->n; i++)
		t->along[i] *= t->curve[i];
	mr_objective_transposed(o, t->along, out);
	add(o->d, o->l2, v, out);
}

/* s = - H^-1 g, as far as conjugate gradients get. */
static void solve(newton *t)
{
	uint64_t d = t->o->d;
	double rr, first;

	memset(t->s, 0, d * sizeof(double));
	for (uint64_t j = 0; j < d; j++)
		t->p[j] = t->r[j] = -t->g[j];
	first = rr = dot(d, t->r, t->r);
	for (uint64_t i = 0; i < 2 * d + 20 && rr > 1e-30 * first; i++) {
		double step, next, php;

		hessian_times(t, t->p, t->hp);
		php = dot(d, t->p, t->hp);
		if (!(php > 0))
			break;
		step = rr / php;
		add(d, step, t->p, t->s);
		add(d, -step, t->hp, t->r);
		next = dot(d, t->r, t->r);
		for (uint64_t j = 0; j < d; j++)
			t->p[j] = t->r[j] + next / rr * t->p[j];
		rr = next;
	}
}

static double minimise(newton *t)
{
	uint64_t d = t->o->d;
	double f = value_at(t, t->w);

	for (int i = 0; i < NEWTON_STEPS; i++) {
		double size = 1, tried = f;

		value_at(t, t->w); /* margins of w again */
		gradient_at(t);
		solve(t);
		for (int h = 0; h < HALVINGS; h++, size /= 2) {
			for (uint64_t j = 0; j < d; j++)
				t->r[j] = t->w[j] + size * t->s[j];
			tried = value_at(t, t->r);
			if (tried < f)
				break;
		}
		if (!(tried < f))
			break;
		memcpy(t->w, t->r, d * sizeof(double));
		f = tried;
	}
	return f;
}

mr_status mr_objective_minimum(mr_objective *o, double *f_star)
{
	double *room = calloc(6 * o->d + 3 * o->n, sizeof(double));
	newton t = {.o = o};

	if (!room)
		return mr_fail(MR_ERESOURCE, "no memory for the minimum of %llu rows", (unsigned long long)o->n);
	t.w = room;
	t.g = t.w + o->d;
	t.s = t.g + o->d;
	t.r = t.s + o->d;
	t.p = t.r + o->d;
	t.hp = t.p + o->d;
	t.m = t.hp + o->d;
	t.curve = t.m + o->n;
	t.along = t.curve + o->n;
	*f_star = minimise(&t);
	free(room);
	return MR_OK;
}
