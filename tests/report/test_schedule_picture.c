/* Schedule pictures: the text form to the letter, the SVG by what it must contain, and no text outside its box. */
#include "report/schedule_picture.h"

#include <string.h>

#include "check.h"

/* Two workers, two micro-batches, f = 1, b = 2, a step of no time at the end. */
static const mr_trace_rec small[] = {
	{.begin_ns = 10, .end_ns = 20, .op = MR_OP_F, .micro = 0, .worker = 0},
	{.begin_ns = 20, .end_ns = 30, .op = MR_OP_F, .micro = 1, .worker = 0},
	{.begin_ns = 20, .end_ns = 30, .op = MR_OP_F, .micro = 0, .worker = 1, .stage = 1},
	{.begin_ns = 30, .end_ns = 50, .op = MR_OP_B, .micro = 0, .worker = 1, .stage = 1},
	{.begin_ns = 50, .end_ns = 60, .op = MR_OP_F, .micro = 1, .worker = 1, .stage = 1},
	{.begin_ns = 60, .end_ns = 80, .op = MR_OP_B, .micro = 1, .worker = 1, .stage = 1},
	{.begin_ns = 50, .end_ns = 70, .op = MR_OP_B, .micro = 0, .worker = 0},
	{.begin_ns = 80, .end_ns = 100, .op = MR_OP_B, .micro = 1, .worker = 0},
	{.begin_ns = 100, .end_ns = 100, .op = MR_OP_U, .micro = 1, .worker = 0, .version = 1},
};

static mr_schedule_picture small_picture(void)
{
	return (mr_schedule_picture){
		.rec = small, .n_rec = sizeof(small) / sizeof(small[0]), .n_workers = 2, .unit = 10};
}

static char *draw_text(const mr_schedule_picture *p, unsigned columns)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	MR_CHECK_OK(mr_schedule_picture_text(p, columns, f));
	fclose(f);
	return text;
}

static char *draw_svg(const mr_schedule_picture *p)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	MR_CHECK_OK(mr_schedule_picture_svg(p, f));
	fclose(f);
	return text;
}

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

static void picture_text_to_the_letter(void)
{
	mr_schedule_picture p = small_picture();
	char *text;

	p.title = "tiny";
	p.unit_name = "ms";
	text = draw_text(&p, 100);
	CU_ASSERT_STRING_EQUAL(text, "tiny\n"
				     "w0 F0F1....B0--..B1--\n"
				     "w1 ..F0B0--F1B1--....\n"
				     "   0         5 ms\n");
	free(text);
}

static unsigned longest_line(const char *text)
{
	unsigned most = 0;

	while (*text) {
		unsigned n = (unsigned)strcspn(text, "\n");

		most = n > most ? n : most;
		text += n + (text[n] == '\n');
	}
	return most;
}

/* Two digits in every box: a time too long for the line is folded, and each box still says what it is. */
/* Rows are called by worker and share. */
static void picture_names_shares(void)
{
	mr_schedule_picture p = small_picture();
	char *text;

	p.n_shares = 2;
	text = draw_text(&p, 100);
	CU_ASSERT_EQUAL(strncmp(text, "w0.0 F0F1....B0--..B1--\nw0.1 ..F0B0--F1B1--....\n", 48), 0);
	free(text);
	text = draw_svg(&p);
	CU_ASSERT(count(text, ">w0.0<") == 1 && count(text, ">w0.1<") == 1 && !count(text, ">w1<"));
	free(text);
}

static void picture_text_folds_long_times(void)
{
	mr_trace_rec rec[18];
	mr_schedule_picture p = {.rec = rec, .n_rec = 18, .n_workers = 1, .unit = 10, .unit_name = "ms"};
	char *text;

	for (unsigned i = 0; i < 18; i++) /* F takes 1, B takes 2 */
		rec[i] = (mr_trace_rec){.begin_ns = 10 * (i / 2 * 3 + i % 2),
					.end_ns = 10 * (i / 2 * 3 + i % 2 * 2 + 1),
					.op = i & 1 ? MR_OP_B : MR_OP_F,
					.micro = i / 2 + 5};
	text = draw_text(&p, 30);
	CU_ASSERT_STRING_EQUAL(text, "w0 F5-B5----F6-B6----F7-B7----\n"
				     "   0              5\n"
				     "w0 F8-B8----F9-B9----F10B10---\n"
				     "      10             15\n"
				     "w0 F11B11---F12B12---F13B13---\n"
				     "         20             25 ms\n");
	free(text);
	p.n_rec = 8; /* a box on the fold goes on behind it */
	text = draw_text(&p, 20);
	CU_ASSERT_STRING_EQUAL(text, "w0 F5B5--F6B6--F7B7\n"
				     "   0         5\n"
				     "w0 --F8B8--\n"
				     "       10 ms\n");
	free(text);
}

