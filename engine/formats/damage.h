/* damage.h - damaged rows or files: how many, what is wrong with the first ones, and whether they may be left out. */
#ifndef MR_FORMATS_DAMAGE_H
#define MR_FORMATS_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define MR_DAMAGE_SHOWN 20u

typedef struct mr_damage {
	uint64_t most, n;  /* that may be left out; that there are */
	char *text[MR_DAMAGE_SHOWN]; /* what is wrong with the first ones; owned */
	uint32_t n_texts;
} mr_damage;

/** Count one more, if @counts, and keep this thread's error text, if @shows and there is room. Errors: MR_ERESOURCE. */
mr_status mr_damage_note(mr_damage *d, bool counts, bool shows) MR_MUST_USE;

/** MR_OK if all may be left out. Else MR_EDATA: the text of the only one; or, of @all @things of @path, how many there
 * are, behind a notice for each of the first ones. */
mr_status mr_damage_check(const mr_damage *d, const char *path, const char *things, uint64_t all) MR_MUST_USE;

/** For what cannot be left out: MR_OK if there is none. Else MR_EDATA: the text of the only one; or how many mistakes
 * there are in @what, behind a notice for each of the first ones. */
mr_status mr_damage_refuse(const mr_damage *d, const char *what) MR_MUST_USE;

/** Forget all but `most`. */
void mr_damage_reset(mr_damage *d);

#endif
