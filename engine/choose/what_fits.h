/* what_fits.h - for a run that does not fit into the memory: single changes of its configuration that would. */
#ifndef MR_CHOOSE_WHAT_FITS_H
#define MR_CHOOSE_WHAT_FITS_H

#include "base/str.h"
#include "session/session.h"

/**
 * Try other systems, recomputation, more workers and more micro-batches in place of those of @s, each alone, and append
 * the keys of those that fit to @out, such as "system.name = v_min, or machine.workers = 12"; nothing where none does.
 * Of systems that flush the fastest two are named; those that do not flush only where the job's does not. Errors:
 * MR_ERESOURCE.
 */
mr_status mr_what_fits(const mr_session *s, mr_strbuf *out) MR_MUST_USE;

#endif
