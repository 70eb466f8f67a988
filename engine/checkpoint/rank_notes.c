#include "checkpoint/rank_notes.h"

#include <stdio.h>

mr_status mr_rank_call(mr_session *s, mr_rank_op what, uint64_t number, const char *text)
{
	mr_note n = {.number = {what, number}};

	snprintf(n.text, sizeof(n.text), "%s", text);
	MR_TRY(mr_executor_give(&s->executor));
	return mr_over_ranks_call(s->executor.engine, &n);
}

mr_status mr_rank_answer(const mr_session *s, mr_status st, mr_note *n)
{
	n->kind = MR_RANK_PART;
	n->status = st;
	if (st != MR_OK)
		snprintf(n->text, sizeof(n->text), "%s", mr_error_text());
	return s->ranks->by->tell(0, n);
}

mr_status mr_rank_hear(const mr_session *s, uint32_t rank, mr_note *n)
{
	char name[96];

	MR_TRY(mr_ranks_wait_for(s->ranks, rank, n));
	if (n->kind == MR_RANK_PART && n->status == MR_OK)
		return MR_OK;
	return mr_fail(n->status ? (mr_status)n->status : MR_EINVAL, "%s: %.*s",
		       mr_ranks_name(s->ranks, rank, name, sizeof(name)), MR_NOTE_TEXT - 1, n->text);
}
