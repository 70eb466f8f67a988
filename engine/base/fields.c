#include "base/fields.h"

#include <string.h>

#include "base/stats.h"

bool mr_field_is_zero(const mr_field *f, const void *object)
{
	const char *at = (const char *)object + f->at;

	for (size_t i = 0; i < f->bytes; i++)
		if (at[i])
			return false;
	return true;
}

uint64_t mr_fields_hash(const mr_field *table, const void *object, uint64_t h)
{
	for (const mr_field *f = table; f->name; f++)
		if (!mr_field_is_zero(f, object)) {
			h = mr_hash64(h, f->name, strlen(f->name));
			h = mr_hash64(h, (const char *)object + f->at, f->bytes);
		}
	return h;
}
