/*
 * token_file.h - files of token numbers in llm.c's form: a header of 256 little-endian int32 (magic, version, number of
 * tokens, zeros), and behind it the tokens, of two or of four bytes each.
 */
#ifndef MR_DATA_TOKEN_FILE_H
#define MR_DATA_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

#define MR_TOKEN_FILE_HEADER 1024u  /* bytes */
#define MR_TOKEN_FILE 20240520      /* magic of tokens of two bytes */
#define MR_TOKEN_FILE_WIDE 20240801 /* of four */

static inline int32_t mr_token_file_version(bool wide)
{
	return wide ? 7 : 1;
}

/* A file that is being written: until it is finished it has another name. */
typedef struct mr_token_writer {
	const char *path; /* borrowed */
	char *partial;
	FILE *file;
	bool wide, bare;  /* tokens of four bytes; no header, as nanoGPT has it */
	uint64_t n;
} mr_token_writer;

/** Begin the file @path. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_token_writer_begin(mr_token_writer *w, const char *path, bool wide, bool bare) MR_MUST_USE;
/** Errors: MR_EIO when the disk is full. */
mr_status mr_token_writer_add(mr_token_writer *w, const int32_t *token, size_t n) MR_MUST_USE;
/** Give the file its name, if @st, the status of what was added, is MR_OK; else remove it. Once after a begin that
 * succeeded. Errors: @st; MR_EIO; MR_EDATA when there are more tokens than a header can say. */
mr_status mr_token_writer_end(mr_token_writer *w, mr_status st) MR_MUST_USE;

#endif
