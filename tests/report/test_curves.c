/* Loss curves: what is drawn where, and what cannot be drawn. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "report/curves.h"

#define N 400

static mr_figures rows[2][N];

/* A loss that falls from 5 towards 2, evaluated every 100 steps; the second run is half as fast. */
static void make_runs(bool tokens)
{
	for (size_t r = 0; r < 2; r++)
		for (size_t i = 0; i < N; i++) {
			rows[r][i] = mr_figures_at(i + 1);
			rows[r][i].samples = 16 * (double)(i + 1);
			rows[r][i].tokens = tokens ? 2048 * (double)(i + 1) : (double)NAN;
			rows[r][i].seconds = (double)(i + 1) * (r ? 0.2 : 0.1);
			if (i % 100 == 99)
				rows[r][i].val_loss = 2.1 + 3 * exp(-(double)i / 100);
			else
				rows[r][i].loss = 2 + 3 * exp(-(double)i / 100) + 0.05 * sin((double)i);
		}
}

static char *drawn(const mr_curve *curves, size_t n, const char *title)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	MR_CHECK_OK(mr_curves_svg(curves, n, title, f));
	fclose(f);
	return text;
}

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;

	for (const char *s = strstr(text, part); s; s = strstr(s + 1, part))
		n++;
	return n;
}

/* Every dot of a panel lies inside its clip path with its whole radius. */
static void check_dots_are_whole(const char *text, int axis)
{
	char clip[32];
	double x, y, w, h;
	const char *s;
	unsigned n = 0;

	snprintf(clip, sizeof(clip), "<clipPath id=\"c%d\">", axis);
	s = strstr(text, clip);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL_FATAL(
		sscanf(s + strlen(clip), "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &x, &y, &w, &h), 4);
	snprintf(clip, sizeof(clip), " clip-path=\"url(#c%d)\">", axis);
	for (s = strstr(text, clip); s; s = strstr(s + 1, clip)) {
		const char *end = strstr(s, "</g>");

		for (const char *dot = strstr(s, "<circle "); dot && dot < end; dot = strstr(dot + 1, "<circle ")) {
			double cx, cy, r;

			CU_ASSERT_EQUAL_FATAL(sscanf(dot, "<circle cx=\"%lf\" cy=\"%lf\" r=\"%lf\"", &cx, &cy, &r), 3);
			CU_ASSERT(cx - r >= x && cx + r <= x + w && cy - r >= y && cy + r <= y + h);
			n++;
		}
	}
	CU_ASSERT_EQUAL(n, 2 * 4);
}

static void two_runs(void)
{
	mr_curve curves[2] = {{"1f1b", rows[0], N}, {"a<b&c", rows[1], N}};
	char *text;

	make_runs(true);
	text = drawn(curves, 2, "a title");
	CU_ASSERT_EQUAL(count(text, "<svg"), 1);
	CU_ASSERT_EQUAL(count(text, "</svg>"), 1);
	CU_ASSERT_EQUAL(count(text, "<circle"), 2 * 2 * 4 + 1); /* runs, panels, evaluations; and one in the legend */
	CU_ASSERT_EQUAL(count(text, "stroke-opacity"), 2 * 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">a title<"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">1f1b (validation 2.155)<"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "a&lt;b&amp;c (validation"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">tokens<"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">seconds, with evaluations and checkpoints<"));
	CU_ASSERT_PTR_NULL(strstr(text, "nan"));
	CU_ASSERT_PTR_NULL(strstr(text, "inf"));
	/* the slower run ends at the right edge of the seconds, the faster one in the middle */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "<circle cx=\"930.0\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "<circle cx=\"730.0\""));
	check_dots_are_whole(text, 0);
	check_dots_are_whole(text, 1);
	free(text);
}

