#include "base/notice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local mr_strbuf *sink; /* NULL: standard error */

void mr_notice(const char *fmt, ...)
{
	char *text;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0)
		return;
	if (sink)
		mr_strbuf_printf(sink, "%s\n", text);
	else
		fprintf(stderr, "millrace: %s\n", text);
	free(text);
}

mr_strbuf *mr_notice_to(mr_strbuf *out)
{
	mr_strbuf *before = sink;

	sink = out;
	return before;
}
