/*
 * reference_mix.h - several copies of the weights brought together, one element after the other (mr_mix). Part of reference.h.
 */

/* The mean of the copies @x. */
static double mix_mean(const mr_mix *m, const void *const *x, int64_t i)
{
	double sum = (double)((const REAL *)x[0])[i];

	for (uint32_t r = 1; r < m->n; r++)
		sum += (double)((const REAL *)x[r])[i];
	return sum / m->n;
}

static double mix_outer(const mr_mix *m, double mean, int64_t i)
{
	REAL *reference = m->reference, *velocity = m->velocity;
	double at = (double)reference[i], delta = at - mean;
	double moved = m->mu * (velocity ? (double)velocity[i] : 0) + delta;

	at = at - m->lr * (delta + m->mu * moved);
	reference[i] = (REAL)at;
	if (velocity)
		velocity[i] = (REAL)moved;
	return at;
}

static void mix_pull(const mr_mix *m, double mean, int64_t i)
{
	REAL *reference = m->reference, *before = m->mean;
	double at = (double)reference[i];

	for (uint32_t r = 0; r < m->n; r++) {
		double x = (double)((const REAL *)m->src[r])[i];

		((REAL *)m->dst[r])[i] = (REAL)(x - m->alpha * (x - at));
	}
	reference[i] = (REAL)(at + (mean - (double)before[i]));
	before[i] = (REAL)mix_mean(m, (const void *const *)m->dst, i);
}

static void mix(mr_kctx *kc, int64_t n, const mr_mix *m)
{
	(void)kc;
	for (int64_t i = 0; i < n; i++) {
		double mean = mix_mean(m, m->src, i);

		if (m->kind == MR_MIX_PULL) {
			mix_pull(m, mean, i);
			continue;
		}
		if (m->kind == MR_MIX_OUTER)
			mean = mix_outer(m, mean, i);
		for (uint32_t r = 0; r < m->n; r++)
			((REAL *)m->dst[r])[i] = (REAL)mean;
	}
}
