#include "profile/tune_table.h"

#include <math.h>
#include <string.h>

#define NEVER 1e9      /* the cost of a backend that is no candidate */
#define MOST 0.5       /* what counts of a point, so that one that is noise does not outweigh its neighbours */
#define ALIKE 1.15     /* ratios of two machines that differ by less do so by noise */
#define TOLERATED 0.05 /* what a choice takes longer than the best one counts five times beyond this */

enum { BOUNDS = MR_CHOICE_SIZES + 1 };

/* Costs of each class of one kind by each backend. */
typedef struct costs {
	double of[MR_CHOICE_ROWS][MR_CHOICE_SIZES][MR_N_CHOICE_BY];
} costs;

/* A part of a table, as it stands in its lines. */
typedef struct part {
	const char *isa;
	mr_dtype dtype;
	bool team;
} part;

static bool is_of(const mr_tune_point *p, const part *of)
{
	return !strcmp(p->isa, of->isa) && p->dtype == of->dtype && p->team == of->team;
}

/* --- what several machines say ------------------------------------------------------------------------------------ */

/* What a candidate takes on several machines: the geometric mean of @n ratios, whose logarithms have this sum; where
 * machines differ by more than noise does the worst of them. 0: one has no such candidate. */
static double several(double sum, double least, double most, uint32_t n)
{
	if (!n || least <= 0)
		return 0;
	return most > ALIKE * least ? most : exp(sum / n);
}

/* The ratio of each candidate at one class; 0: no candidate. Returns how many have measured it. */
static uint32_t find_ratios(const mr_tune_points *points, uint32_t n, const part *of, const mr_tune_point *at,
			    double ratio[MR_N_CHOICE_BY])
{
	double sum[MR_N_CHOICE_BY] = {0}, least[MR_N_CHOICE_BY], most[MR_N_CHOICE_BY] = {0};
	uint32_t times = 0;

	for (int by = 0; by < MR_N_CHOICE_BY; by++)
		least[by] = HUGE_VAL;
	for (uint32_t i = 0; i < n; i++)
		for (size_t j = 0; j < points[i].n; j++) {
			const mr_tune_point *p = &points[i].point[j];

			if (!is_of(p, of) || p->kind != at->kind || p->row != at->row || p->size != at->size)
				continue;
			times++;
			for (int by = 0; by < MR_N_CHOICE_BY; by++) {
				sum[by] += p->ratio[by] > 0 ? log(p->ratio[by]) : 0;
				least[by] = fmin(least[by], p->ratio[by]);
				most[by] = fmax(most[by], p->ratio[by]);
			}
		}
	for (int by = 0; by < MR_N_CHOICE_BY; by++)
		ratio[by] = several(sum[by], least[by], most[by], times);
	return times;
}

/* What each backend takes, with the margins in favour of oneDNN and against f32 inside. */
static void weigh(const double ratio[MR_N_CHOICE_BY], double cost[MR_N_CHOICE_BY])
{
	static const double margin[MR_N_CHOICE_BY] = {1, 1 + MR_TUNE_MARGIN, 1 - MR_TUNE_MARGIN_F32};
	double least = 1;

	for (int by = 1; by < MR_N_CHOICE_BY; by++)
		if (ratio[by] > 0)
			least = fmin(least, ratio[by] / margin[by]);
	for (int by = 0; by < MR_N_CHOICE_BY; by++) {
		double more = fmin(MOST, (by ? ratio[by] : 1) / margin[by] / least - 1);

		cost[by] = by && !(ratio[by] > 0) ? NEVER : more + 4 * fmax(0, more - TOLERATED);
	}
}

/* False: nobody, or of several machines one alone, has measured this kind. */
static bool find_costs(const mr_tune_points *points, uint32_t n, const part *of, mr_choice_kind kind, costs *c)
{
	uint32_t measured = 0;
	bool has[MR_N_CHOICE_BY] = {true};

	memset(c, 0, sizeof(*c));
	for (uint32_t r = 0; r < MR_CHOICE_ROWS; r++)
		for (uint32_t s = 0; s < MR_CHOICE_SIZES; s++) {
			mr_tune_point at = {.kind = kind, .row = r, .size = s};
			double ratio[MR_N_CHOICE_BY];

			if (find_ratios(points, n, of, &at, ratio) < (n > 1 ? 2 : 1))
				continue;
			measured++;
			weigh(ratio, c->of[r][s]);
			for (int by = 0; by < MR_N_CHOICE_BY; by++)
				has[by] = has[by] || ratio[by] > 0;
		}
	for (int by = 0; by < MR_N_CHOICE_BY; by++)
		if (!has[by])
			c->of[0][0][by] = NEVER;
	return measured > 0;
}

