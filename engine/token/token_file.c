#include "token/token_file.h"

#include <errno.h>
#include <string.h>

#define PIECE 4096 /* tokens written at once */

static mr_status cannot_write(const mr_token_writer *w)
{
	return mr_fail(MR_EIO, "%s: cannot write: %s", w->path, strerror(errno));
}

mr_status mr_token_writer_begin(mr_token_writer *w, const char *path, bool wide, bool bare)
{
	const char zeros[MR_TOKEN_FILE_HEADER] = {0};

	*w = (mr_token_writer){.path = path, .wide = wide, .bare = bare};
	MR_TRY(mr_result_begin(&w->result, path, MR_RESULT_NAMED));
	w->file = bare || !mr_result_is_stream(&w->result) ? w->result.file : tmpfile();
	if (!w->file || (!bare && fwrite(zeros, 1, sizeof(zeros), w->file) != sizeof(zeros)))
		return mr_token_writer_end(w, cannot_write(w));
	return MR_OK;
}

mr_status mr_token_writer_add(mr_token_writer *w, const int32_t *token, size_t n)
{
	for (size_t at = 0, len; at < n; at += len) {
		uint16_t narrow[PIECE];

		len = n - at < PIECE ? n - at : PIECE;
		for (size_t i = 0; i < len; i++)
			narrow[i] = (uint16_t)token[at + i];
		if (w->wide ? fwrite(token + at, 4, len, w->file) != len : fwrite(narrow, 2, len, w->file) != len)
			return cannot_write(w);
	}
	w->n += n;
	return MR_OK;
}

static mr_status put_header(mr_token_writer *w)
{
	int32_t header[3] = {w->wide ? MR_TOKEN_FILE_WIDE : MR_TOKEN_FILE, mr_token_file_version(w->wide),
			     (int32_t)w->n};

	if (w->n > INT32_MAX)
		return mr_fail(MR_EDATA,
			       "%s: %llu tokens, and a header of llm.c counts at most %d: write several files",
			       w->path, (unsigned long long)w->n, INT32_MAX);
	return fseek(w->file, 0, SEEK_SET) || fwrite(header, sizeof(header), 1, w->file) != 1 ? cannot_write(w)
											     : MR_OK;
}

/* Hand on what was collected for a pipe. */
static mr_status copy(mr_token_writer *w)
{
	char piece[PIECE];
	size_t n;

	if (fflush(w->file) || fseek(w->file, 0, SEEK_SET))
		return cannot_write(w);
	while ((n = fread(piece, 1, sizeof(piece), w->file)) > 0)
		MR_TRY(mr_result_put(&w->result, piece, n));
	return ferror(w->file) ? cannot_write(w) : MR_OK;
}

mr_status mr_token_writer_end(mr_token_writer *w, mr_status st)
{
	bool collected = w->file != w->result.file;

	if (st == MR_OK && !w->n)
		st = mr_fail(MR_EDATA, "%s: there are no tokens to write", w->path);
	if (st == MR_OK && !w->bare)
		st = put_header(w);
	if (st == MR_OK && collected)
		st = copy(w);
	if (collected && w->file)
		fclose(w->file);
	return mr_result_end(&w->result, st);
}
