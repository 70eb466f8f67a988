/*
 * first_choice.h - the system of a first configuration: what the search (auto.h) finds in a second, as a name and three
 * numbers.
 *
 * A prediction is about 5 % from the truth at best, and its figures of the machine vary. Of the candidates within that
 * of the fastest (and some microseconds, for steps that are as short) the one that uses fewest workers, then fewest
 * cores, micro-batches and bytes is taken, so the choice seldom changes from one time to the next: plain training
 * unless a pipeline is predicted to be worth it.
 */
#ifndef MR_CHOOSE_FIRST_CHOICE_H
#define MR_CHOOSE_FIRST_CHOICE_H

#include "job/job.h"

typedef struct mr_first_choice {
	const char *system;
	uint32_t workers, threads, n_micro; /* threads of each worker; 0: its share of the cores */
	char why[160];                      /* in a line */
	char busy[400];                     /* what disturbed the figures of the machine; "": nothing */
} mr_first_choice;

/**
 * Choose for @job, whose own system, workers, threads and micro-batches do not count, and for the machine at hand.
 * @asked: this system; NULL: any that flushes. Where no plan is found, it is @asked, or plain training on all cores,
 * with what the job itself has, and why says so. @usual: workers of a pipeline then. Errors: MR_EDATA; MR_ERESOURCE;
 * MR_ECONFIG @asked cannot train this job.
 */
mr_status mr_first_choice_find(const mr_job *job, const char *asked, uint32_t usual, mr_first_choice *out) MR_MUST_USE;

#endif
