#include "data/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define PIECE 4096 /* tokens written at once */

static mr_status cannot_write(const mr_token_writer *w)
{
	return mr_fail(MR_EIO, "%s: cannot write: %s", w->path, strerror(errno));
}

mr_status mr_token_writer_begin(mr_token_writer *w, const char *path, bool wide, bool bare)
{
	const char zeros[MR_TOKEN_FILE_HEADER] = {0};
	int fd;

	*w = (mr_token_writer){.path = path, .wide = wide, .bare = bare};
	if (asprintf(&w->partial, "%s.%ld.partial", path, (long)getpid()) < 0)
		return mr_fail(MR_ERESOURCE, "no memory for a name");
	fd = open(w->partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	w->file = fd < 0 ? NULL : fdopen(fd, "wb");
	if (!w->file || (!bare && fwrite(zeros, 1, sizeof(zeros), w->file) != sizeof(zeros))) {
		mr_status st = cannot_write(w);

		if (w->file)
			return mr_token_writer_end(w, st);
		free(w->partial);
		return st;
	}
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

/* The name becomes that of a whole file only. */
static mr_status give_name(mr_token_writer *w)
{
	char *slash = strrchr(w->partial, '/');

	if (rename(w->partial, w->path))
		return cannot_write(w);
	if (slash)
		*(slash == w->partial ? slash + 1 : slash) = '\0';
	return mr_file_sync_dir(slash ? w->partial : ".");
}

mr_status mr_token_writer_end(mr_token_writer *w, mr_status st)
{
	if (st == MR_OK && !w->n)
		st = mr_fail(MR_EDATA, "%s: there are no tokens to write", w->path);
	if (st == MR_OK && !w->bare)
		st = put_header(w);
	if (st == MR_OK && (fflush(w->file) || fsync(fileno(w->file))))
		st = cannot_write(w);
	if (fclose(w->file) && st == MR_OK)
		st = cannot_write(w);
	if (st == MR_OK)
		st = give_name(w);
	else
		unlink(w->partial);
	free(w->partial);
	return st;
}