/* 12 workers, 100 micro-batches each, times that share no unit: still one line a worker within the width. */
static void picture_text_fits_its_width(void)
{
	mr_trace_rec rec[1200];
	mr_schedule_picture p = {.rec = rec,
				 .n_rec = 1200,
				 .n_workers = 12,
				 .unit = 1000,
				 .title = "a title that is longer than the narrowest picture"};

	for (unsigned i = 0; i < 1200; i++)
		rec[i] = (mr_trace_rec){.begin_ns = i / 12 * 997 + i % 12 * 31,
					.end_ns = i / 12 * 997 + i % 12 * 31 + 601 + i % 7,
					.op = (uint8_t)(i % 5),
					.micro = i,
					.worker = (uint16_t)(i % 12)};
	for (unsigned columns = 20; columns <= 160; columns += 20) {
		char *text = draw_text(&p, columns);

		CU_ASSERT(longest_line(text) <= columns);
		CU_ASSERT_EQUAL(count(text, "\n"), 1 + 12 + 1);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nw11 "));
		free(text);
	}
}

/* A worker with several stages: which one it is at shows. */
static void picture_tells_stages_apart(void)
{
	mr_trace_rec rec[9];
	mr_schedule_picture p = {.rec = rec, .n_rec = 4, .n_workers = 1, .unit = 10};
	char *text, *svg;

	for (unsigned i = 0; i < 9; i++)
		rec[i] = (mr_trace_rec){.begin_ns = 10 * i,
					.end_ns = 10 * i + 10,
					.op = i < 4   ? MR_OP_F
					      : i < 8 ? MR_OP_I
						      : MR_OP_U,
					.micro = i % 2,
					.stage = (uint16_t)(i / 2 % 2 * 3)};
	text = draw_text(&p, 80);
	svg = draw_svg(&p);
	CU_ASSERT_STRING_EQUAL(text, "w0 F0F1f0f1\n   0\nsmall letters: a worker's second pipe or stage\n");
	CU_ASSERT_EQUAL(count(svg, "fill-opacity=\"0.45\""), 2 + 1); /* and the legend's */
	CU_ASSERT_EQUAL(count(svg, ">paler: second pipe or stage of a worker<"), 1);
	free(text);
	free(svg);
	p.n_rec = 9;
	for (unsigned i = 4; i < 8; i++)
		rec[i].pipe = 1;
	text = draw_text(&p, 80);
	svg = draw_svg(&p);
	CU_ASSERT_STRING_EQUAL(text, "w0 F0aF1aF0bF1bI0cI1cI0dI1dU--\n   0              5\na, b, c ...: a worker's "
				     "first, second, third ... pipe or stage\n");
	CU_ASSERT_EQUAL(count(svg, ">1d<"), 1);
	CU_ASSERT_EQUAL(count(svg, "fill-opacity=\"0.63\""), 2);
	free(text);
	free(svg);
	p.n_rec = 2; /* the steps of a worker with one stage need no letters, whatever its number */
	rec[0].stage = rec[1].stage = 7;
	text = draw_text(&p, 80);
	CU_ASSERT_STRING_EQUAL(text, "w0 F0F1\n   0\n");
	free(text);
}

