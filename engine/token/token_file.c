#include "token/token_file.h"

#include <errno.h>
#include <string.h>

#define PIECE 4096 /* tokens written at once */

static int32_t header_at(mr_contents *in, size_t i)
{
	int32_t value = 0, room;

	if (mr_contents_bytes(in) >= 4 * (i + 1))
		memcpy(&value, mr_contents_at(in, 4 * i, sizeof(room), &room), sizeof(value));
	return value;
}

static mr_status look_llmc(mr_contents *in, mr_token_file *out)
{
	int32_t magic = header_at(in, 0), version = header_at(in, 1), n = header_at(in, 2);
	const char *path = mr_contents_path(in);
	uint64_t len = mr_contents_bytes(in), size;

	*out = (mr_token_file){magic == MR_TOKEN_FILE_WIDE, MR_TOKEN_FILE_HEADER, (uint64_t)n};
	size = out->wide ? 4 : 2;
	if (magic != MR_TOKEN_FILE && !out->wide)
		return mr_fail(MR_EDATA, "%s: not an llm.c token file: magic %d at offset 0, expected %d or %d", path,
			       magic, MR_TOKEN_FILE, MR_TOKEN_FILE_WIDE);
	if (len < MR_TOKEN_FILE_HEADER)
		return mr_fail(MR_EDATA, "%s: %llu bytes, but the header of an llm.c token file has %u", path,
			       (unsigned long long)len, MR_TOKEN_FILE_HEADER);
	if (version != mr_token_file_version(out->wide))
		return mr_fail(MR_EDATA, "%s: version %d at offset 4, expected %d", path, version,
			       mr_token_file_version(out->wide));
	if (n < 1)
		return mr_fail(MR_EDATA, "%s: %d tokens by the header at offset 8, expected at least 1", path, n);
	if (len != MR_TOKEN_FILE_HEADER + size * (uint64_t)n)
		return mr_fail(MR_EDATA, "%s: %llu bytes, but %d tokens by its header make %llu", path,
			       (unsigned long long)len, n,
			       (unsigned long long)(MR_TOKEN_FILE_HEADER + size * (uint64_t)n));
	return MR_OK;
}

mr_status mr_token_file_look(mr_contents *in, const char *format, mr_token_file *out)
{
	uint64_t len = mr_contents_bytes(in);
	int32_t magic = header_at(in, 0);

	if (!strcmp(format, "llmc") ||
	    (!strcmp(format, "auto") && (magic == MR_TOKEN_FILE || magic == MR_TOKEN_FILE_WIDE)))
		return look_llmc(in, out);
	*out = (mr_token_file){.n = len / 2};
	return len % 2 ? mr_fail(MR_EDATA, "%s: %llu bytes are not a whole number of 16-bit tokens",
				 mr_contents_path(in), (unsigned long long)len)
		       : MR_OK;
}

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
