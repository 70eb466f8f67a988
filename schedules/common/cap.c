#include "schedules/common/cap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

mr_status mr_cap_read(const char *text, uint16_t n_workers, double *out)
{
	char *end;

	if (!strcmp(text, "none"))
		*out = INFINITY;
	else if (!strcmp(text, "D"))
		*out = n_workers;
	else if (!strcmp(text, "2D"))
		*out = 2.0 * n_workers;
	else {
		*out = strtod(text, &end);
		if (end == text || *end || !(*out >= 1) || !isfinite(*out))
			return mr_fail(MR_ECONFIG, "cap: expected D, 2D, none or a number from 1, got \"%.40s\"", text);
	}
	return MR_OK;
}
