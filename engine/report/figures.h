/*
 * figures.h - the figures of a training (figures.def): a record of them, its forms in files, and how one is written.
 *
 * A record is of one step, of an evaluation, or of the present state; what it does not know is NAN. All that shows or
 * stores figures walks over the table and names none, so a further figure is a row there, and the line that counts it.
 */
#ifndef MR_REPORT_FIGURES_H
#define MR_REPORT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/status.h"
#include "report/records.h"

typedef enum mr_figure {
#define FIGURE(name, ...) MR_FIGURE_##name,
#include "report/figures.def"
	MR_N_FIGURES
} mr_figure;

typedef enum mr_figure_kind {
	MR_FIGURE_STEP,       /* of each step, or of a stretch that ends with it */
	MR_FIGURE_EVALUATION, /* its name begins with val_; in files with train_ if it is of the training samples */
	MR_FIGURE_PRESENT,    /* of the present state alone: not in metrics.jsonl */
} mr_figure_kind;

/* How several values become one. */
typedef enum mr_figure_fold {
	MR_FOLD_LAST,         /* the last one; over workers: there is one for all */
	MR_FOLD_MEAN,
	MR_FOLD_HARMONIC,     /* the mean of rates: that of all steps together */
} mr_figure_fold;

/* How it is written for people. */
typedef enum mr_figure_form {
	MR_FORM_COUNT,
	MR_FORM_LOSS,
	MR_FORM_RATE_OF_LEARNING,
	MR_FORM_NORM,
	MR_FORM_PERPLEXITY,
	MR_FORM_RATE,          /* "950", "12.3k" */
	MR_FORM_GFLOPS,
	MR_FORM_PART,          /* of 1, in percent */
	MR_FORM_WHOLE_PERCENT,
	MR_FORM_PERCENT,       /* of an evaluation */
	MR_FORM_AREA,
	MR_FORM_DURATION,
	MR_FORM_BYTES,
} mr_figure_form;

typedef struct mr_figure_info {
	const char *name;      /* in files */
	const char *meaning;   /* a phrase */
	const char *unit;      /* NULL: it has none */
	const char *line;      /* its word in the line of progress; "": the caller says; NULL: not there */
	unsigned leaves;       /* fields leave a narrow line in this order; 2, 3 and 12 are taken (progress.c) */
	const char *title;     /* at the end of a training, and in the table of runs of a report; NULL: not there */
	mr_figure_kind kind;
	mr_figure_form form;
	mr_figure_fold workers, steps;
} mr_figure_info;

extern const mr_figure_info mr_figure_table[MR_N_FIGURES];

typedef struct mr_figures {
	uint64_t step;         /* commits so far, from 1; 0 stands before the first step */
	bool trains_only;      /* the evaluation was of the training samples */
	union {
		double at[MR_N_FIGURES]; /* by mr_figure; NAN: unknown */
		struct {
#define FIGURE(name, ...) double name;
#include "report/figures.def"
		};
	};
} mr_figures;

/** A record of @step without figures. */
mr_figures mr_figures_at(uint64_t step);
/** Take over the figures of kind @kind that @from has and no others: unknown ones become unknown. */
void mr_figures_take(mr_figures *to, const mr_figures *from, mr_figure_kind kind);

/** The figure of the time in which workers waited for @cause; of MR_WAIT_NONE in which they computed. */
mr_figure mr_figure_of_wait(mr_wait_cause cause);
/** "upstream", "downstream", "weights", "optimizer", "data", "descheduled"; "none". Never NULL. */
const char *mr_report_wait_name(mr_wait_cause cause);

/* --- several records --- */

/** Put into @to the means of the times of @n @workers, and the bubble. */
void mr_figures_of_workers(const mr_times *workers, size_t n, mr_figures *to);

/* Many steps in one record. All zero: none yet. */
typedef struct mr_figures_sum {
	uint64_t n_rows;
	mr_figures last;       /* of steps and of evaluations */
	double sum[MR_N_FIGURES];
	uint64_t n[MR_N_FIGURES];
} mr_figures_sum;

void mr_figures_add(mr_figures_sum *s, const mr_figures *row);
/** The step of the last record, and each figure folded over all as its row says: those that are the last are those of
 * the last record of a step, or of an evaluation. */
mr_figures mr_figures_folded(const mr_figures_sum *s);

/* --- files --- */

/** Its key: the name, or with train_ for val_. Returns @buf. */
char *mr_figure_key(mr_figure f, bool trains_only, char buf[32]);
/** Write the figures that @r knows into the open object of @w; @all: the others too, as null. */
void mr_figures_put(const mr_figures *r, bool all, mr_json_writer *w);
/** Read them from an object with a key step; a null is @null. False: it has none. */
bool mr_figures_get(const mr_json *j, double null, mr_figures *out);

/* --- words --- */

typedef enum mr_figure_digits {
	MR_DIGITS_BRIEF, /* of a line that is too narrow otherwise */
	MR_DIGITS_LINE,
	MR_DIGITS_RESULT, /* at the end of a training */
	MR_DIGITS_EXACT,
} mr_figure_digits;

/** "2.3412", "62%", "1:23", "4.0 MiB". Returns @buf. */
char *mr_figure_text(mr_figure f, double x, mr_figure_digits digits, char buf[32]);
/** A loss for people: "2.3412"; "4.1000e-07" if fixed digits would hide it. Returns @buf. */
char *mr_loss_text(double x, char buf[32]);
/** "validation loss 2.3412, accuracy 91.70%": what @r has of an evaluation; "" without a finite loss. */
void mr_figures_say_evaluation(const mr_figures *r, mr_figure_digits digits, FILE *out);
/** The table of all figures, for people. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_figures_list(FILE *out) MR_MUST_USE;

#endif
