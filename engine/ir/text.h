/*
 * text.h - the plan as text: one instruction a line, for eyes, diffs and tests. Prints and reads everything in a plan.
 *
 *	plan 1f1b
 *	stages 2 workers 2 pipes 1 micro 4 commits 1
 *	contract train flush=barrier read=batch sum=ascending need=4 staleness=0 same_version_b
 *	place p0 0 1
 *	storage stored               (this line and the next three: only when the plan is lowered)
 *	slots p0 2 1
 *	buffers p0 0/0 2/2           (forward/backward buffers of the boundary before each stage)
 *	versions 1 1
 *	[body x N micro+4 ver+1]
 *	w0 F m+0 s0 p0 v+0 a0 i0 o0
 *	w0 B m+0 s0 p0 v+0 a0 i0 o0 first
 *	w0 U m+3 s0 p0 v+1
 *	...
 *
 * Words of an instruction, in this order: worker, op, micro-batch, stage, pipe; then, in a lowered plan only: v =
 * version read (F R B I W) or committed (all other ops), a = activation slot, i and o = boundary buffer read and
 * written (a, i, o only with `storage stored`); `first` = overwrites the gradient sum; `update` = carries out the
 * optimizer step itself; `drop` = gives up what it saves, an R follows; `any` = any free worker takes it.
 * Three words are printed only where needed: xN = span, when it is not 1; tN = version committed by an op that
 * has a version read in v; rN = version read by an op that has a version committed in v. In the body and the epilogue
 * m, v, t and r are offsets and carry their sign (m+3, v-2); in the prologue they are numbers (m3, v2). Where F and B
 * predict other versions, their tN is the version predicted. The words of a contract and their meaning stand in
 * ir/contract.def; from `same_version_b` on only those are printed that are not 0. "-" is a stage that any worker may
 * run. The tables of a contract that are not all 0 stand behind it, a line each: "turns 2 1". Empty sections are left
 * out. A "#" begins a comment that ends with its line.
 *
 * Print, read, print gives the same text, and the plan read has the hash of the plan printed. The text is untrusted:
 * the reader checks every number against the header before it uses it as an index. It does not judge whether the
 * plan makes sense (lower/check.h does). A name in `system` is printed with every byte outside [A-Za-z0-9_.+-] as "_".
 */
#ifndef MR_IR_TEXT_H
#define MR_IR_TEXT_H

#include <stdio.h>

#include "base/str.h"
#include "ir/plan.h"

/** Append @plan to @out. Errors: MR_ERESOURCE without memory; MR_EINVAL for an op or a flag that has no word. */
mr_status mr_text_print(const mr_plan *plan, mr_strbuf *out) MR_MUST_USE;

/** Print @plan to @file. Errors: those of mr_text_print; MR_EIO when @file refuses. */
mr_status mr_text_write(const mr_plan *plan, FILE *file) MR_MUST_USE;

/** Append the one line of @in, without its newline, as it stands in @section of @worker: what error messages quote. */
mr_status mr_text_instr(const mr_plan *plan, uint16_t worker, mr_section section, const mr_instr *in,
			mr_strbuf *out) MR_MUST_USE;

/**
 * Read a plan from @len bytes of @text, which need not end in NUL. The caller destroys *@out.
 * Errors: MR_ECONFIG with "line 12: ..."; MR_ERESOURCE without memory. *@out is untouched on error.
 */
mr_status mr_text_read(const char *text, size_t len, mr_plan **out) MR_MUST_USE;

#endif
