/*
 * machine_picture.h - the machine of a session with its workers, as a picture (report/placement.h).
 */
#ifndef MR_LOGBOOK_MACHINE_PICTURE_H
#define MR_LOGBOOK_MACHINE_PICTURE_H

#include <stdio.h>

#include "session/session.h"

/** Append what row @row of @s (mr_executor_rows) does, and where: "w0: stage 0, 2; CPU 0-3; node 0". */
void mr_machine_row_text(const mr_session *s, uint32_t row, mr_strbuf *text);

/** Draw nodes, caches and cores of the open session @s, and which worker has which, as an SVG file. Errors: MR_EIO,
 * MR_ERESOURCE. */
mr_status mr_machine_draw(const mr_session *s, FILE *out) MR_MUST_USE;

#endif
