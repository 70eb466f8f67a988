/*
 * normal_form.h - Unicode's normal forms NFC, NFD, NFKC and NFKD, by utf8proc.
 *
 * A build without utf8proc has none of them.
 */
#ifndef MR_TOKEN_NORMAL_FORM_H
#define MR_TOKEN_NORMAL_FORM_H

#include "base/str.h"

typedef struct mr_normal_form {
	bool compatible; /* NFKC, NFKD */
	bool composed;   /* NFC, NFKC */
	mr_strbuf text;  /* the last result */
	int32_t *code;   /* characters at hand: [n] in [room] */
	size_t n, room;
} mr_normal_form;

/** The version of utf8proc, or "none". */
const char *mr_normal_form_version(void);

/** @f begins as {0}. */
void mr_normal_form_fini(mr_normal_form *f);

/** @f->text is @text[@len] in the form; bytes that are no UTF-8 stay, and nothing is composed across them. Errors:
 * MR_ERESOURCE. */
mr_status mr_normal_form_apply(mr_normal_form *f, const char *text, size_t len) MR_MUST_USE;

#endif
