/*
 * scores.h - the quality of an evaluation's predictions: of classes accuracy, top-5 accuracy, and the area under the
 * ROC curve; of numbers the errors.
 *
 *	accuracy  fraction of the targets whose class has the largest score (the first of equal ones); padding is none
 *	top5      fraction of the targets whose class is among the five largest scores; for more than five classes
 *	auc       of two classes: the probability that a sample of class 1 has a larger score than one of class 0, equal
 *	          scores counted as half (Hanley and McNeil: "The meaning and use of the area under a receiver operating
 *	          characteristic curve", 1982). A sample's score is that of class 1 less that of class 0
 *	rmse, mae root of the mean square of the errors, and their mean distance from 0
 *	r2        1 less the sum of the errors' squares by that of the targets' distances from their mean
 *
 * Thread: an evaluation's micro-batches may be judged in any order and on any threads, each by one thread. The sums are
 * computed at the end, so they do not depend on the order.
 */
#ifndef MR_NN_SCORES_H
#define MR_NN_SCORES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_two_score {
	float above; /* the score of class 1 less that of class 0 */
	bool one;    /* the target is class 1 */
} mr_two_score;

/* The number of classes where targets are numbers, whose errors are summed. */
#define MR_JUDGE_NUMBERS (-1)

/* The counts of a loss in one micro-batch. */
typedef struct mr_judged {
	uint64_t right, in_five; /* rows; a loss adds to both */
	uint64_t left_out;       /* rows that do not count; a loss adds to it */
	mr_two_score *two;       /* [rows] of two classes; NULL: not needed */
	double squares, distances; /* of numbers: of their errors; a loss adds to these by mr_judged_number */
	double mean, spread;     /* of the targets, and the sum of squared distances from it (Welford) */
	uint64_t n_numbers;
} mr_judged;

/* The scores of a whole evaluation; NAN: does not apply. */
typedef struct mr_scores {
	double accuracy, top5, auc, rmse, mae, r2;
} mr_scores;

typedef struct mr_judging {
	uint64_t n_micros, n_rows;
	int64_t classes;
	mr_judged *of;     /* [n_micros]; NULL: the loss judges nothing */
	mr_two_score *two; /* [n_rows]; NULL: there are not two classes */
} mr_judging;

/** Allocate for an evaluation of @n_micros micro-batches of @rows targets each (the last may have fewer), @n_rows in
 * all. @classes 0: nothing is judged; MR_JUDGE_NUMBERS: errors of numbers. mr_judging_fini frees it, also
 * after a failure. Errors: MR_ERESOURCE. */
mr_status mr_judging_init(mr_judging *j, int64_t classes, uint64_t n_micros, uint64_t rows,
			  uint64_t n_rows) MR_MUST_USE;
void mr_judging_fini(mr_judging *j);

/** The empty counts for the loss of micro-batch @micro; NULL when nothing is judged. */
mr_judged *mr_judging_begin(mr_judging *j, uint64_t micro);

/** Count the prediction @value of the number @target. */
void mr_judged_number(mr_judged *j, double value, double target);

/** The scores, after all micro-batches are judged. Sorts the scores of two classes. */
mr_scores mr_judging_end(mr_judging *j);

#endif