/* --- the staircase ------------------------------------------------------------------------------------------------ */

/* Sizes below bound[r] go to @small, the others to @large. */
typedef struct stairs {
	mr_choice_by small, large;
	uint32_t bound[MR_CHOICE_ROWS];
	double cost;
} stairs;

static double row_cost(const costs *c, uint32_t r, const stairs *s, uint32_t bound)
{
	double sum = 0;

	for (uint32_t i = 0; i < MR_CHOICE_SIZES; i++)
		sum += c->of[r][i][i < bound ? s->small : s->large];
	return sum;
}

/* Lines for a row of the table that is not as the one before it. */
static double lines_cost(uint32_t bound)
{
	return MR_TUNE_LINE * (bound > 0 && bound < MR_CHOICE_SIZES ? 2 : 1);
}

/* The best bounds for the two backends of @s, which go @up with the number of rows, or down. */
static void climb(const costs *c, bool up, stairs *s)
{
	double best[MR_CHOICE_ROWS][BOUNDS];
	uint32_t from[MR_CHOICE_ROWS][BOUNDS], last = 0;

	for (uint32_t r = 0; r < MR_CHOICE_ROWS; r++)
		for (uint32_t b = 0; b < BOUNDS; b++) {
			best[r][b] = r ? HUGE_VAL : lines_cost(b);
			from[r][b] = b;
			for (uint32_t f = up ? 0 : b; r && f < (up ? b + 1 : BOUNDS); f++) {
				double cost = best[r - 1][f] + (f == b ? 0 : lines_cost(b));

				if (cost < best[r][b]) {
					best[r][b] = cost;
					from[r][b] = f;
				}
			}
			best[r][b] += row_cost(c, r, s, b);
		}
	for (uint32_t b = 1; b < BOUNDS; b++)
		last = best[MR_CHOICE_ROWS - 1][b] < best[MR_CHOICE_ROWS - 1][last] ? b : last;
	s->cost = best[MR_CHOICE_ROWS - 1][last];
	for (uint32_t r = MR_CHOICE_ROWS; r-- > 0; last = from[r][last])
		s->bound[r] = last;
}

static void fit(const costs *c, uint8_t by[MR_CHOICE_ROWS][MR_CHOICE_SIZES])
{
	stairs best = {.cost = HUGE_VAL};

	for (int small = 0; small < MR_N_CHOICE_BY; small++)
		for (int large = 0; large < MR_N_CHOICE_BY; large++)
			for (int up = 0; up < 2; up++) {
				stairs s = {.small = (mr_choice_by)small, .large = (mr_choice_by)large};

				climb(c, up, &s);
				if (s.cost < best.cost)
					best = s;
			}
	for (uint32_t r = 0; r < MR_CHOICE_ROWS; r++)
		for (uint32_t s = 0; s < MR_CHOICE_SIZES; s++)
			by[r][s] = (uint8_t)(s < best.bound[r] ? best.small : best.large);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* Is @p the first point of its part? */
static bool begins(const mr_tune_points *points, uint32_t i, size_t j)
{
	const mr_tune_point *p = &points[i].point[j];
	part of = {p->isa, p->dtype, p->team};

	for (uint32_t a = 0; a <= i; a++)
		for (size_t b = 0; b < (a < i ? points[a].n : j); b++)
			if (is_of(&points[a].point[b], &of))
				return false;
	return true;
}

static mr_status add_part(const mr_tune_points *points, uint32_t n, const part *of, mr_choices **table)
{
	mr_chosen chosen = {0};
	mr_choices *made;
	costs c;

	for (int k = 0; k < MR_N_CHOICES; k++)
		if (find_costs(points, n, of, (mr_choice_kind)k, &c))
			fit(&c, chosen.by[k]);
	MR_TRY(mr_choices_with(*table, of->isa, of->dtype, of->team ? 2 : 1, &chosen, &made));
	mr_choices_destroy(*table);
	*table = made;
	return MR_OK;
}

mr_status mr_tune_table(const mr_tune_points *points, uint32_t n, const mr_choices *base, mr_choices **out)
{
	mr_status st = mr_choices_copy(base, out);

	for (uint32_t i = 0; st == MR_OK && i < n; i++) {
		st = mr_choices_made_add(*out, points[i].made);
		for (size_t j = 0; st == MR_OK && j < points[i].n; j++) {
			const mr_tune_point *p = &points[i].point[j];
			part of = {p->isa, p->dtype, p->team};

			if (begins(points, i, j))
				st = add_part(points, n, &of, out);
		}
	}
	if (st != MR_OK) {
		mr_choices_destroy(*out);
		*out = NULL;
	}
	return st;
}
