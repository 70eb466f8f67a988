/*
 * kept_machine.h - the best that the cores and caches of this machine reached when it was measured undisturbed, in a
 * file below the user's folder for caches, kept-machine.csv beside the one of kept_rows.h.
 *
 * The file is lines "name value"; the first one names its form and the last one is a hash of all before it. A file of
 * another processor or of another number of cores, or a damaged one, is as none. It serves predictions alone.
 */
#ifndef MR_STORE_KEPT_MACHINE_H
#define MR_STORE_KEPT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define MR_KEPT_MACHINE_NUMBERS 20

typedef struct mr_kept_machine {
	char processor[128];
	uint32_t n_cores;
	char date[32];                           /* of the measurement */
	double number[MR_KEPT_MACHINE_NUMBERS];  /* the caller knows what they are */
} mr_kept_machine;

/** Read what is kept for the processor and cores of @k; false: nothing, and @k is as before. */
bool mr_kept_machine_read(mr_kept_machine *k);

/** Remove the file, if there is one. */
void mr_kept_machine_forget(void);

/** Replace the file. Errors: MR_EIO with the reason, among them that there is no such folder. */
mr_status mr_kept_machine_store(const mr_kept_machine *k) MR_MUST_USE;

#endif
