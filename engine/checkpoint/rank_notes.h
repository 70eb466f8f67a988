/* rank_notes.h - what rank 0 says to the others of checkpoints, and what they answer. For rank_parts.c and rank_fetch.c
 * only. */
#ifndef MR_CHECKPOINT_RANK_NOTES_H
#define MR_CHECKPOINT_RANK_NOTES_H

#include "ranks/over_ranks.h"
#include "session/session.h"

/* number[0] of what rank 0 says. The others answer with status and text, and where a line says so with more. */
typedef enum mr_rank_op {
	MR_RANK_LOOK = 1, /* text: end of a file's name in the folder of the run, and what is in it; number[0]: seen */
	MR_RANK_WRITERS,  /* number[1]: mr_save_parts, from now on. No answer */
	MR_RANK_MEASURE,  /* value[0]: squares; text: the weight that is not finite */
	MR_RANK_SAVE,     /* number[1] to [3]: bytes of the files' headers; text: what all parts of it have in common */
	MR_RANK_WRITE,    /* shared, behind MR_RANK_SAVE; text: the temporary folder; checksums follow the answers */
	MR_RANK_KEEP,     /* local, behind MR_RANK_SAVE: the save is whole. number[1]: it is the best. No answer */
	MR_RANK_HAVE,     /* number[1]: rank of a part, [2]: step; text: its save; number[0]: it is here */
	MR_RANK_SEND,     /* the same to all, of which rank number[3] sends the files of that part, without an answer */
} mr_rank_op;

/** Rank 0: say @what to all others. Errors: the transport's. */
mr_status mr_rank_call(mr_session *s, mr_rank_op what, uint64_t number, const char *text) MR_MUST_USE;

/** Another rank has done its part with @st, whose text follows. Errors: the transport's. */
mr_status mr_rank_answer(const mr_session *s, mr_status st, mr_note *n) MR_MUST_USE;

/** Rank 0: the answer of @rank. Errors: also its failure, with its name. */
mr_status mr_rank_hear(const mr_session *s, uint32_t rank, mr_note *n) MR_MUST_USE;

#endif
