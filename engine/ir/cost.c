#include "ir/cost.h"

#include <math.h>
#include <stdlib.h>

#define MOST 1e9 /* sums over a plan stay exact enough */

void mr_cost_add(mr_stage_cost *to, const mr_stage_cost *x)
{
	to->f += x->f;
	to->i += x->i;
	to->w += x->w;
	to->u += x->u;
	to->c += x->c;
	to->o += x->o;
	to->b += x->b;
	to->r += x->r;
	to->n += x->n;
	to->g += x->g;
	to->s += x->s;
	to->a += x->a;
	to->v += x->v;
}

void mr_cost_scale(mr_stage_cost *c, const mr_stage_cost *by)
{
	c->f *= by->f;
	c->i *= by->i;
	c->w *= by->w;
	c->u *= by->u;
	c->g *= by->w;
}

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
