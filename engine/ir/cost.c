#include "ir/cost.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST 1e9 /* sums over a plan stay exact enough */

mr_status mr_cost_read(const char *text, mr_stage_cost *out)
{
	double x[4] = {0};
	unsigned n = 0;
	const char *s = text;
	bool well = true;

	while (well && n < 4) {
		char *end;

		x[n] = strtod(s, &end);
		well = end != s && isfinite(x[n]) && x[n] >= 0 && x[n] <= MOST;
		n++;
		if (!well || *end != ',') {
			well = well && !*end;
			break;
		}
		s = end + 1;
		well = n < 4;
	}
	if (!well || n < 3 || x[0] + x[1] + x[2] <= 0)
		return mr_fail(MR_ECONFIG, "expected f,i,w or f,i,w,c such as 1,1,1 (from 0, not all 0), got \"%.60s\"",
			       text);
	*out = (mr_stage_cost){.f = x[0], .i = x[1], .w = x[2], .c = x[3]};
	return MR_OK;
}
