/* values.h - the inside of mr_values, shared by values.c and values_text.c only; all other code uses option.h. */
#ifndef MR_BASE_VALUES_H
#define MR_BASE_VALUES_H

#include "base/option.h"

struct mr_entry {
	int64_t integer;
	double number;
	bool truth;
	bool known; /* has a value: a default, or one given */
	bool given; /* explicitly */
	char *text;   /* owned */
	double *list; /* owned */
	size_t n_list;
};

struct mr_values {
	const mr_option *table; /* borrowed */
	size_t n;
	struct mr_entry entries[]; /* in the table's order */
};

/** Fail with "expected ..., got @got", where @got is already quoted if it is text. Always MR_ECONFIG. */
MR_MUST_USE mr_status mr_values_expected(const mr_option *o, const char *got);
/** Fail with the message for a name that the table does not have. Always MR_ECONFIG. */
MR_MUST_USE mr_status mr_values_unknown(const mr_values *v, const char *name);

#endif
