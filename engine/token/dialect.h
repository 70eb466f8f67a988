/*
 * dialect.h - patterns of tokenizer files, which are written in Oniguruma's dialect of Ruby, in that of PCRE2.
 *
 * Both have most of the signs. Spelled anew are \s \w \b \h and their opposites, \v, \uHHHH, {,n}, (?m), \p{a script},
 * [:name:] and classes within classes; refused is what PCRE2 would take for something else, or could not say.
 */
#ifndef MR_TOKEN_DIALECT_H
#define MR_TOKEN_DIALECT_H

#include "base/str.h"

/** @out, which is empty, is @pattern as PCRE2 has it, with ^ and $ at each line. Errors: MR_EDATA with what cannot be
 * said; MR_ERESOURCE. */
mr_status mr_dialect_spell(const char *pattern, mr_strbuf *out) MR_MUST_USE;

#endif
