/*
 * vec_math.h - exponentials, the logistic function and GELU on vectors.
 *
 * Measured against libm in f64 (tests/nn): v_exp within 2.5e-7 relative over all of its range, 0 below -104, infinity
 * above 88.73. v_exp2 within 3e-7 of 2^y for y up to 120; who computes y = x log2(e) adds the rounding of y, 6e-8 |x|.
 * The logistic function likewise. NaN stays NaN.
 */

/* exp(x) = 2^n exp(r), |r| <= ln(2) / 2, polynomial of degree 6 (coefficients of Cephes' expf, S. Moshier). */
static inline V v_exp(V x)
{
	V n, r, p;

	x = v_min(v_set(89.0f), v_max(v_set(-104.0f), x));
	n = v_round(v_mul(x, v_set(1.44269504088896341f)));
	r = v_fnma(n, v_set(0.693359375f), x);
	r = v_fnma(n, v_set(-2.12194440e-4f), r);
	p = v_set(1.9875691500e-4f);
	p = v_fma(p, r, v_set(1.3981999507e-3f));
	p = v_fma(p, r, v_set(8.3334519073e-3f));
	p = v_fma(p, r, v_set(4.1665795894e-2f));
	p = v_fma(p, r, v_set(1.6666665459e-1f));
	p = v_fma(p, r, v_set(5.0000001201e-1f));
	p = v_fma(v_mul(r, r), p, r);
	return v_ldexp(v_add(p, v_set(1.0f)), n);
}

/* 2^r, |r| <= 1/2, by interpolation at the six Chebyshev points. */
static inline V v_exp2_part(V r)
{
	V p = v_set(1.33908633e-3f);

	p = v_fma(p, r, v_set(9.67603177e-3f));
	p = v_fma(p, r, v_set(5.55035695e-2f));
	p = v_fma(p, r, v_set(2.40221068e-1f));
	p = v_fma(p, r, v_set(6.93147182e-1f));
	return v_fma(p, r, v_set(1.0f));
}

/* 2^y = 2^n 2^r: two thirds of v_exp. y <= 120. */
static inline V v_exp2(V y)
{
	V n = v_round(y);

	return v_ldexp(v_exp2_part(v_sub(y, n)), n);
}

/* 1 / (1 + 2^(a b)), the logistic function of -a b ln(2); |a b| <= 100. The product is not rounded. */
static inline V v_logistic2(V a, V b)
{
	V base = v_set(POWER_BASE), t = v_fma(a, b, base), r = v_fma(a, b, v_sub(base, t));

	return v_inverse(v_fma(v_exp2_part(r), v_power(t), v_set(1.0f)));
}

#define LOG2E 1.4426950408889634f
#define GELU_A 1.5957691216057308f  /* 2 sqrt(2 / pi) */
#define GELU_B 0.07135481282740522f /* GELU_A 0.044715 */
#define GELU_MOST 9.15f             /* the logistic function of -x (GELU_A + GELU_B x^2) is 2^-99.9 there */

/* -1, 0 or 1; NaN stays NaN. */
static inline V v_sign(V x)
{
	V zero = v_set(0.0f);

	return v_pick(v_gt(x, zero), v_set(1.0f), v_pick(v_gt(zero, x), v_set(-1.0f), x));
}

/* The larger of x and 0; NaN stays NaN. */
static inline V v_relu(V x)
{
	return v_max(v_set(0.0f), x);
}

/*
 * GELU in its tanh form. (1 + tanh u) / 2 is the logistic function of 2u, so with s = logistic(2u) and 2u = x (a + b x^2):
 * gelu = x s, gelu' = s + x s (1 - s) (a + 3 b x^2). One power and one division, and no cancellation for negative x. s is
 * computed for the nearest x between -GELU_MOST and GELU_MOST, and so is all else that would multiply 0 by infinity: -infinity
 * gives 0 within 2^-96, infinity gives infinity, their slopes are 0 within 2^-96 and 1, and NaN stays NaN.
 */
static inline V gelu_and_slope(V x, V *slope)
{
	V most = v_set(GELU_MOST), up = v_max(v_set(-GELU_MOST), x), c = v_min(most, up), cc = v_mul(c, c);
	V s = v_logistic2(c, v_fma(v_set(-GELU_B * LOG2E), cc, v_set(-GELU_A * LOG2E))), y = v_mul(c, s);

	*slope = v_fma(v_fnma(y, s, y), v_fma(v_set(3 * GELU_B), cc, v_set(GELU_A)), s);
	return v_mul(up, s);
}
