/*
 * proof.h - what a system proved of its order (ir/sched.h), for people and as JSON.
 */
#ifndef MR_OUTLINE_PROOF_H
#define MR_OUTLINE_PROOF_H

#include "base/json.h"
#include "ir/sched.h"

/** "" if nothing is known, else a line such as "makespan 131, lower bound 129: gap 1.6 %" in @size bytes of @text, with
 * times in @unit of their own, called @name (may be ""). Returns @text. */
const char *mr_proof_text(const mr_sched_proof *proof, double unit, const char *name, char *text, size_t size);

/** The member "proof", if anything is known. */
void mr_proof_put(mr_json_writer *w, const mr_sched_proof *proof);

#endif