static void picture_svg_parts(void)
{
	mr_schedule_picture p = small_picture();
	char *svg;

	p.title = "a < b & \"c\"";
	p.versions = true;
	svg = draw_svg(&p);
	CU_ASSERT_EQUAL(strncmp(svg, "<svg xmlns=", 11), 0);
	CU_ASSERT_STRING_EQUAL(svg + strlen(svg) - 7, "</svg>\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(svg, "a &lt; b &amp; &quot;c&quot;"));
	CU_ASSERT_PTR_NULL(strstr(svg, "a < b"));
	CU_ASSERT_EQUAL(count(svg, "<title>F m"), 4);
	CU_ASSERT_EQUAL(count(svg, "<title>B m"), 4);
	CU_ASSERT_EQUAL(count(svg, "<title>U s0 v1 at 9"), 1);
	CU_ASSERT_EQUAL(count(svg, ">forward<") + count(svg, ">backward<") + count(svg, ">optimizer step<"), 3);
	CU_ASSERT_EQUAL(count(svg, ">weight gradient<") + count(svg, ">paler"), 0);
	CU_ASSERT_EQUAL(count(svg, "class=\"row\""), 2);
	CU_ASSERT_EQUAL(count(svg, "class=\"n\""), 8);
	CU_ASSERT_EQUAL(count(svg, "class=\"v\""), 8);
	CU_ASSERT_EQUAL(count(svg, ">micro-batch 7 on version 4 of the weights<"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(svg, "B m0 s1 p0 v0: 2 to 4"));
	CU_ASSERT_EQUAL(count(svg, "<pattern id=\"idle\""), 1);
	CU_ASSERT_EQUAL(count(svg, "fill=\"url(#idle)\""), 2 + 1); /* rows, and the legend's */
	free(svg);
}

/* Two pictures under each other: one axis, one legend, and the same instant at the same place. */
static void pictures_share_an_axis(void)
{
	mr_trace_rec a[] = {{.end_ns = 10, .op = MR_OP_F}, {.begin_ns = 10, .end_ns = 30, .op = MR_OP_B}};
	mr_trace_rec b[] = {{.begin_ns = 10, .end_ns = 20, .op = MR_OP_W, .micro = 3},
			    {.begin_ns = 30, .end_ns = 40, .op = MR_OP_F, .worker = 1}};
	mr_schedule_picture p[] = {{.rec = a, .n_rec = 2, .n_workers = 1, .unit = 10, .title = "first"},
				   {.rec = b, .n_rec = 2, .n_workers = 2, .unit = 10, .title = "second & last"}};
	char *svg = NULL, *x, *y;
	size_t size;
	FILE *f = open_memstream(&svg, &size);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	MR_CHECK_OK(mr_schedule_picture_stack(p, 2, "both", NULL, f));
	fclose(f);
	CU_ASSERT_EQUAL(count(svg, "class=\"panel\""), 2);
	CU_ASSERT_EQUAL(count(svg, ">second &amp; last<"), 1);
	CU_ASSERT_EQUAL(count(svg, "class=\"row\""), 3);
	CU_ASSERT_EQUAL(count(svg, "class=\"axis\""), 1);
	CU_ASSERT_EQUAL(count(svg, ">forward<") + count(svg, ">weight gradient<"), 2);
	CU_ASSERT_EQUAL(count(svg, "class=\"title\""), 1);
	/* B m0 of the first and W m3 of the second begin at 1. */
	x = strstr(svg, "<title>B m0 s0 p0 v0: 1 to 3<");
	y = strstr(svg, "<title>W m3 s0 p0 v0: 1 to 2<");
	CU_ASSERT_FATAL(x && y);
	while (strncmp(x, "<rect", 5))
		x--;
	while (strncmp(y, "<rect", 5))
		y--;
	CU_ASSERT_EQUAL(strtod(x + strlen("<rect x=\""), NULL), strtod(y + strlen("<rect x=\""), NULL));
	free(svg);
	p[1].unit = 0;
	MR_CHECK_FAIL(mr_schedule_picture_stack(p, 2, NULL, NULL, stderr), MR_EINVAL, "positive unit");
}

/* Numbers appear only where their box is wide enough for them. */
static void picture_svg_leaves_out_what_does_not_fit(void)
{
	mr_trace_rec rec[2000];
	mr_schedule_picture p = {.rec = rec, .n_rec = 2000, .n_workers = 1, .unit = 1};
	char *svg;

	for (unsigned i = 0; i < 2000; i++)
		rec[i] = (mr_trace_rec){.begin_ns = i, .end_ns = i + 1, .op = MR_OP_F, .micro = i};
	svg = draw_svg(&p);
	CU_ASSERT_EQUAL(count(svg, "<title>F"), 2000);
	CU_ASSERT_EQUAL(count(svg, "class=\"n\""), 0);
	free(svg);
}

static void picture_edge_cases(void)
{
	mr_trace_rec bad = {.worker = 2, .end_ns = 1};
	mr_schedule_picture p = small_picture(), none = {.n_workers = 3, .unit = 1},
			    outside = {.rec = &bad, .n_rec = 1, .n_workers = 2, .unit = 1};
	char *text = draw_text(&none, 80), *svg = draw_svg(&none);

	CU_ASSERT_STRING_EQUAL(text, "(nothing that takes time)\n");
	CU_ASSERT_EQUAL(count(svg, "class=\"row\""), 3);
	free(text);
	free(svg);
	MR_CHECK_FAIL(mr_schedule_picture_text(&p, 19, stderr), MR_EINVAL, "at least 20 columns");
	MR_CHECK_FAIL(mr_schedule_picture_svg(&outside, stderr), MR_EINVAL, "worker 2 of 2");
	bad = (mr_trace_rec){.begin_ns = 2, .end_ns = 1};
	MR_CHECK_FAIL(mr_schedule_picture_svg(&outside, stderr), MR_EINVAL, "cannot be drawn");
	p.unit = 0;
	MR_CHECK_FAIL(mr_schedule_picture_svg(&p, stderr), MR_EINVAL, "positive unit");
	p.unit = 1;
	p.n_workers = 0;
	MR_CHECK_FAIL(mr_schedule_picture_svg(&p, stderr), MR_EINVAL, "at least one worker");
}

void mr_suite_schedule_picture(void); /* the runner declares it too */

void mr_suite_schedule_picture(void)
{
	MR_SUITE("schedule_picture");
	MR_TEST(picture_text_to_the_letter);
	MR_TEST(picture_names_shares);
	MR_TEST(picture_text_folds_long_times);
	MR_TEST(picture_text_fits_its_width);
	MR_TEST(picture_tells_stages_apart);
	MR_TEST(picture_svg_parts);
	MR_TEST(pictures_share_an_axis);
	MR_TEST(picture_svg_leaves_out_what_does_not_fit);
	MR_TEST(picture_edge_cases);
}
