/* stage_row.h - what tables and run.json say of a stage: its place in the plan, its layers, its memory. */
#ifndef MR_OUTLINE_STAGE_ROW_H
#define MR_OUTLINE_STAGE_ROW_H

#include "report/records.h"
#include "session/session.h"

/** Fill @row and @bytes for @stage of @pipe. */
void mr_stage_row_of(const mr_session *s, const mr_run *run, uint8_t pipe, uint16_t stage, mr_stage_row *row,
		      mr_stage_bytes *bytes);

#endif
