#include "formats/csv_cell.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"

mr_status mr_csv_cell_number(const mr_csv_cell *cell, const mr_csv_table *t, uint32_t column, uint64_t number,
			     double *out)
{
	*out = 0;
	if (!*t->field[column] && cell->zero)
		return MR_OK;
	MR_TRY(mr_csv_table_number(t, column, number, out));
	if (cell->log)
		*out = *out > 0 ? log1p(*out) : 0;
	return MR_OK;
}

mr_status mr_csv_cell_category(const mr_csv_cell *cell, const mr_csv_table *t, uint32_t column, uint64_t number,
			       int32_t *out)
{
	const char *text = t->field[column];
	double v;

	*out = -1;
	if (!*text && cell->zero)
		return MR_OK;
	if (!*text)
		return mr_fail(MR_EDATA,
			       "%s:%llu: %s is empty, expected a category%s", t->path, (unsigned long long)number,
			       t->name[column], t->bare ? "" : "; empty = \"zero\" takes empty fields");
	if (cell->hash) {
		*out = (int32_t)(mr_hash64(0, text, strlen(text)) & INT32_MAX);
		return MR_OK;
	}
	if (!mr_csv_is_number(text, &v) || v != floor(v) || v < 0 || v > INT32_MAX)
		return mr_fail(MR_EDATA,
			       "%s:%llu: %s: \"%.40s\" is no whole number from 0 to %d%s", t->path,
			       (unsigned long long)number, t->name[column], text, INT32_MAX,
			       t->bare ? "" : "; category = \"hash\" takes texts");
	*out = (int32_t)v;
	return MR_OK;
}
