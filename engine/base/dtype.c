#include "base/dtype.h"

#include <string.h>

static const struct row {
	const char *name, *saved;
	bool weights;
	mr_dtype wide;
} rows[MR_N_DTYPES] = {
#define WIDE(wide) _Generic((wide)0, float: MR_F32, double: MR_F64)
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) {name, #id, weights, WIDE(wide)},
#define MR_DTYPE_SAVED(id, weights, stored, widen) {#id, #id, weights, MR_##id},
#include "base/types.def"
};

const char *mr_dtype_name(mr_dtype t)
{
	return rows[t].name;
}

const char *mr_dtype_saved_name(mr_dtype t)
{
	return rows[t].saved;
}

bool mr_dtype_find(const char *name, mr_dtype *out)
{
	for (*out = 0; *out < MR_N_DTYPES; ++*out)
		if (!strcmp(rows[*out].name, name))
			return true;
	return false;
}

bool mr_dtype_find_saved(const char *name, mr_dtype *out)
{
	for (*out = 0; *out < MR_N_DTYPES; ++*out)
		if (!strcmp(rows[*out].saved, name))
			return true;
	return false;
}

bool mr_dtype_is_weight(mr_dtype t)
{
	return rows[t].weights;
}

mr_dtype mr_dtype_wide(mr_dtype t)
{
	return rows[t].wide;
}
