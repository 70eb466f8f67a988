/*
 * schedule_lanes.h - tells the stages of a worker apart in schedule pictures: a worker that hosts several would
 * otherwise show the same op and micro-batch several times. For the pictures only.
 */
#ifndef MR_REPORT_SCHEDULE_LANES_H
#define MR_REPORT_SCHEDULE_LANES_H

#include "report/schedule_picture.h"

/* A lane is one (pipe, stage) of a worker; its lanes count from 0, pipe by pipe, by stage. */
typedef struct mr_schedule_lanes {
	uint64_t *key; /* [n] sorted: worker, pipe, stage */
	size_t n;
	unsigned most; /* the largest number of lanes of a worker; at least 1 */
} mr_schedule_lanes;

/** Find the lanes of the compute instructions in @p. Errors: MR_ERESOURCE, nothing to undo. */
mr_status mr_schedule_lanes_init(mr_schedule_lanes *lanes, const mr_schedule_picture *p) MR_MUST_USE;
void mr_schedule_lanes_fini(mr_schedule_lanes *lanes);

/** The lane of @rec, a compute instruction of the picture. */
unsigned mr_schedule_lanes_of(const mr_schedule_lanes *lanes, const mr_trace_rec *rec);

/** The letter after a number that tells lanes apart; 0 if there are too few lanes to need one or too many to have
 * one. */
char mr_schedule_lanes_letter(const mr_schedule_lanes *lanes, unsigned lane);

#endif
