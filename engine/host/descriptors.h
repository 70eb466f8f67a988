/* descriptors.h - how many files this process may have open at once. */
#ifndef MR_HOST_DESCRIPTORS_H
#define MR_HOST_DESCRIPTORS_H

#include "base/status.h"

/**
 * Check that @more files can be opened beside those that are open, before long work whose end needs them; where the
 * soft limit is too low, it is raised, up to the hard one. Errors: MR_ERESOURCE with the figures.
 */
mr_status mr_descriptors_reserve(unsigned more) MR_MUST_USE;

#endif
