/* rank_place.h - where the workers of a training over ranks run: each rank places its own on its host. */
#ifndef MR_SESSION_RANK_PLACE_H
#define MR_SESSION_RANK_PLACE_H

#include "session/session.h"

/**
 * Say which rank of s->ranks owns each worker, and place those of this one, beside those of ranks that share its CPUs;
 * workers of other CPUs get the place of its first one, of which nothing but the number of threads is read. Errors:
 * those of mr_ranks_own and mr_machine_place; *@key as that.
 */
mr_status mr_rank_place(mr_session *s, const char **key) MR_MUST_USE;

#endif
