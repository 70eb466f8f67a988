/* Charts: what stands where, lines that coincide, logarithmic axes, bars; and the style, light and dark. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "check.h"

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

static char *drawn(const mr_chart *c, const mr_bars *b, bool inside)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	mr_svg v = inside ? mr_svg_inside(f, "p7") : mr_svg_file(f);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	MR_CHECK_OK(c ? mr_chart_put(c, &v) : mr_bars_put(b, &v));
	fclose(f);
	CU_ASSERT_PTR_NULL(strstr(text, "nan"));
	CU_ASSERT_PTR_NULL(strstr(text, "inf"));
	return text;
}

static const double x[] = {1, 10, 100, 1000}, y[] = {2, 20, 200, 2000}, z[] = {9, 8, 7, 6};

static void lines_are_told_apart(void)
{
	mr_chart_series s[] = {
		{.name = "first", .at = {x, y, 4}, .marks = true},
		{.name = "same <as> first", .at = {x, y, 4}, .marks = true},
		{.name = "other", .at = {x, z, 4}},
		{.at = {x, z, 2}, .no_line = true, .with_last = true}, /* marks on `other`, in its colour */
	};
	mr_chart c = {.title = "a & b", .x_name = "bytes", .y_name = "flops", .series = s, .n = 4};
	char *text = drawn(&c, NULL, false);

	CU_ASSERT_EQUAL(count(text, ">a &amp; b<"), 1);
	CU_ASSERT_EQUAL(count(text, ">bytes<") + count(text, ">flops<"), 2);
	CU_ASSERT_EQUAL(count(text, ">same &lt;as&gt; first (on first)<"), 1);
	CU_ASSERT_EQUAL(count(text, ">first<") + count(text, ">other<"), 2);
	CU_ASSERT_EQUAL(count(text, "stroke-dasharray"), 2); /* the second line, and in the legend */
	CU_ASSERT_EQUAL(count(text, "r=\"5\" fill=\"none\""), 4);
	CU_ASSERT_EQUAL(count(text, "r=\"3\" fill=\"currentColor\""), 4 + 2);
	CU_ASSERT_EQUAL(count(text, "<path class=\"s2\""), 2);
	free(text);
}

/* Points a decade apart are equally far apart; zero and negative values are left out. */
static void logarithmic_axes(void)
{
	double low[] = {-1, 0, 100, 1000};
	mr_chart_series s[] = {{.name = "l", .at = {x, y, 4}}, {.name = "m", .at = {x, low, 4}, .no_line = true}};
	mr_chart c = {.x_name = "x", .y_name = "y", .log_x = true, .log_y = true, .series = s, .n = 2, .width = 600};
	char *text = drawn(&c, NULL, false);
	const char *path = strstr(text, "stroke-width=\"1.8\"");
	double at[8];

	CU_ASSERT_PTR_NOT_NULL_FATAL(path);
	path = strstr(path, " d=\"");
	CU_ASSERT_EQUAL_FATAL(sscanf(path, " d=\"M%lf %lfL%lf %lfL%lf %lfL%lf %lf", at, at + 1, at + 2, at + 3, at + 4,
				     at + 5, at + 6, at + 7),
			      8);
	CU_ASSERT_DOUBLE_EQUAL(at[2] - at[0], 200, 0.2);
	CU_ASSERT_DOUBLE_EQUAL(at[6] - at[4], 200, 0.2);
	CU_ASSERT_DOUBLE_EQUAL(at[1] - at[3], at[5] - at[7], 0.2);
	CU_ASSERT_EQUAL(count(text, ">1k<"), 2);
	CU_ASSERT_EQUAL(count(text, "<circle"), 2 + 1); /* and the legend's */
	free(text);
}

