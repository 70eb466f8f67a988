/*
 * number_file.h - a file of numbers, row by row: bare, little-endian (as tofile of NumPy writes them), or an array of
 * NumPy (.npy, versions 1 to 3).
 *
 * An array's first dimension are its rows, and all others together the columns. Its numbers are whole ones, f32 or f64,
 * or truth values, little-endian and in C's order; what else an array can be is refused by name.
 *
 * Thread: open and close on one thread; reading on any, at once.
 */
#ifndef MR_FORMATS_NUMBER_FILE_H
#define MR_FORMATS_NUMBER_FILE_H

#include "base/contents.h"

typedef enum mr_number_kind {
	MR_NUMBER_F64,
	MR_NUMBER_F32,
	MR_NUMBER_I8,
	MR_NUMBER_U8,
	MR_NUMBER_I16,
	MR_NUMBER_U16,
	MR_NUMBER_I32,
	MR_NUMBER_U32,
	MR_NUMBER_I64,
	MR_NUMBER_U64,
	MR_NUMBER_KINDS
} mr_number_kind;

typedef struct mr_number_file {
	mr_contents *in;
	mr_number_kind kind;
	size_t bytes;        /* of a number */
	uint64_t head;       /* bytes in front of the first one */
	uint64_t n;          /* numbers */
	uint64_t rows, cols; /* of an array; both 0: bare numbers */
} mr_number_file;

/** Does the file begin as an array of NumPy? False also where it cannot be read. */
bool mr_number_file_is_array(const char *path);

/** Open @path: an array, or else bare numbers of @bare. The caller closes @f, which was zeroed, also after an error.
 * Errors: MR_EDATA with the path and what is wrong; MR_ERESOURCE. */
mr_status mr_number_file_open(const char *path, mr_number_kind bare, mr_number_file *f) MR_MUST_USE;
void mr_number_file_close(mr_number_file *f);

/** Numbers [@at, @at + @n) as they stand in the file; @room has n * f->bytes. */
const void *mr_number_file_at(const mr_number_file *f, uint64_t at, size_t n, void *room);

/** Number @i of @from, which mr_number_file_at gave. */
double mr_number_file_value(const mr_number_file *f, const void *from, size_t i);

#endif
