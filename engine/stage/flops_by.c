#include "stage/flops_by.h"

#include <math.h>
#include <stdio.h>

void mr_flops_by_add(mr_flops_by *f, const mr_stage_calls *c)
{
	for (size_t i = 0; i < c->n; i++)
		f->of[c->call[i].by] += c->call[i].call.flops;
}

static double all(const mr_flops_by *f)
{
	double sum = 0;

	for (int by = 0; by < MR_N_KERNEL_BY; by++)
		sum += f->of[by];
	return sum;
}

double mr_flops_by_share(const mr_flops_by *f, mr_kernel_by by)
{
	double sum = all(f);

	return sum <= 0 ? (double)NAN : f->of[by] / sum;
}

const char *mr_flops_by_text(const mr_flops_by *f, char text[160])
{
	static const char *const names[MR_N_KERNEL_BY] = {
		[MR_BY_REFERENCE] = "reference kernels",
		[MR_BY_FUSED] = "our kernels",
		[MR_BY_ONEDNN] = "oneDNN",
		[MR_BY_F32] = "our kernels of f32",
	};
	static const mr_kernel_by order[] = {MR_BY_ONEDNN, MR_BY_FUSED, MR_BY_F32, MR_BY_REFERENCE};
	int len = 0;

	snprintf(text, 160, "none");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		double share = mr_flops_by_share(f, order[i]);

		if (share > 0 || (order[i] == MR_BY_ONEDNN && share >= 0 && !(f->of[MR_BY_REFERENCE] > 0)))
			len += snprintf(text + len, 160 - (size_t)len, "%s%s %.1f %%", len ? ", " : "", names[order[i]],
					100 * share);
	}
	return text;
}
