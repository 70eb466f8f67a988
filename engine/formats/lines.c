#include "formats/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/contents.h"

/* Files of another kind mostly show it at their beginning; a line of theirs would be reported for its fields. */
static mr_status refuse_binary(const mr_lines *l)
{
	char head[4096];
	ssize_t n = pread(l->in.fd, head, sizeof(head), 0);
	const char *nul = n > 0 ? memchr(head, 0, (size_t)n) : NULL;

	if (n < 0)
		return mr_fail(MR_EDATA, "%s: cannot read: %s", l->path, strerror(errno));
	return nul ? mr_fail(MR_EDATA, "%s: byte %zu is a NUL: not a %s file", l->path, (size_t)(nul - head), l->kind)
		   : MR_OK;
}

static mr_status as_data(mr_status st)
{
	return st == MR_EIO ? mr_fail(MR_EDATA, "%s", mr_error_text()) : st;
}

mr_status mr_lines_open(const char *path, const char *kind, mr_lines *out)
{
	uint64_t bytes;

	*out = (mr_lines){.path = path, .kind = kind, .in.fd = -1};
	MR_TRY(mr_contents_stat(path, &bytes));
	MR_TRY(as_data(mr_line_reader_open(&out->in, path, MR_LINES_LONGEST, NULL)));
	return refuse_binary(out);
}

mr_status mr_lines_of_input(const char *kind, mr_lines *out)
{
	int fd = dup(STDIN_FILENO);

	*out = (mr_lines){.path = "standard input", .kind = kind, .in.fd = -1};
	if (fd < 0)
		return mr_fail(MR_EDATA, "%s: cannot read: %s", out->path, strerror(errno));
	return as_data(mr_line_reader_of(&out->in, out->path, fd, MR_LINES_LONGEST));
}

mr_status mr_lines_next(mr_lines *l, char **line)
{
	uint64_t begin = l->in.offset;
	size_t len, text;
	char *at;

	*line = NULL;
	MR_TRY(as_data(mr_line_reader_next(&l->in, &at, &len)));
	if (!at)
		return MR_OK;
	l->number++;
	text = strlen(at);
	if (text != len)
		return mr_fail(MR_EDATA, "%s: byte %llu is a NUL: not a %s file", l->path,
			       (unsigned long long)(begin + text), l->kind);
	if (at[len - 1] == '\n')
		at[len - 1] = '\0';
	*line = at + (l->number == 1 && !strncmp(at, MR_BYTE_ORDER_MARK, 3) ? 3 : 0);
	return MR_OK;
}

void mr_lines_close(mr_lines *l)
{
	mr_line_reader_close(&l->in);
	*l = (mr_lines){.in.fd = -1};
}
