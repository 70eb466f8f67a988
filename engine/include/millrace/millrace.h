/* millrace/millrace.h - the whole interface of libmillrace. */
#ifndef MILLRACE_MILLRACE_H
#define MILLRACE_MILLRACE_H

#include "millrace/inspect.h"
#include "millrace/job.h"
#include "millrace/predictor.h"
#include "millrace/status.h"
#include "millrace/training.h"

/** Version of the library that is linked, such as "0.1.0". */
MR_API const char *mr_version(void);

#endif
