/*
 * objective_report.h - constants of the theory for a linear objective (models quadratic and logistic), and the constant
 * that a run adds.
 *
 * f(0), the minimum f* and the smoothness L follow from the data. G bounds the gradient of one block on one minibatch
 * at every model met, so a run measures it: the largest gradient of any commit, kept from checkpoint to
 * checkpoint. Before a run it is the largest at w = 0, over minibatches of consecutive rows.
 */
#ifndef MR_SESSION_OBJECTIVE_REPORT_H
#define MR_SESSION_OBJECTIVE_REPORT_H

#include <stdio.h>

#include "session/session.h"
#include "objective/objective.h"

typedef struct mr_objective_report {
	mr_objective *f;                /* NULL: too many numbers to compute the constants */
	double f0, minimum, smoothness, first;
	double before;                  /* largest gradient of the run's earlier sessions */
} mr_objective_report;

/** *@out is NULL if @s trains something else. Errors: MR_ERESOURCE, MR_ECONFIG. */
mr_status mr_objective_report_create(const mr_session *s, mr_objective_report **out) MR_MUST_USE;
void mr_objective_report_destroy(mr_objective_report *k); /* accepts NULL */

/** Bytes that mr_objective_report_create takes. */
uint64_t mr_objective_report_bytes(const mr_session *s);

/** The largest gradient of a block so far, of @s's executor and of @k->before. */
double mr_objective_report_largest(const mr_session *s);

/** A line for the head of a report; nothing when @k is NULL. */
void mr_objective_report_print(const mr_objective_report *k, FILE *out);

/** After training: the distance of the weights from the minimum, and G. Does nothing without s->known. Errors:
 * MR_ERESOURCE. */
mr_status mr_objective_report_print_end(const mr_session *s, FILE *out) MR_MUST_USE;

#endif
