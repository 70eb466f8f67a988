/*
 * millrace/status.h - how functions of libmillrace report failures.
 *
 * A function that can fail returns mr_status; its results leave through out-parameters, last. mr_error_text() is a
 * message that names the wrong value and what was expected. It belongs to the thread that failed, until that thread's
 * next failure. The library never prints and never exits.
 */
#ifndef MILLRACE_STATUS_H
#define MILLRACE_STATUS_H

/* Functions with this mark make up the library's interface; all other names are hidden. */
#if defined(__GNUC__)
#define MR_API __attribute__((visibility("default")))
#define MR_MUST_USE __attribute__((warn_unused_result))
#else
#define MR_API
#define MR_MUST_USE
#endif

typedef enum mr_status {
	MR_OK = 0,
	MR_EINVAL,    /* an argument breaks the function's contract                    exit 1 */
	MR_EUSAGE,    /* the command line is wrong                                     exit 2 */
	MR_ECONFIG,   /* the configuration, or a plan file, is wrong                   exit 3 */
	MR_EDATA,     /* a data file is missing, truncated or of another kind          exit 4 */
	MR_ECKPT,     /* a checkpoint is missing, damaged or of another model          exit 5 */
	MR_ERESOURCE, /* not enough memory, disk or CPUs, or they are in use           exit 6 */
	MR_EDIVERGED, /* a loss or a gradient is not finite                            exit 7 */
	MR_ESTALLED,  /* the watchdog saw no progress                                  exit 8 */
	MR_EIO,       /* the operating system refused a file operation                 exit 1 */
	MR_EDNN,      /* a kernel library call failed (the text holds its status)      exit 1 */
	MR_ESTOPPED,  /* another worker failed first, or a stop was requested; not an error of its own */
	MR_N_STATUS
} mr_status;

/** The message of this thread's last failure; "" if there was none. Valid until the thread fails again. */
MR_API const char *mr_error_text(void);

/** Short name of a code, such as "config". Never NULL. */
MR_API const char *mr_status_name(mr_status code);

/** The exit code that a program ends with on @code (see the enum). */
MR_API int mr_status_exit_code(mr_status code);

/* Return at once when @expr is not MR_OK. Only where nothing needs undoing. */
#define MR_TRY(expr)                             \
	do {                                     \
		mr_status mr_try_st_ = (expr);   \
		if (mr_try_st_ != MR_OK)         \
			return mr_try_st_;       \
	} while (0)

#endif