static void samples_and_few_points(void)
{
	mr_curve one = {"one", rows[0], N};
	char *text;

	make_runs(false);
	text = drawn(&one, 1, NULL);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">samples<"));
	free(text);
	one.n_rows = 1; /* one point: no extent in either direction */
	text = drawn(&one, 1, NULL);
	CU_ASSERT_PTR_NULL(strstr(text, "nan"));
	CU_ASSERT_PTR_NULL(strstr(text, "inf"));
	CU_ASSERT_EQUAL(count(text, "<circle cx=\"462.0\" cy=\"233.0\""), 1); /* a path of one point is not seen */
	CU_ASSERT_EQUAL(count(text, "<circle cx=\"930.0\" cy=\"233.0\""), 1);
	free(text);
}

/* What bold and pale lines are, of those that are drawn. */
static void legend_explains(void)
{
	mr_curve one = {"one", rows[0], N};
	char *text;

	make_runs(true);
	text = drawn(&one, 1, NULL);
	CU_ASSERT_EQUAL(count(text, ">pale: training loss, averaged over stretches of up to 1/150 of the run<"), 1);
	CU_ASSERT_EQUAL(count(text, ">bold, with dots: validation loss<"), 1);
	free(text);
	for (size_t i = 0; i < N; i++)
		rows[0][i].val_loss = NAN;
	text = drawn(&one, 1, NULL);
	CU_ASSERT_EQUAL(count(text, ">pale: training loss"), 1);
	CU_ASSERT_EQUAL(count(text, "validation"), 0);
	free(text);
}

/* Of two runs with the same losses both are seen: the second is broken, and has rings where the first has dots. */
static void same_losses(void)
{
	mr_curve curves[3] = {{"1f1b", rows[0], N}, {"gpipe", rows[1], N}, {"other", rows[1], N / 2}};
	static mr_figures other[N];
	char *text;

	make_runs(true);
	for (size_t i = 0; i < N; i++) {
		other[i] = rows[1][i];
		other[i].loss += 0.5;
		other[i].val_loss += 0.5;
	}
	curves[2].rows = other;
	text = drawn(curves, 3, NULL);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">1f1b (validation 2.155)<"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">gpipe (validation 2.155; on 1f1b)<"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">other (validation 3.0"));
	CU_ASSERT_EQUAL(count(text, "stroke-dasharray"), 1 + 2 * 2); /* legend; two lines in each panel */
	CU_ASSERT_EQUAL(count(text, "r=\"4.6\" fill=\"none\" stroke=\"currentColor\""), 2 * 4);
	free(text);
	curves[1].rows = other; /* no run lies on another */
	text = drawn(curves, 2, NULL);
	CU_ASSERT_EQUAL(count(text, "stroke-dasharray"), 0);
	CU_ASSERT_EQUAL(count(text, " on "), 0);
	free(text);
}

/* Runs of one panel are drawn over the same unit; who does not count it is left out, and the picture says so. */
static void without_tokens(void)
{
	mr_curve curves[2] = {{"gpt", rows[0], N}, {"mlp", rows[1], N}};
	char *text;

	make_runs(true);
	for (size_t i = 0; i < N; i++)
		rows[1][i].tokens = NAN;
	text = drawn(curves, 2, NULL);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">samples<"));
	CU_ASSERT_PTR_NULL(strstr(text, ">tokens<"));
	CU_ASSERT_PTR_NULL(strstr(text, "left out"));
	free(text);
	for (size_t i = 0; i < N; i++)
		rows[1][i].samples = NAN;
	text = drawn(curves, 2, NULL);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">tokens<"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ">mlp has no count of tokens and is left out of the left panel<"));
	CU_ASSERT_EQUAL(count(text, "<circle"), 3 * 4 + 1);
	CU_ASSERT_PTR_NULL(strstr(text, "cx=\"62.0\"")); /* nothing stands at token 0 */
	free(text);
}

