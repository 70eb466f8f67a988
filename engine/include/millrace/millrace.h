/* millrace/millrace.h - all of libmillrace's interface. */
#ifndef MILLRACE_MILLRACE_H
#define MILLRACE_MILLRACE_H

#include "millrace/job.h"
#include "millrace/status.h"
#include "millrace/training.h"

/** "0.1.0": of the library that is linked. */
MR_API const char *mr_version(void);

#endif
