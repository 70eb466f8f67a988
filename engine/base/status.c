#include "base/status.h"

#include <stdio.h>
#include <string.h>

#include "base/printable.h"

#define TEXT_BYTES 1024

static _Thread_local char text[TEXT_BYTES];

void mr_error_vset(const char *fmt, va_list ap)
{
	char fresh[TEXT_BYTES]; /* the arguments may point into the old text */

	vsnprintf(fresh, sizeof(fresh), fmt, ap);
	mr_printable(fresh); /* names and values come out of files */
	memcpy(text, fresh, sizeof(text));
}

void mr_error_set(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	mr_error_vset(fmt, ap);
	va_end(ap);
}

void mr_error_prepend(const char *fmt, ...)
{
	char context[TEXT_BYTES / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	mr_error_set("%s: %s", context, text);
}

const char *mr_error_text(void)
{
	return text;
}

static const struct {
	const char *name;
	int exit_code;
} codes[MR_N_STATUS] = {
	[MR_OK] = {"ok", 0},
	[MR_EINVAL] = {"invalid", 1},
	[MR_EUSAGE] = {"usage", 2},
	[MR_ECONFIG] = {"config", 3},
	[MR_EDATA] = {"data", 4},
	[MR_ECKPT] = {"checkpoint", 5},
	[MR_ERESOURCE] = {"resource", 6},
	[MR_EDIVERGED] = {"diverged", 7},
	[MR_ESTALLED] = {"stalled", 8},
	[MR_EIO] = {"io", 1},
	[MR_EDNN] = {"kernel", 1},
	[MR_ESTOPPED] = {"stopped", 1},
};

const char *mr_status_name(mr_status code)
{
	return (unsigned)code < MR_N_STATUS ? codes[code].name : "unknown";
}

int mr_status_exit_code(mr_status code)
{
	return (unsigned)code < MR_N_STATUS ? codes[code].exit_code : 1;
}
