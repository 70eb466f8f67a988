/*
 * token_file.h - files of token numbers in llm.c's form: a header of 256 little-endian int32 (magic, version, number of
 * tokens, zeros), and behind it the tokens, of two or of four bytes each.
 */
#ifndef MR_TOKEN_TOKEN_FILE_H
#define MR_TOKEN_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/contents.h"
#include "base/result.h"
#include "base/status.h"

#define MR_TOKEN_FILE_HEADER 1024u  /* bytes */
#define MR_TOKEN_FILE 20240520      /* magic of tokens of two bytes */
#define MR_TOKEN_FILE_WIDE 20240801 /* of four */

static inline int32_t mr_token_file_version(bool wide)
{
	return wide ? 7 : 1;
}

/* Where the tokens of a file lie. */
typedef struct mr_token_file {
	bool wide;       /* tokens of four bytes, else of two */
	uint64_t offset; /* of the first token; 0: there is no header */
	uint64_t n;
} mr_token_file;

/** Look at the header of @in. @format: "nanogpt": there is none; "llmc": it is llm.c's; "auto": by its magic. Errors:
 * MR_EDATA with the path and what is wrong. */
mr_status mr_token_file_look(mr_contents *in, const char *format, mr_token_file *out) MR_MUST_USE;

/* A file that is being written: base/result.h. The header, which counts the tokens, is written last, so what goes into
 * a pipe is collected in a file without a name first. */
typedef struct mr_token_writer {
	const char *path; /* borrowed */
	mr_result result;
	FILE *file;       /* the result's, or that without a name */
	bool wide, bare;  /* tokens of four bytes; no header, as nanoGPT has it */
	uint64_t n;
} mr_token_writer;

/** Begin the file @path. Errors: those of mr_result_begin. */
mr_status mr_token_writer_begin(mr_token_writer *w, const char *path, bool wide, bool bare) MR_MUST_USE;
/** Errors: MR_EIO when the disk is full. */
mr_status mr_token_writer_add(mr_token_writer *w, const int32_t *token, size_t n) MR_MUST_USE;
/** Give the file its name, if @st, the status of what was added, is MR_OK; else the old file stands. Once after a begin
 * that succeeded. Errors: @st; MR_EIO; MR_EDATA when there are more tokens than a header can say. */
mr_status mr_token_writer_end(mr_token_writer *w, mr_status st) MR_MUST_USE;

#endif
