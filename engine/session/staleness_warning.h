/*
 * staleness_warning.h - what is said about stale gradients before a training begins.
 */
#ifndef MR_SESSION_STALENESS_WARNING_H
#define MR_SESSION_STALENESS_WARNING_H

#include "session/session.h"

/**
 * One line on standard error where the optimizer is known to suffer from gradients as stale as this plan's and nothing
 * is done about them; and one where a mitigation is asked for and no gradient is ever stale. @s is open.
 */
void mr_staleness_warn(const mr_session *s);

#endif
