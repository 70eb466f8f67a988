/*
 * notice.h - what a user should know although nothing failed: a line on standard error, or, inside the library, which
 * prints nothing, a line for its caller.
 */
#ifndef MR_BASE_NOTICE_H
#define MR_BASE_NOTICE_H

#include "base/str.h"

/** Print "millrace: ", the text and a newline to standard error, or append the text and a newline to the string that
 * mr_notice_to has set. */
void mr_notice(const char *fmt, ...) MR_PRINTF(1, 2);

/** From now on this thread's notices are appended to @out (NULL: printed). Returns what it was before. */
mr_strbuf *mr_notice_to(mr_strbuf *out);

#endif
