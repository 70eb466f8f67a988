/* The progress line: its words, its width, and when it is drawn on a terminal and in a pipe. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "report/progress.h"
#include "screen_help.h"

static mr_figures state_at(uint64_t step, double steps)
{
	mr_figures s = mr_figures_at(step);

	s.steps = steps;
	return s;
}

static mr_figures full_state(void)
{
	mr_figures s = state_at(120, 1000);

	s.loss = 2.34123;
	s.lr = 3e-4;
	s.grad_norm = 0.8123;
	s.rate = 12345;
	s.step_ms = 165.9;
	s.gflops = 45.06;
	s.peak_part = 45.06 / 72.6;
	s.bubble = 0.031;
	s.eta_seconds = 83;
	return s;
}

static void words(void)
{
	mr_figures s = full_state();
	char line[512];

	mr_progress_format(&s, "tok/s", false, 0, line);
	CU_ASSERT_STRING_EQUAL(line, "step 120/1000 loss 2.3412 lr 3.00e-04 norm 0.812 tok/s 12.3k ms 166 gflop/s 45.1 "
				     "peak 62% bubble 3.1% eta 1:23");
	s = state_at(0, 5);
	mr_progress_format(&s, "tok/s", false, 0, line);
	CU_ASSERT_STRING_EQUAL(line, "step 0/5");
	s.loss = 7;
	s.val_loss = 1.5;
	s.rate = 999.6;
	mr_progress_format(&s, "samples/s", false, 0, line);
	CU_ASSERT_STRING_EQUAL(line, "step 0/5 loss 7.0000 val 1.5000 samples/s 1.00k");
	s.rate = 9.994;
	s.gflops = 3;
	mr_progress_format(&s, "samples/s", true, 0, line);
	CU_ASSERT_STRING_EQUAL(line, "\033[2mstep\033[0m 0/5 \033[2mloss\033[0m 7.0000 \033[2mval\033[0m 1.5000 "
				     "\033[2msamples/s\033[0m 9.99 \033[2mgflop/s\033[0m 3.0");
}

static void losses(void)
{
	static const struct {
		double loss;
		const char *text;
	} cases[] = {{0, "0.0000"},          {2.34123, "2.3412"},     {0.00125, "0.0013"},       {-0.5, "-0.5000"},
		     {4.1e-7, "4.1000e-07"}, {999999, "999999.0000"}, {2.7947e25, "2.7947e+25"}, {-1e-9, "-1.0000e-09"},
		     {INFINITY, "inf"}};
	char text[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_STRING_EQUAL(mr_loss_text(cases[i].loss, text), cases[i].text);
}

/* The widest line that a training draws: 125 columns. */
static mr_figures widest_state(void)
{
	mr_figures s = full_state();

	s.val_loss = 1.5499;
	return s;
}

static void never_wider(void)
{
	mr_figures s = widest_state();
	char line[512];

	for (unsigned columns = 5; columns < 130; columns++) {
		mr_progress_format(&s, "samples/s", false, columns, line);
		CU_ASSERT_TRUE(strlen(line) <= columns);
		CU_ASSERT_EQUAL(strstr(line, "loss 2.34") != NULL, columns >= 10);
		CU_ASSERT_EQUAL(strstr(line, "eta 1:23") != NULL, columns >= 19);
		CU_ASSERT_EQUAL(strstr(line, "step 120") != NULL, columns >= 28);
		CU_ASSERT_EQUAL(strstr(line, "bubble 3") != NULL, columns >= 38);
		CU_ASSERT_EQUAL(strstr(line, "val 1.5") != NULL, columns >= 48);
		CU_ASSERT_EQUAL(strstr(line, "loss 2.3412") != NULL, columns >= 103); /* with all digits */
		CU_ASSERT_EQUAL(strstr(line, "peak 62%") != NULL, columns >= 125);
	}
	s.loss = INFINITY;
	mr_progress_format(&s, "samples/s", false, 79, line);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "loss inf"));
}

/* What a user watches fits on a terminal of 80 columns, whose last stays free. */
static void eighty_columns(void)
{
	static const char *const keys[] = {"step ", "loss ", "lr ", "norm ", "tok/s ", "ms ", "bubble ", "eta "};
	mr_figures s = full_state();
	char line[512];

	mr_progress_format(&s, "tok/s", false, 79, line);
	CU_ASSERT_STRING_EQUAL(
		line, "step 120/1000 loss 2.341 lr 3e-4 norm 0.81 tok/s 12k ms 166 bubble 3% eta 1:23");
	s.lr = 3.2e-4;
	s.step = 123456;
	s.steps = 200000;
	s.rate = 999600;
	s.step_ms = 8.449;
	mr_progress_format(&s, "tok/s", false, 79, line);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(line, keys[i]));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, " lr 3.2e-4 "));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, " tok/s 1.0M ms 8.4 "));
	s.step = 1000000;
	s.steps = 1e6;
	s.val_loss = 1.5499;
	s.eta_seconds = 360000;
	mr_progress_format(&s, "samples/s", false, 79, line); /* however wide the others are */
	CU_ASSERT_PTR_NOT_NULL(strstr(line, " bubble 3% eta 100:00:00"));
	s = full_state();
	s.lr = 0;
	mr_progress_format(&s, "tok/s", false, 79, line);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, " lr 0 "));
}

/* Each redraw begins at the left edge, ends before the last column, and erases what it does not write over: no new
 * lines. */
