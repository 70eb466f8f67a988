#include "data/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/contents.h"

/* Files of another kind mostly show it at their beginning; a line of theirs would be reported for its fields. */
static mr_status refuse_binary(mr_lines *l)
{
	char head[4096];
	size_t n = fread(head, 1, sizeof(head), l->f);
	const char *nul = memchr(head, 0, n);

	rewind(l->f);
	return nul ? mr_fail(MR_EDATA, "%s: byte %zu is a NUL: not a %s file", l->path, (size_t)(nul - head), l->kind)
		   : MR_OK;
}

mr_status mr_lines_open(const char *path, const char *kind, mr_lines *out)
{
	uint64_t bytes;

	*out = (mr_lines){.path = path, .kind = kind};
	MR_TRY(mr_contents_stat(path, &bytes));
	out->f = fopen(path, "re");
	return out->f ? refuse_binary(out) : mr_fail(MR_EDATA, "%s: %s", path, strerror(errno));
}

mr_status mr_lines_next(mr_lines *l, char **line)
{
	ssize_t len = getline(&l->line, &l->room, l->f);

	*line = NULL;
	if (len < 0)
		return ferror(l->f) ? mr_fail(MR_EDATA, "%s: %s", l->path, strerror(errno)) : MR_OK;
	l->number++;
	if (strlen(l->line) != (size_t)len)
		return mr_fail(MR_EDATA, "%s: byte %llu is a NUL: not a %s file", l->path,
			       (unsigned long long)(l->offset + strlen(l->line)), l->kind);
	l->offset += (uint64_t)len;
	l->line[strcspn(l->line, "\n")] = 0;
	*line = l->line + (l->number == 1 && !strncmp(l->line, MR_BYTE_ORDER_MARK, 3) ? 3 : 0);
	return MR_OK;
}

void mr_lines_close(mr_lines *l)
{
	free(l->line);
	if (l->f)
		fclose(l->f);
	*l = (mr_lines){0};
}
