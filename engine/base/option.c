#include "base/option.h"

#include <string.h>

#include "base/str.h"

const mr_option *mr_option_find(const mr_option *table, const char *name)
{
	for (const mr_option *o = table; o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

const char *mr_option_nearest(const mr_option *table, const char *name)
{
	unsigned best = mr_nearest_limit(name) + 1;
	const char *found = NULL;

	for (const mr_option *o = table; o->name; o++) {
		unsigned d = mr_edit_distance(name, o->name);

		if (d < best) {
			best = d;
			found = o->name;
		}
	}
	return found;
}

const char *mr_option_type_text(mr_option_type type)
{
	switch (type) {
	case MR_OPT_INT: return "integer";
	case MR_OPT_FLOAT: return "number";
	case MR_OPT_BOOL: return "true or false";
	case MR_OPT_STRING: return "string";
	case MR_OPT_ENUM: return "one word of a list";
	case MR_OPT_FLOATS: return "list of numbers";
	}
	return "value";
}