/* The line ends at the last step, also where the last stretch is shorter than the others. */
static void to_the_end(void)
{
	mr_curve one = {"one", rows[0], N};

	make_runs(true);
	for (one.n_rows = 300; one.n_rows <= 310; one.n_rows++) {
		double x = 0;
		const char *s;
		char *text;

		rows[0][299].loss = 2;
		rows[0][299].val_loss = NAN;
		text = drawn(&one, 1, NULL);
		s = strstr(text, "stroke-opacity");
		CU_ASSERT_PTR_NOT_NULL_FATAL(s);
		for (const char *end = strstr(s, "/>"); (s = strchr(s, 'L')) && s < end; s++)
			CU_ASSERT_EQUAL(sscanf(s, "L%lf", &x), 1);
		CU_ASSERT(x > 460); /* of 462; a stretch is up to 4 of its 400 */
		free(text);
	}
}

/* Colour and dashes of each line of the legend. */
static void check_no_two_alike(const char *text)
{
	char look[14][64];
	size_t n = 0;

	for (const char *s = strstr(text, "stroke-width=\"2.5\""); s && n < 14;
	     s = strstr(s + 1, "stroke-width=\"2.5\""), n++) {
		const char *hue = s;

		while (strncmp(hue, "class=", 6))
			hue--;
		snprintf(look[n], sizeof(look[n]), "%.10s %.*s", hue, (int)strcspn(s, "/"), s);
		for (size_t i = 0; i < n; i++)
			CU_ASSERT_STRING_NOT_EQUAL(look[i], look[n]);
	}
	CU_ASSERT_EQUAL(n, 14);
}

/* Names that do not fit side by side go on below, inside the picture, and no two lines look alike. */
static void many_runs(void)
{
	mr_curve curves[14];
	char *text, *s, *rest = NULL;
	unsigned height = 0, n_lines = 1;
	double last_y = 0;

	make_runs(true);
	for (size_t i = 0; i < 14; i++)
		curves[i] = (mr_curve){i % 2 ? "runs/pipedream" : "runs/1f1b", rows[i % 2], N};
	text = drawn(curves, 14, NULL);
	CU_ASSERT_EQUAL(sscanf(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"%u\"", &height),
			1);
	CU_ASSERT_EQUAL(count(text, "stroke-width=\"2.5\""), 14);
	check_no_two_alike(text);
	for (s = strtok_r(text, "\n", &rest); s; s = strtok_r(NULL, "\n", &rest)) {
		const char *at = strstr(s, "<text class=\"legend\" x=\""), *name = strstr(s, "runs/");
		double x, y;

		if (!name || !at || sscanf(at, "<text class=\"legend\" x=\"%lf\" y=\"%lf\"", &x, &y) != 2)
			continue;
		CU_ASSERT_TRUE(x + 6.6 * (double)strcspn(name, "<") <= 950);
		n_lines += last_y > 0 && y > last_y;
		last_y = y;
	}
	CU_ASSERT_TRUE(n_lines >= 3);
	CU_ASSERT_EQUAL(height, 386 + 20 * (n_lines + 1)); /* the last line of the legend explains the lines */
	free(text);
}

static void nothing_to_draw(void)
{
	mr_figures bad = mr_figures_at(1);
	mr_curve c = {"x", &bad, 1};

	bad.loss = INFINITY;
	MR_CHECK_FAIL(mr_curves_svg(&c, 1, NULL, stderr), MR_EINVAL, "no run has a finite loss");
	c.n_rows = 0;
	MR_CHECK_FAIL(mr_curves_svg(&c, 1, NULL, stderr), MR_EINVAL, "no run has a finite loss");
}

void mr_suite_curves(void);
void mr_suite_curves(void)
{
	MR_SUITE("curves");
	MR_TEST(two_runs);
	MR_TEST(samples_and_few_points);
	MR_TEST(legend_explains);
	MR_TEST(same_losses);
	MR_TEST(without_tokens);
	MR_TEST(to_the_end);
	MR_TEST(many_runs);
	MR_TEST(nothing_to_draw);
}
