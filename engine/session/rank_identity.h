/* rank_identity.h - what must be the same on all ranks of a training, as text: lines "name: value". */
#ifndef MR_SESSION_RANK_IDENTITY_H
#define MR_SESSION_RANK_IDENTITY_H

#include "session/session.h"

/** What is known of the session @s before its data are: launch, program, machine, configuration. */
void mr_rank_program(const mr_session *s, mr_strbuf *out);

/** The rest, of the open session @s, whose data are loaded. */
void mr_rank_identity(const mr_session *s, mr_strbuf *out);

#endif
