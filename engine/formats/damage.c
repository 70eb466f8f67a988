#include "formats/damage.h"

#include <stdlib.h>
#include <string.h>

#include "base/notice.h"

mr_status mr_damage_note(mr_damage *d, bool counts, bool shows)
{
	d->n += counts;
	if (!shows || d->n_texts == MR_DAMAGE_SHOWN)
		return MR_OK;
	d->text[d->n_texts] = strdup(mr_error_text());
	return d->text[d->n_texts++] ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to name what is damaged");
}

static void name_all(const mr_damage *d)
{
	for (uint32_t i = 0; i < d->n_texts; i++)
		mr_notice("%s", d->text[i]);
	if (d->n > d->n_texts)
		mr_notice("and %llu more", (unsigned long long)(d->n - d->n_texts));
}

mr_status mr_damage_refuse(const mr_damage *d, const char *what)
{
	if (d->n < 2)
		return d->n ? mr_fail(MR_EDATA, "%s", d->text[0]) : MR_OK;
	name_all(d);
	return mr_fail(MR_EDATA, "%s: %llu mistakes, the first: %s", what, (unsigned long long)d->n, d->text[0]);
}

mr_status mr_damage_check(const mr_damage *d, const char *path, const char *things, uint64_t all)
{
	if (d->n <= d->most)
		return MR_OK;
	if (d->n == 1)
		return mr_fail(MR_EDATA, "%s", d->text[0]);
	name_all(d);
	mr_fail(MR_EDATA, "%s: %llu of %llu %s are damaged, the first: %s", path, (unsigned long long)d->n,
		(unsigned long long)all, things, d->text[0]);
	return d->n > all / 2 ? MR_EDATA
			      : mr_fail(MR_EDATA, "%s; damaged = %llu leaves them out", mr_error_text(),
					(unsigned long long)d->n);
}

void mr_damage_reset(mr_damage *d)
{
	for (uint32_t i = 0; i < d->n_texts; i++)
		free(d->text[i]);
	*d = (mr_damage){.most = d->most};
}
