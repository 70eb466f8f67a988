/* rank_table.h - the memory of each rank of a training that is planned for several hosts (session/rank_memory.h). */
#ifndef MR_OUTLINE_RANK_TABLE_H
#define MR_OUTLINE_RANK_TABLE_H

#include <stdio.h>

#include "base/json.h"
#include "session/session.h"

/** As a table with its title. Errors: those of mr_memory_plan_of_rank; MR_EIO. */
mr_status mr_rank_table_print(const mr_session *s, FILE *out) MR_MUST_USE;

/** Put "ranks": an array of one object a rank, with bytes. Errors: those of mr_memory_plan_of_rank. */
mr_status mr_rank_table_put(mr_json_writer *w, const mr_session *s) MR_MUST_USE;

#endif
