/*
 * run_links.h - chooses the kind of link that carries each edge of a run's plan: boundaries (links.h), events
 * (counter.h), and ranges of gradients and weights (ranges.h).
 */
#ifndef MR_EXEC_RUN_LINKS_H
#define MR_EXEC_RUN_LINKS_H

#include "exec/run.h"

/**
 * Choose a kind for every edge, after the stages are made and before memory is laid out. Errors: MR_ECONFIG no kind
 * carries an edge, or the plan needs workers that share memory; MR_ERESOURCE; the kinds'.
 */
mr_status mr_run_choose_links(mr_run *run) MR_MUST_USE;

/** Open the channels, after memory is laid out. Errors: MR_ERESOURCE, the kinds'. */
mr_status mr_run_open_links(mr_run *run) MR_MUST_USE;

/** Free all, even after mr_run_create has failed half-way. */
void mr_run_close_links(mr_run *run);

#endif