static void bars(void)
{
	const char *part[] = {"busy", "waits"};
	double a[] = {60, 40}, b[] = {25, NAN};
	mr_bars_row rows[] = {{"w0", a, "100 %"}, {"w1", b, NULL}};
	mr_bars p = {.title = "t", .x_name = "percent", .part = part, .n_parts = 2, .rows = rows, .n = 2};
	char *text = drawn(NULL, &p, false);
	double x0, x1, w0, w1;
	const char *r = strstr(text, "<rect class=\"s0\" x=");

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	CU_ASSERT_EQUAL(sscanf(r, "<rect class=\"s0\" x=\"%lf\" y=\"%*f\" width=\"%lf\"", &x0, &w0), 2);
	r = strstr(r, "<rect class=\"s1\" x=");
	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	CU_ASSERT_EQUAL(sscanf(r, "<rect class=\"s1\" x=\"%lf\" y=\"%*f\" width=\"%lf\"", &x1, &w1), 2);
	CU_ASSERT_DOUBLE_EQUAL(x0 + w0, x1, 0.02);
	CU_ASSERT_DOUBLE_EQUAL(w0 * 40, w1 * 60, 1);
	CU_ASSERT_EQUAL(count(text, "<rect class=\"s1\" x="), 1); /* NAN: no such bar */
	CU_ASSERT_EQUAL(count(text, ">busy<") + count(text, ">waits<") + count(text, ">100 %<"), 3);
	free(text);
	p.beside = true; /* both begin at the axis */
	text = drawn(NULL, &p, false);
	r = strstr(text, "<rect class=\"s1\" x=");
	CU_ASSERT_EQUAL(sscanf(r, "<rect class=\"s1\" x=\"%lf\"", &x1), 1);
	CU_ASSERT_DOUBLE_EQUAL(x0, x1, 0.02);
	free(text);
}

/* A file has style and background; a picture in a page has neither, and ids of its own. */
static void file_and_page(void)
{
	mr_chart_series s = {.name = "l", .at = {x, y, 4}};
	mr_chart c = {.x_name = "x", .y_name = "y", .series = &s, .n = 1};
	char *text = drawn(&c, NULL, false);

	CU_ASSERT_EQUAL(count(text, "<style>"), 1);
	CU_ASSERT_EQUAL(count(text, "prefers-color-scheme:dark"), 1);
	CU_ASSERT_EQUAL(count(text, "class=\"bg\""), 1);
	CU_ASSERT_EQUAL(count(text, "url(#c0)"), 1);
	free(text);
	text = drawn(&c, NULL, true);
	CU_ASSERT_EQUAL(count(text, "<style>") + count(text, "class=\"bg\""), 0);
	CU_ASSERT_EQUAL(count(text, "id=\"p7c0\"") + count(text, "url(#p7c0)"), 2);
	free(text);
}

static void edge_cases(void)
{
	double none[] = {NAN, NAN};
	mr_chart_series s = {.name = "l", .at = {x, none, 2}};
	mr_chart c = {.x_name = "x", .y_name = "y", .log_y = true, .series = &s, .n = 1};
	mr_bars b = {.x_name = "x"};
	char buf[32], *text = drawn(&c, NULL, false);

	free(text);
	s.at.n = 0;
	text = drawn(&c, NULL, false);
	free(text);
	text = drawn(NULL, &b, false);
	free(text);
	CU_ASSERT_STRING_EQUAL(mr_svg_number(1500, buf), "1.5k");
	CU_ASSERT_STRING_EQUAL(mr_svg_number(-2e6, buf), "-2M");
	CU_ASSERT_STRING_EQUAL(mr_svg_number(0.25, buf), "0.25");
	CU_ASSERT_EQUAL(mr_svg_tick(0.3), 0.5);
	CU_ASSERT_EQUAL(mr_svg_tick(0), 1);
}

void mr_suite_chart(void);
void mr_suite_chart(void)
{
	MR_SUITE("chart");
	MR_TEST(lines_are_told_apart);
	MR_TEST(logarithmic_axes);
	MR_TEST(bars);
	MR_TEST(file_and_page);
	MR_TEST(edge_cases);
}
