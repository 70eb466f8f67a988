/*
 * rank_fetch.h - a training over ranks goes on from parts that lie in folders of several hosts (rank_parts.h): those
 * that rank 0 lacks come to it by messages, and it makes a whole checkpoint of them for the time of loading.
 */
#ifndef MR_CHECKPOINT_RANK_FETCH_H
#define MR_CHECKPOINT_RANK_FETCH_H

#include "checkpoint/rank_notes.h"

/** Rank 0, of a run whose checkpoints are in the folder @dir: if the newest one, the best ("best") or the one called
 * @from is there in parts, and not whole, make the whole; *@path is where, and mr_rank_fetch_drop removes it. Else
 * *@path is NULL. Errors: MR_ECKPT a part is on no host, or damaged, with a message that names it; the transport's. */
mr_status mr_rank_fetch(const mr_session *s, const char *dir, const char *from, char **path) MR_MUST_USE;
/** Remove and free it; accepts NULL. */
void mr_rank_fetch_drop(const char *dir, char *path);

/** Another rank, when rank 0 says MR_RANK_HAVE or MR_RANK_SEND. Errors: the transport's; of reading. */
mr_status mr_rank_fetch_have(const mr_session *s, const mr_note *said) MR_MUST_USE;
mr_status mr_rank_fetch_send(const mr_session *s, const mr_note *said) MR_MUST_USE;

#endif
