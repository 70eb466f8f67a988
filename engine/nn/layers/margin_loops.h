/*
 * margin_loops.h - the arithmetic of margin.c for one element type: REAL and NAME(x) are defined by the file that
 * includes it.
 *
 * A sum over coordinates runs in four partial sums, whose total is (0 + 1) + (2 + 3), and then the remainder: one fixed
 * order.
 */
static REAL NAME(dot)(int64_t n, const REAL *x, const REAL *w)
{
	REAL s[4] = {0}, sum;
	int64_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (int64_t j = 0; j < 4; j++)
			s[j] += x[i + j] * w[i + j];
	sum = (s[0] + s[1]) + (s[2] + s[3]);
	for (; i < n; i++)
		sum += x[i] * w[i];
	return sum;
}

static void NAME(forward)(const mr_layer_call *c, const parts *p)
{
	const REAL *x = c->x[0], *w = c->w[0];
	REAL *y = c->y[0], reg = 0;

	if (p->reg)
		reg = (REAL)(c->cfg->l2 / 2) * NAME(dot)(p->block, w, w);
	for (int64_t i = 0; i < p->rows; i++, x += p->in, y += p->out) {
		y[0] = NAME(dot)(p->block, x + p->head, w) + (p->head ? x[0] : 0);
		if (p->reg)
			y[1] = reg + (p->head ? x[1] : 0);
		memcpy(y + 1 + p->reg, x + p->head + p->block, (size_t)p->rest * sizeof(REAL));
	}
}

/* Gradients of the columns that arrived; of the block's own coordinates too, which only tests ask for. */
static void NAME(input)(const mr_layer_call *c, const parts *p)
{
	const REAL *dy = c->dy[0], *w = c->w[0];
	REAL *dx = c->dx[0], keep = c->dx_add[0] ? 1 : 0;

	for (int64_t i = 0; i < p->rows; i++, dx += p->in, dy += p->out) {
		for (int64_t j = 0; j < p->head; j++)
			dx[j] = (keep != 0 ? dx[j] : 0) + dy[j];
		for (int64_t j = 0; j < p->block; j++)
			dx[p->head + j] = (keep != 0 ? dx[p->head + j] : 0) + dy[0] * w[j];
		for (int64_t j = 0; j < p->rest; j++)
			dx[p->head + p->block + j] = (keep != 0 ? dx[p->head + p->block + j] : 0) + dy[1 + p->reg + j];
	}
}

/* l2 w times the summed gradient of the penalty column, for W, which may read no weight. */
static void NAME(penalty)(const mr_layer_call *c, const parts *p)
{
	const REAL *dy = c->dy[0], *w = c->w[0];
	REAL *kept = c->kept, sum = 0;

	for (int64_t i = 0; i < p->rows; i++)
		sum += dy[i * p->out + 1];
	for (int64_t j = 0; j < p->block; j++)
		kept[j] = (REAL)c->cfg->l2 * w[j] * sum;
}

static void NAME(weight)(const mr_layer_call *c, const parts *p)
{
	const REAL *x = (const REAL *)c->x[0] + p->head, *dy = c->dy[0], *kept = c->kept;
	REAL *dw = c->dw[0];

	if (!c->dw_add)
		memset(dw, 0, (size_t)p->block * sizeof(REAL));
	for (int64_t i = 0; i < p->rows; i++, x += p->in, dy += p->out)
		for (int64_t j = 0; j < p->block; j++)
			dw[j] += dy[0] * x[j];
	for (int64_t j = 0; j < p->block && p->reg; j++)
		dw[j] += kept[j];
	for (int64_t j = 0; j < p->block && c->cfg->noise > 0 && c->train; j++)
		dw[j] += (REAL)(c->cfg->noise * mr_rng_normal(c->mask.seed, MR_RNG_NOISE, c->mask.first_sample,
							      c->mask.layer, (uint64_t)j));
}
