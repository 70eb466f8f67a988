#include "formats/number_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6u
#define MOST_HEAD (1u << 16) /* bytes; one of numbers has 118 */

/* In the order of mr_number_kind: the name that NumPy has for it. */
static const struct {
	const char *name;
	size_t bytes;
} kinds[] = {{"<f8", 8}, {"<f4", 4}, {"|i1", 1}, {"|u1", 1}, {"<i2", 2},
	     {"<u2", 2}, {"<i4", 4}, {"<u4", 4}, {"<i8", 8}, {"<u8", 8}};

_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == MR_NUMBER_KINDS, "a name for each kind");

bool mr_number_file_is_array(const char *path)
{
	char room[MAGIC_BYTES];
	mr_contents *in;
	bool is;

	if (mr_contents_open(path, &in) != MR_OK)
		return false;
	is = mr_contents_bytes(in) > sizeof(room) &&
	     !memcmp(mr_contents_at(in, 0, sizeof(room), room), MAGIC, sizeof(room));
	mr_contents_close(in);
	return is;
}

static mr_status wrong(const mr_number_file *f, const char *what, const char *got)
{
	return mr_fail(MR_EDATA, "%s: an array of NumPy %s: %.40s", mr_contents_path(f->in), what, got);
}

/* What stands behind the key @key of the head, a literal of Python. */
static const char *after(const char *head, const char *key)
{
	const char *at = strstr(head, key);

	if (!at)
		return NULL;
	at += strlen(key);
	at += strspn(at, " ");
	if (*at++ != ':')
		return NULL;
	return at + strspn(at, " ");
}

static mr_status take_kind(mr_number_file *f, const char *text)
{
	size_t len = text && *text == '\'' ? strcspn(text + 1, "'") : 0;

	for (int k = 0; k < MR_NUMBER_KINDS; k++)
		if (len == strlen(kinds[k].name) && !memcmp(text + 1, kinds[k].name, len)) {
			f->kind = (mr_number_kind)k;
			return MR_OK;
		}
	if (len == 3 && !memcmp(text + 1, "|b1", 3)) {
		f->kind = MR_NUMBER_U8;
		return MR_OK;
	}
	return wrong(f, "whose numbers are none that can be read (f4, f8, whole ones or truth, little-endian)",
		     text ? text : "none");
}

/* (3, 4), (3,) or () */
static mr_status take_dims(mr_number_file *f, const char *text)
{
	uint64_t dim[8] = {0};
	size_t n = 0, cols = 1, all;

	if (!text || *text++ != '(')
		return wrong(f, "with a damaged head", "no shape");
	for (;;) {
		char *end;

		text += strspn(text, " ,");
		if (*text == ')')
			break;
		if (*text < '0' || *text > '9' || n == 8)
			return wrong(f, "with a damaged shape", text);
		dim[n++] = strtoull(text, &end, 10);
		text = end;
	}
	if (n == 0)
		return wrong(f, "without dimensions", "a single number");
	for (size_t i = 1; i < n; i++)
		if (!mr_size_mul(cols, dim[i], &cols))
			return wrong(f, "with a damaged shape", "too many numbers");
	f->rows = dim[0];
	f->cols = cols;
	if (!mr_size_mul(f->rows, f->cols, &all) || !all)
		return wrong(f, "without numbers, or with too many", "see its shape");
	f->n = all;
	return MR_OK;
}

static mr_status take_head(mr_number_file *f, const uint8_t *begin, char *room)
{
	bool wide = begin[6] > 1;
	uint64_t len = begin[8] | (uint64_t)begin[9] << 8, bytes = mr_contents_bytes(f->in);
	const char *order;
	size_t size;

	f->head = wide ? 12 : 10;
	if (wide)
		len |= (uint64_t)begin[10] << 16 | (uint64_t)begin[11] << 24;
	if (begin[6] < 1 || begin[6] > 3 || len >= MOST_HEAD || f->head + len > bytes)
		return wrong(f, "with a damaged head", "its version or length");
	memcpy(room, mr_contents_at(f->in, f->head, len, room), len);
	room[len] = '\0';
	f->head += len;
	order = after(room, "'fortran_order'");
	if (!order || strncmp(order, "False", 5) != 0)
		return wrong(f, "column by column; numpy.ascontiguousarray turns it", "fortran_order");
	MR_TRY(take_kind(f, after(room, "'descr'")));
	MR_TRY(take_dims(f, after(room, "'shape'")));
	if (!mr_size_mul(f->n, kinds[f->kind].bytes, &size) || bytes - f->head != size)
		return mr_fail(MR_EDATA,
			       "%s: has %llu bytes behind its head, where its shape asks for %llu numbers of %zu",
			       mr_contents_path(f->in), (unsigned long long)(bytes - f->head), (unsigned long long)f->n,
			       kinds[f->kind].bytes);
	return MR_OK;
}

static mr_status open_array(mr_number_file *f)
{
	uint8_t begin[12];
	char *room = malloc(MOST_HEAD);
	mr_status st;

	if (!room)
		return mr_fail(MR_ERESOURCE, "%s: no memory for its head", mr_contents_path(f->in));
	if (mr_contents_bytes(f->in) < sizeof(begin)) {
		st = wrong(f, "with a damaged head", "it ends there");
	} else {
		memcpy(begin, mr_contents_at(f->in, 0, sizeof(begin), begin), sizeof(begin));
		st = take_head(f, begin, room);
	}
	free(room);
	return st == MR_OK ? mr_contents_check(f->in) : st;
}

mr_status mr_number_file_open(const char *path, mr_number_kind bare, mr_number_file *f)
{
	MR_TRY(mr_contents_open(path, &f->in));
	f->kind = bare;
	if (mr_number_file_is_array(path))
		MR_TRY(open_array(f));
	f->bytes = kinds[f->kind].bytes;
	if (!f->head)
		f->n = mr_contents_bytes(f->in) / f->bytes;
	return MR_OK;
}

void mr_number_file_close(mr_number_file *f)
{
	mr_contents_close(f->in);
	*f = (mr_number_file){0};
}

const void *mr_number_file_at(const mr_number_file *f, uint64_t at, size_t n, void *room)
{
	return mr_contents_at(f->in, f->head + at * f->bytes, n * f->bytes, room);
}

/* An array's head has a multiple of 64 bytes by the rules of NumPy, but a file may break them: nothing is aligned. */
#define READ(type)                                                               \
	do {                                                                     \
		type v;                                                          \
		memcpy(&v, (const char *)from + i * sizeof(v), sizeof(v));       \
		return (double)v;                                                \
	} while (0)

double mr_number_file_value(const mr_number_file *f, const void *from, size_t i)
{
	switch (f->kind) {
	case MR_NUMBER_F32:
		READ(float);
	case MR_NUMBER_I8:
		READ(int8_t);
	case MR_NUMBER_U8:
		READ(uint8_t);
	case MR_NUMBER_I16:
		READ(int16_t);
	case MR_NUMBER_U16:
		READ(uint16_t);
	case MR_NUMBER_I32:
		READ(int32_t);
	case MR_NUMBER_U32:
		READ(uint32_t);
	case MR_NUMBER_I64:
		READ(int64_t);
	case MR_NUMBER_U64:
		READ(uint64_t);
	case MR_NUMBER_F64:
	case MR_NUMBER_KINDS:
		break;
	}
	READ(double);
}
