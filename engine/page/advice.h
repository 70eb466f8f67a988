/*
 * advice.h - what the rows of a run say about how to go on: still falling, learned by heart, too large a step.
 *
 * The rules know the curves alone, not the data, and each sentence says what it goes by.
 */
#ifndef MR_PAGE_ADVICE_H
#define MR_PAGE_ADVICE_H

#include "report/figures.h"

/** Call @each with a sentence for each rule that applies to the @n rows of a run, the most important first; none
 * applies to a run of few steps. Returns how many there are. */
unsigned mr_advice(const mr_figures *rows, size_t n, void (*each)(void *arg, const char *text), void *arg);

/** The row of the lowest validation loss, the first of equal ones; NULL: there was no evaluation. */
const mr_figures *mr_advice_best(const mr_figures *rows, size_t n);

/** The same on classes that are unbalanced, where rare ones are found less often, of errors.json (trained/errors.h;
 * NULL: there is none). */
unsigned mr_advice_on_classes(const mr_json *errors, void (*each)(void *arg, const char *text), void *arg);

#endif
