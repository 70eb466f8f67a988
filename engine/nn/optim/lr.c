#include "nn/optim.h"

#include <math.h>

#define PI 3.14159265358979323846

double mr_lr_at(const mr_lr *lr, uint64_t t)
{
	double done;

	if (t <= lr->warmup && lr->warmup)
		return lr->base * (double)t / (double)lr->warmup;
	if (lr->kind == MR_LR_CONSTANT)
		return lr->base;
	if (t >= lr->total)
		return lr->base * lr->min_ratio;
	/* warmup < t < total */
	done = (double)(t - lr->warmup) / (double)(lr->total - lr->warmup);
	if (lr->kind == MR_LR_LINEAR)
		return lr->base * (1 - (1 - lr->min_ratio) * done);
	return lr->base * (lr->min_ratio + (1 - lr->min_ratio) * 0.5 * (1 + cos(PI * done)));
}
