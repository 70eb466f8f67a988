/* The table of figures: every one goes through files and back, steps and workers are folded as the table says. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/figures.h"

/* @row written as JSON with @keys keys, and read again. */
static mr_figures there_and_back(const mr_figures *row, bool all, double null, size_t keys)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	mr_json_writer w;
	mr_json *j = NULL;
	mr_figures r;

	w = mr_json_begin(f, true);
	mr_figures_put(row, all, &w);
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	MR_CHECK_OK(mr_json_read_text(text, len, &j));
	CU_ASSERT(mr_figures_get(j, null, &r));
	CU_ASSERT_EQUAL(mr_json_size(j), keys);
	mr_json_destroy(j);
	free(text);
	return r;
}

static void files(void)
{
	for (int trains_only = 0; trains_only < 2; trains_only++) {
		mr_figures row = mr_figures_at(7), r;

		row.trains_only = trains_only == 1;
		for (int f = 0; f < MR_N_FIGURES; f++)
			row.at[f] = f + 3;
		r = there_and_back(&row, true, NAN, MR_N_FIGURES + 1);
		CU_ASSERT(r.step == 7 && r.trains_only == row.trains_only && !memcmp(r.at, row.at, sizeof(r.at)));
		for (int f = 0; f < MR_N_FIGURES; f++)
			row.at[f] = f == MR_FIGURE_loss ? INFINITY : f == MR_FIGURE_val_loss ? 3 : (double)NAN;
		r = there_and_back(&row, true, NAN, MR_N_FIGURES + 1);
		CU_ASSERT(isnan(r.loss) && r.val_loss == 3);
		r = there_and_back(&row, false, INFINITY, 3);
		CU_ASSERT(isinf(r.loss) && r.val_loss == 3 && isnan(r.lr) && isnan(r.samples));
	}
}

static void steps(void)
{
	mr_figures_sum sum = {0};
	mr_figures row = mr_figures_at(1), r = mr_figures_folded(&sum);

	CU_ASSERT(isnan(r.loss) && isnan(r.gflops) && isnan(r.bubble));
	row.loss = 4;
	row.gflops = 10;
	row.bubble = 0.25;
	row.grad_norm = 2;
	mr_figures_add(&sum, &row);
	row = mr_figures_at(2);
	row.loss = 3;
	row.gflops = 30;
	mr_figures_add(&sum, &row);
	row = mr_figures_at(2);
	row.val_loss = 5;
	row.val_auc = 0.5;
	row.trains_only = true;
	mr_figures_add(&sum, &row);
	row = mr_figures_at(3);
	row.loss = 2;
	row.bubble = 0.75;
	mr_figures_add(&sum, &row);
	r = mr_figures_folded(&sum);
	CU_ASSERT(r.step == 3 && r.loss == 2 && r.bubble == 0.5 && fabs(r.gflops - 15) < 1e-12);
	CU_ASSERT(r.val_loss == 5 && r.val_auc == 0.5 && r.trains_only);
	CU_ASSERT(isnan(r.grad_norm)); /* the last step has none */
}

static void workers(void)
{
	mr_figures r = mr_figures_at(9);
	mr_times w[2];

	for (int c = MR_WAIT_UPSTREAM; c < MR_N_WAITS; c++) {
		w[0].at[c] = 0.01 * c;
		w[1].at[c] = 0.03 * c;
	}
	w[0].row.busy = 0.75;
	w[1].row.busy = 0.5;
	mr_figures_of_workers(w, 2, &r);
	CU_ASSERT(r.busy == 0.625 && r.bubble == 0.375 && isnan(r.loss));
	CU_ASSERT_DOUBLE_EQUAL(r.wait_upstream, 0.02, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(r.wait_descheduled, 0.12, 1e-12);
	CU_ASSERT_STRING_EQUAL(mr_report_wait_name(MR_WAIT_UPSTREAM), "upstream");
	CU_ASSERT_STRING_EQUAL(mr_report_wait_name(MR_WAIT_DESCHEDULED), "descheduled");
	CU_ASSERT_STRING_EQUAL(mr_report_wait_name(MR_WAIT_NONE), "none");
	for (int c = MR_WAIT_UPSTREAM; c < MR_N_WAITS; c++) /* one name in both tables */
		CU_ASSERT_STRING_EQUAL(mr_report_wait_name((mr_wait_cause)c),
				       mr_record_members(MR_RECORD_TIMES)[1 + c].name);
}

static void table(void)
{
	unsigned left = 0;

	for (int f = 0; f < MR_N_FIGURES; f++) {
		const mr_figure_info *i = &mr_figure_table[f];

		CU_ASSERT(i->meaning && strlen(i->meaning) > 10 && strlen(i->name) < 26);
		CU_ASSERT((i->kind == MR_FIGURE_EVALUATION) == !strncmp(i->name, "val_", 4));
		CU_ASSERT(!i->line || (i->leaves != 2 && i->leaves != 3 && i->leaves != 12 && i->leaves < 15));
		CU_ASSERT(i->kind != MR_FIGURE_EVALUATION || i->title);
		left += i->line != NULL;
	}
	CU_ASSERT(left > 10);
}

static void words(void)
{
	mr_figures r = mr_figures_at(3);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	r.val_loss = 1.25;
	r.val_accuracy = 0.9167;
	r.val_auc = 0.75;
	mr_figures_say_evaluation(&r, MR_DIGITS_RESULT, f);
	fputc('\n', f);
	r.trains_only = true;
	mr_figures_say_evaluation(&r, MR_DIGITS_EXACT, f);
	r.val_loss = INFINITY;
	mr_figures_say_evaluation(&r, MR_DIGITS_EXACT, f);
	fclose(f);
	CU_ASSERT_STRING_EQUAL(text, "validation loss 1.2500, accuracy 91.67%, AUC 0.7500\n"
				     "loss on all training samples 1.25, accuracy 91.6700%, AUC 0.750000");
	free(text);
}

void mr_suite_figures(void);
void mr_suite_figures(void)
{
	MR_SUITE("figures");
	MR_TEST(files);
	MR_TEST(steps);
	MR_TEST(workers);
	MR_TEST(table);
	MR_TEST(words);
}
