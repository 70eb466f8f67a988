/*
 * former_head.h - the head of an untied gpt as older builds kept it: [width, vocabulary], where transformers and this
 * build have [vocabulary, width]. Their files say "format": "millrace" in the metadata; now it is "pt".
 */
#ifndef MR_SESSION_FORMER_HEAD_H
#define MR_SESSION_FORMER_HEAD_H

#include "session/session.h"
#include "store/safetensors.h"

/** Does @from, of a file whose metadata have the text @format (or NULL), hold the head @to of a gpt the other way
 * round? */
bool mr_former_head(const char *format, const mr_saved_tensor *to, const mr_saved_tensor *from);

/** mr_safetensors_load of a tensor of a gpt, from files of older builds, too. */
mr_status mr_former_head_load(const mr_safetensors *f, const mr_saved_tensor *want) MR_MUST_USE;

/** The parameter of @s that is such a head; UINT32_MAX: none. */
uint32_t mr_former_head_param(const mr_session *s);

#endif
