/*
 * staleness_warning.h - the warnings about stale gradients before a training begins.
 */
#ifndef MR_SESSION_STALENESS_WARNING_H
#define MR_SESSION_STALENESS_WARNING_H

#include "session/session.h"

/**
 * One line on standard error if the optimizer is known to suffer from gradients as stale as this plan's and no
 * mitigation is chosen; and one if a mitigation is chosen and no gradient is ever stale. @s is open.
 */
void mr_staleness_warn(const mr_session *s);

#endif
