/*
 * fields.h - structs whose fields can be listed, so that code which has to treat all of them alike cannot forget one.
 *
 * The fields are written once, as a list of X(type, name); the struct and its table are made from it:
 *
 *	#define POINT(X) X(double, x) X(double, y)
 *	typedef struct point { POINT(MR_FIELD_MEMBER) } point;
 *	#define ENTRY(type, name) MR_FIELD_ENTRY(point, name)
 *	static const mr_field fields[] = {POINT(ENTRY) {0}};
 *
 * Fields are numbers, enumerations and bools: no pointers and no padding inside them.
 */
#ifndef MR_BASE_FIELDS_H
#define MR_BASE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mr_field {
	const char *name; /* NULL ends a table */
	size_t at, bytes;
} mr_field;

#define MR_FIELD_MEMBER(type, name) type name;
#define MR_FIELD_ENTRY(of, name) {#name, offsetof(of, name), sizeof(((of *)0)->name)},

/** Is this field of @object all 0? */
bool mr_field_is_zero(const mr_field *f, const void *object);

/** Hash the name and the bytes of every field of @object that is not 0, continuing the hash @h (base/stats.h). A new
 * field that is left at 0 does not change the hash. */
uint64_t mr_fields_hash(const mr_field *table, const void *object, uint64_t h);

#endif
