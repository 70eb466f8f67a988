/*
 * machine.h - describes the machine and places the workers, from the machine group of a job.
 */
#ifndef MR_JOB_MACHINE_H
#define MR_JOB_MACHINE_H

#include "job/job.h"
#include "host/place.h"
#include "host/topo.h"

/**
 * Describe the machine (this one, or the one of machine.topology) and place the workers on it. The caller calls the
 * fini of both, also after an error. *@key is the key of the group that an error is about, or NULL.
 * Errors: MR_ECONFIG an impossible topology or CPU list; MR_ERESOURCE.
 */
mr_status mr_machine_place(const mr_job *j, mr_topo *topo, mr_place *place, const char **key) MR_MUST_USE;

/** The same for @workers workers, of a training that has others elsewhere. */
mr_status mr_machine_place_some(const mr_job *j, uint16_t workers, mr_topo *topo, mr_place *place,
				const char **key) MR_MUST_USE;

#endif
