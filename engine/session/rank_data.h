/*
 * rank_data.h - the data of a training over ranks. Ranks that read the first stage's inputs or the last one's targets
 * open the files; the others get from these ranks what is known of the data (data/absent.h).
 *
 * Which ranks read follows from the plan, which follows from the shapes of the data. So each rank looks for the files,
 * the lowest that has them sends what is known to those that have none, and all make the plan. Then a rank that reads
 * and has no files fails, and one that has files and does not read closes them. Some facts are known only once data are
 * loaded; the lowest rank that reads sends them afterwards.
 *
 * All ranks call each of these, in this order.
 */
#ifndef MR_SESSION_RANK_DATA_H
#define MR_SESSION_RANK_DATA_H

#include "session/session.h"

/** Open the data of @s as @want says, or those of another rank; s->no_data says which. Errors: MR_ECONFIG ranks differ
 * in what they know of the data or in mr_rank_program; if no rank has the data, that of opening them; those of
 * mr_rank_texts_swap. */
mr_status mr_rank_data_open(mr_session *s, const mr_data_want *want) MR_MUST_USE;

/** The plan of @s is made: from now on a rank that does not read has no files open. Errors: that of opening the data on
 * a rank that reads; MR_ERESOURCE. */
mr_status mr_rank_data_settle(mr_session *s) MR_MUST_USE;

/** In place of mr_session_load_here. Errors: also those of mr_rank_texts_swap. */
mr_status mr_rank_data_load(mr_session *s) MR_MUST_USE;

#endif
