/* unreadable.h - samples that cannot be read: the first is kept for the error, others are shown, up to some. */
#ifndef MR_TRAINED_UNREADABLE_H
#define MR_TRAINED_UNREADABLE_H

#include <stdint.h>

#include "base/status.h"

typedef struct mr_unreadable {
	void (*show)(void *arg, const char *text); /* NULL: nobody asks */
	void *arg;
	uint64_t n;
	char first[1024];
} mr_unreadable;

/** Note the failure of this thread, and that others of its kind may follow. */
void mr_unreadable_add(mr_unreadable *m);

/** MR_OK if there was none. @what: "samples". Errors: MR_EDATA with their number and the first. */
mr_status mr_unreadable_status(const mr_unreadable *m, const char *what) MR_MUST_USE;

#endif
