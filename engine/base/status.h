/*
 * status.h - how millrace functions say that something went wrong.
 *
 * A function that can fail returns mr_status; its results leave through out-parameters, last. The code says what kind
 * of trouble it is (and so which exit code the program ends with); the text says which value was wrong and what was
 * expected. The text lives in a thread-local buffer: it belongs to the thread that failed and stays valid until that
 * thread's next failure. Library code never prints and never exits.
 */
#ifndef MR_BASE_STATUS_H
#define MR_BASE_STATUS_H

#include <stdarg.h>

#include "millrace/status.h"

#define MR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/**
 * mr_fail(code, fmt, ...): store the message in this thread's error buffer (cut at 1023 bytes); its value is code.
 * mr_fail_in(code, fmt, ...): put "context: " in front of this thread's error text; its value is code. To name the file
 * or the object on the way up. Macros, so that the compiler sees that the value is not MR_OK.
 */
#define mr_fail(code, ...) ({ mr_error_set(__VA_ARGS__); (mr_status)(code); })
#define mr_fail_in(code, ...) ({ mr_error_prepend(__VA_ARGS__); (mr_status)(code); })

void mr_error_set(const char *fmt, ...) MR_PRINTF(1, 2);
void mr_error_vset(const char *fmt, va_list ap) MR_PRINTF(1, 0);
void mr_error_prepend(const char *fmt, ...) MR_PRINTF(1, 2);

#endif