static void narrowed_window(void)
{
	mr_test_screen screen = mr_test_screen_open(140);
	mr_figures s = widest_state();
	mr_progress p;
	char *text;

	mr_progress_init(&p, &(mr_progress_params){screen.out, "samples/s", true, true, 0, 0});
	mr_progress_update(&p, &s, 0);
	text = mr_test_screen_take(&screen);
	CU_ASSERT_EQUAL(mr_test_widest(text), 125);
	free(text);
	for (unsigned short columns = 120; columns >= 60; columns = (unsigned short)(columns - 20)) {
		mr_test_screen_resize(&screen, columns);
		for (int i = 0; i < 2; i++) {
			s.step++;
			mr_progress_update(&p, &s, (double)s.step);
			text = mr_test_screen_take(&screen);
			CU_ASSERT_EQUAL(*text, '\r');
			CU_ASSERT_STRING_EQUAL(text + strlen(text) - 3, "\033[K");
			CU_ASSERT_TRUE(mr_test_widest(text) < columns);
			CU_ASSERT_PTR_NOT_NULL(strstr(text, "eta"));
			CU_ASSERT_PTR_NULL(strchr(text, '\n'));
			free(text);
		}
	}
	mr_progress_finish(&p);
	mr_test_screen_close(&screen);
}

/* An evaluation is news, also of a step whose line stands already. */
static void new_validation_loss(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	mr_figures s = state_at(4, 4);
	mr_progress p;

	mr_progress_init(&p, &(mr_progress_params){f, "tok/s", true, false, 0, 0});
	s.val_loss = 2;
	mr_progress_update(&p, &s, 0);
	s.val_loss = 1;
	mr_progress_force(&p, &s, 0);
	mr_progress_force(&p, &s, 0);
	mr_progress_finish(&p);
	fclose(f);
	CU_ASSERT_STRING_EQUAL(text, "\rstep 4/4 val 2.0000\033[K\rstep 4/4 val 1.0000\033[K\n");
	free(text);
}

/* In a pipe or a file nothing is left out, however long the line is. */
static void whole_without_a_limit(void)
{
	mr_figures s = full_state();
	char line[512], *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	mr_progress p;

	s.step = 1000000000000;
	s.steps = 1e12;
	s.loss = 123456.7;
	s.val_loss = 123456.7;
	s.eta_seconds = 1e7;
	mr_progress_format(&s, "samples/s", true, 0, line);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "eta"));
	mr_progress_init(&p, &(mr_progress_params){f, "samples/s", false, false, 0, 0});
	mr_progress_update(&p, &s, 0);
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, " eta "));
	free(text);
}

/* Run a few updates at half-second steps; returns what was written. */
static char *drawn(bool terminal, uint64_t every_steps, double every_seconds, uint64_t n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	mr_progress_params params = {f, "tok/s", terminal, false, every_seconds, every_steps};
	mr_progress p;

	mr_progress_init(&p, &params);
	for (uint64_t i = 1; i <= n; i++) {
		mr_figures s = state_at(i, (double)n);

		s.loss = i < 3 ? 10 : 9;
		mr_progress_update(&p, &s, 0.5 * (double)i);
		if (i == n)
			mr_progress_force(&p, &s, 0.5 * (double)i);
	}
	mr_progress_finish(&p);
	fclose(f);
	return text;
}

static void pipe_lines(void)
{
	char *text = drawn(false, 0, 2, 7);

	CU_ASSERT_STRING_EQUAL(text, "step 1/7 loss 10.0000\nstep 5/7 loss 9.0000\nstep 7/7 loss 9.0000\n");
	free(text);
	text = drawn(false, 3, 1000, 7);
	CU_ASSERT_STRING_EQUAL(
		text, "step 1/7 loss 10.0000\nstep 3/7 loss 9.0000\nstep 6/7 loss 9.0000\nstep 7/7 loss 9.0000\n");
	free(text);
}

static void terminal_redraws(void)
{
	char *text = drawn(true, 0, 0.9, 4);

	CU_ASSERT_STRING_EQUAL(
		text, "\rstep 1/4 loss 10.0000\033[K\rstep 3/4 loss 9.0000\033[K\rstep 4/4 loss 9.0000\033[K\n");
	free(text);
}

static void drawn_and_ended_once(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	mr_progress_params params = {f, "tok/s", true, false, 0, 0};
	mr_figures s = state_at(1, 2);
	mr_progress p;

	mr_progress_init(&p, &params);
	mr_progress_update(&p, &s, 0);
	mr_progress_force(&p, &s, 0);
	mr_progress_force(&p, &s, 0);
	mr_progress_finish(&p);
	mr_progress_finish(&p);
	fclose(f);
	CU_ASSERT_STRING_EQUAL(text, "\rstep 1/2\033[K\n");
	free(text);
}

static void defaults_of_a_file(void)
{
	FILE *f = tmpfile();
	mr_progress_params p = mr_progress_defaults(f, "tok/s");

	CU_ASSERT_FALSE(p.terminal);
	CU_ASSERT_FALSE(p.color);
	fclose(f);
}

void mr_suite_progress(void);
void mr_suite_progress(void)
{
	MR_SUITE("progress");
	MR_TEST(words);
	MR_TEST(losses);
	MR_TEST(never_wider);
	MR_TEST(eighty_columns);
	MR_TEST(narrowed_window);
	MR_TEST(new_validation_loss);
	MR_TEST(whole_without_a_limit);
	MR_TEST(pipe_lines);
	MR_TEST(terminal_redraws);
	MR_TEST(drawn_and_ended_once);
	MR_TEST(defaults_of_a_file);
}
