/*
 * status.h - how millrace functions say that something went wrong.
 *
 * A function that can fail returns mr_status; its results leave through out-parameters, last. The code says what kind of
 * trouble it is (and so which exit code the program ends with); the text says which value was wrong and what was expected.
 * The text lives in a thread-local buffer: it belongs to the thread that failed and stays valid until that thread's next
 * failure. Library code never prints and never exits.
 */
#ifndef MR_BASE_STATUS_H
#define MR_BASE_STATUS_H

#include <stdarg.h>

typedef enum mr_status {
	MR_OK = 0,
	MR_EINVAL,    /* an argument breaks the function's contract                    exit 1 */
	MR_EUSAGE,    /* the command line is wrong                                     exit 2 */
	MR_ECONFIG,   /* the configuration, or a plan file, is wrong                   exit 3 */
	MR_EDATA,     /* a data file is missing, truncated or of another kind          exit 4 */
	MR_ECKPT,     /* a checkpoint is missing, damaged or of another model          exit 5 */
	MR_ERESOURCE, /* not enough memory, disk or CPUs, or somebody else has them    exit 6 */
	MR_EDIVERGED, /* a loss or a gradient is not finite                            exit 7 */
	MR_ESTALLED,  /* the watchdog saw no progress                                  exit 8 */
	MR_EIO,       /* the operating system refused a file operation                 exit 1 */
	MR_EDNN,      /* a kernel library call failed (the text holds its status)      exit 1 */
	MR_ESTOPPED,  /* another worker failed first, or a stop was asked for; not an error of its own */
	MR_N_STATUS
} mr_status;

#define MR_MUST_USE __attribute__((warn_unused_result))
#define MR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/**
 * mr_fail(code, fmt, ...): store the sentence in this thread's error buffer (cut at 1023 bytes); its value is code.
 * mr_fail_in(code, fmt, ...): put "context: " in front of this thread's error text; its value is code. To name the file or
 * the object on the way up. Macros, so that the compiler sees that the value is not MR_OK.
 */
#define mr_fail(code, ...) ({ mr_error_set(__VA_ARGS__); (mr_status)(code); })
#define mr_fail_in(code, ...) ({ mr_error_prepend(__VA_ARGS__); (mr_status)(code); })

void mr_error_set(const char *fmt, ...) MR_PRINTF(1, 2);
void mr_error_vset(const char *fmt, va_list ap) MR_PRINTF(1, 0);
void mr_error_prepend(const char *fmt, ...) MR_PRINTF(1, 2);

/** The sentence of this thread's last failure; "" if there was none. Valid until the thread fails again. */
const char *mr_error_text(void);

/** Short name of a code, such as "config". Never NULL. */
const char *mr_status_name(mr_status code);

/** The exit code that the program ends with on @code (see the enum). */
int mr_status_exit_code(mr_status code);

/* Return at once when @expr is not MR_OK. Only where nothing needs undoing. */
#define MR_TRY(expr)                             \
	do {                                     \
		mr_status mr_try_st_ = (expr);   \
		if (mr_try_st_ != MR_OK)         \
			return mr_try_st_;       \
	} while (0)

#endif
