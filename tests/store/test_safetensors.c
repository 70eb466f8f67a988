#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "check.h"
#include "ckpt_help.h"
#include "store/safetensors.h"

static char dir[512];

static mr_status write_file(const char *name, const mr_saved_tensor *t, size_t n, const mr_saved_text *metadata,
			    size_t n_metadata)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	mr_crc_file f;
	mr_status st = mr_crc_file_create(&f, fd, name);

	if (st == MR_OK) {
		st = mr_safetensors_write(&f, t, n, metadata, n_metadata);
		if (st == MR_OK)
			st = mr_crc_file_finish(&f);
		mr_crc_file_fini(&f);
	}
	close(fd);
	return st;
}

static mr_status open_file(const char *name, mr_safetensors **s)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	mr_status st = mr_safetensors_open(fd, name, NULL, s);

	close(fd);
	return st;
}

/* Length of header by bytes, as any other reader takes it. */
static uint64_t header_of(const unsigned char *bytes)
{
	uint64_t n = 0;

	for (int i = 7; i >= 0; i--)
		n = n << 8 | bytes[i];
	return n;
}

static void every_dtype_round_trips(void)
{
	float a[6] = {1, -2, 3.5f, 0, 1e-30f, 7};
	double b[2] = {0.1, -1e300}, b2[2];
	int32_t c[3] = {1, -2, 1 << 30}, c2[3];
	int64_t d = -5, d2;
	uint8_t e[5] = {0, 255, 3, 4, 5}, e2[5];
	float a2[6];
	mr_saved_tensor t[] = {
		{"h.0.attn.c_attn.weight", MR_F32, 2, {2, 3}, a, sizeof(a), 0},
		{"b \"quoted\" \xc3\xa4", MR_F64, 1, {2}, b, sizeof(b), 0},
		{"c", MR_I32, 3, {3, 1, 1}, c, sizeof(c), 0},
		{"scalar", MR_I64, 0, {0}, &d, sizeof(d), 0},
		{"empty", MR_F32, 2, {0, 7}, NULL, 0, 0},
		{"e", MR_U8, 1, {5}, e, sizeof(e), 0},
	};
	void *to[] = {a2, b2, c2, &d2, NULL, e2};
	mr_saved_text metadata[] = {{"format", "pt"}, {"step", "12"}};
	unsigned char *bytes;
	mr_safetensors *s;
	uint64_t n;
	size_t len;

	ckpt_help_folder(dir);
	MR_CHECK_OK(write_file("x", t, 6, metadata, 2));
	bytes = ckpt_help_read(dir, "x", &len);
	n = header_of(bytes);
	CU_ASSERT_EQUAL((8 + n) % 4096, 0);
	CU_ASSERT_EQUAL(8 + n, mr_safetensors_header_bytes(t, 6, metadata, 2));
	CU_ASSERT_EQUAL(len, 8 + n + 24 + 16 + 12 + 8 + 0 + 5);
	CU_ASSERT_EQUAL(bytes[8], '{');
	CU_ASSERT_EQUAL(bytes[8 + n - 1], ' ');
	CU_ASSERT(memcmp(bytes + 8 + n, a, sizeof(a)) == 0);
	CU_ASSERT_PTR_NULL(memchr(bytes + 8, '\n', n));
	CU_ASSERT_PTR_NOT_NULL(memmem(bytes + 8, n, "\"step\":\"12\"", 11));
	free(bytes);

	MR_CHECK_OK(open_file("x", &s));
	CU_ASSERT_EQUAL(mr_safetensors_count(s), 6);
	CU_ASSERT_PTR_NULL(mr_safetensors_find(s, "__metadata__"));
	CU_ASSERT_PTR_NULL(mr_safetensors_at(s, 6));
	for (size_t i = 0; i < 6; i++) {
		const mr_saved_tensor *found = mr_safetensors_find(s, t[i].name);

		CU_ASSERT_PTR_NOT_NULL_FATAL(found);
		CU_ASSERT_EQUAL(found->dtype, t[i].dtype);
		CU_ASSERT_EQUAL(found->n_dims, t[i].n_dims);
		CU_ASSERT_EQUAL(found->bytes, t[i].bytes);
		CU_ASSERT(memcmp(found->shape, t[i].shape, t[i].n_dims * sizeof(int64_t)) == 0);
		MR_CHECK_OK(mr_safetensors_read(s, found, to[i]));
		if (t[i].bytes)
			CU_ASSERT(memcmp(to[i], t[i].data, t[i].bytes) == 0);
	}
	mr_safetensors_close(s);
	mr_safetensors_close(NULL);
	ckpt_help_remove(dir);
}

static void load_insists(void)
{
	float a[6] = {1, 2, 3, 4, 5, 6}, to[6];
	mr_saved_tensor t = {"w", MR_F32, 2, {2, 3}, a, sizeof(a), 0};
	mr_saved_tensor same = {"w", MR_F32, 2, {2, 3}, to, sizeof(to), 0};
	mr_saved_tensor turned = {"w", MR_F32, 2, {3, 2}, to, sizeof(to), 0};
	mr_saved_tensor flat = {"w", MR_F32, 1, {6}, to, sizeof(to), 0};
	mr_saved_tensor whole = {"w", MR_I32, 2, {2, 3}, to, sizeof(to), 0};
	mr_saved_tensor other = {"v", MR_F32, 2, {2, 3}, to, sizeof(to), 0};
	mr_safetensors *s;

	ckpt_help_folder(dir);
	MR_CHECK_OK(write_file("x", &t, 1, NULL, 0));
	MR_CHECK_OK(open_file("x", &s));
	MR_CHECK_OK(mr_safetensors_load(s, &same));
	CU_ASSERT(memcmp(a, to, sizeof(a)) == 0);
	MR_CHECK_FAIL(mr_safetensors_load(s, &turned), MR_ECKPT, "x: tensor \"w\" is F32 [2, 3], expected F32 [3, 2]");
	MR_CHECK_FAIL(mr_safetensors_load(s, &flat), MR_ECKPT, "expected F32 [6]");
	MR_CHECK_FAIL(mr_safetensors_load(s, &whole), MR_ECKPT, "expected I32 [2, 3]");
	MR_CHECK_FAIL(mr_safetensors_load(s, &other), MR_ECKPT, "has no tensor \"v\"");
	mr_safetensors_close(s);
	t.bytes--;
	MR_CHECK_FAIL(write_file("y", &t, 1, NULL, 0), MR_EINVAL, "tensor \"w\" has 23 bytes");
	t.bytes++;
	MR_CHECK_FAIL(write_file("x", &t, 1, NULL, 0), MR_EIO, "x: cannot create: File exists");
	ckpt_help_remove(dir);
}

/* More than two MiB through the block buffer, in awkward pieces: the file and its checksums. */
static void blocks_and_checksums(void)
{
	size_t n = 2 * MR_CRC_BLOCK + 4321, len, at = 0;
	unsigned char *data = malloc(n), *bytes;
	int fd;
	mr_crc_file f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	ckpt_help_folder(dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < n; i++)
		data[i] = (unsigned char)(i * 2654435761u >> 13);
	MR_CHECK_OK(mr_crc_file_create(&f, fd, "big"));
	for (size_t piece = 1; at < n; piece = piece * 3 + 1) {
		size_t k = piece < n - at ? piece : n - at;

		MR_CHECK_OK(mr_crc_file_write(&f, data + at, k));
		at += k;
	}
	MR_CHECK_OK(mr_crc_file_finish(&f));
	CU_ASSERT_EQUAL(f.size, n);
	CU_ASSERT_EQUAL_FATAL(f.n_crcs, 3);
	for (size_t b = 0; b < 3; b++)
		CU_ASSERT_EQUAL(f.crcs[b], mr_crc32c_portable(0, data + b * MR_CRC_BLOCK, b < 2 ? MR_CRC_BLOCK : 4321));
	bytes = ckpt_help_read(dir, "big", &len);
	CU_ASSERT(len == n && memcmp(bytes, data, n) == 0);
	free(bytes);
	close(fd);
	fd = open(strcat(dir, "/big"), O_RDWR);
	MR_CHECK_OK(mr_crc_file_verify(fd, "big", n, f.crcs, 3, 1));
	CU_ASSERT_EQUAL(pwrite(fd, "?", 1, 1 << 20), 1);
	MR_CHECK_FAIL(mr_crc_file_verify(fd, "big", n, f.crcs, 3, 1), MR_ECKPT,
		      "big: damaged between bytes 1048576 and 2097152");
	MR_CHECK_FAIL(mr_crc_file_verify(fd, "big", n + 1, f.crcs, 3, 1), MR_ECKPT, "expected 2101474");
	MR_CHECK_FAIL(mr_crc_file_verify(fd, "big", n, f.crcs, 2, 1), MR_ECKPT, "2 checksums");
	close(fd);
	*strrchr(dir, '/') = '\0';
	mr_crc_file_fini(&f);
	free(data);
	ckpt_help_remove(dir);
}

/* A file made by hand: @json behind its length, then @n_data zeros. */
static void write_raw(const char *json, uint64_t claimed, size_t n_data)
{
	unsigned char bytes[4096] = {0};
	size_t n = strlen(json);

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(claimed >> (8 * i));
	memcpy(bytes + 8, json, n);
	ckpt_help_write(dir, "raw", bytes, 8 + n + n_data);
}

#define W "\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define V(from, to) "\"v\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" #from "," #to "]}"

static const struct {
	const char *json;
	size_t data;
	const char *part; /* NULL: must be accepted */
} headers[] = {
	{"{}", 0, NULL},
	{"{}   ", 0, NULL},
	{"{" W "}", 8, NULL},
	{"{" W "," V(8, 12) "}", 12, NULL},
	{"{" V(8, 12) "," W "}", 12, NULL}, /* any order in the header */
	{"{\"__metadata__\":{\"a\":\"b\"}," W "}", 8, NULL},
	{"{}", 1, "tensors end at offset 10, the file at 11"},
	{"{" W "}", 9, "the file at"},
	{"{" W "}", 7, "no data_offsets within the 7 bytes"},
	{"{" W "," V(12, 16) "}", 16, "begins at offset 129, expected 125: data have a gap"},
	{"{" W "," V(4, 8) "}", 8, "data overlap"},
	{"{" W "," V(0, 4) "}", 8, "data overlap"},
	{"{" W "," W "}", 8, "w"},
	{"{" V(4, 8) "}", 8, "data have a gap"},
	{"{" V(4, 0) "}", 4, "no data_offsets"},
	{"{" V(-4, 0) "}", 4, "no data_offsets"},
	{"{" V(0, 8) "}", 8, "has 8 bytes at offset 0, expected 4"},
	{"{" V(0, 9223372036854775807) "}", 4, "no data_offsets"},
	{"{" V(0, 9223372036854775808) "}", 4, "raw: header"},
	{"{" V(0.0, 4.0) "}", 4, "no data_offsets"},
	{"{\"w\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "unknown dtype F4"},
	{"{\"w\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "unknown dtype (none)"},
	{"{\"w\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype (none)"},
	{"{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "no shape"},
	{"{\"w\":{\"dtype\":\"F32\",\"shape\":4,\"data_offsets\":[0,4]}}", 4, "no shape"},
	{"{\"w\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4, "at most 8"},
	{"{\"w\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
	 "impossible length in dimension 0"},
	{"{\"w\":{\"dtype\":\"F32\",\"shape\":[1,\"1\"],\"data_offsets\":[0,4]}}", 4, "dimension 1"},
	{"{\"w\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0,
	 "dimension 0"},
	{"{\"w\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
	 "dimension 1"},
	{"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "no data_offsets"},
	{"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, "no data_offsets"},
	{"{\"w\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "no data_offsets"},
	{"{\"w\":[1]}", 0, "unknown dtype (none)"},
	{"{\"w\":null}", 0, "unknown dtype (none)"},
	{"{\"__metadata__\":[]}", 0, "__metadata__ is array, expected an object"},
	{"{\"__metadata__\":{\"a\":1}}", 0, "value for \"a\" that is no string"},
	{"[]", 0, "does not begin with {"},
	{" {}", 0, "does not begin with {"},
	{"{\"w\"}", 0, "raw: header"},
	{"{} x", 0, "raw: header"},
	{"{\"\xff\":{}}", 0, "raw: header"},
	{"{", 0, "raw: 9 bytes are too few"},
};

static void strict_reader(void)
{
	mr_safetensors *s;
	char path[600];

	ckpt_help_folder(dir);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		write_raw(headers[i].json, strlen(headers[i].json), headers[i].data);
		if (!headers[i].part) {
			MR_CHECK_OK(open_file("raw", &s));
			mr_safetensors_close(s);
			continue;
		}
		MR_CHECK_FAIL(open_file("raw", &s), MR_ECKPT, headers[i].part);
	}
	write_raw("{}", 1, 0);
	MR_CHECK_FAIL(open_file("raw", &s), MR_ECKPT, "header of 1 bytes at offset 0, expected 2 to 2");
	write_raw("{}", 3, 0);
	MR_CHECK_FAIL(open_file("raw", &s), MR_ECKPT, "header of 3 bytes");
	write_raw("{}", UINT64_MAX, 0);
	MR_CHECK_FAIL(open_file("raw", &s), MR_ECKPT, "header of 18446744073709551615 bytes");
	/* A sparse file of 200 MB, so that only the cap can refuse. */
	write_raw("{}", 100000001, 0);
	snprintf(path, sizeof(path), "%s/raw", dir);
	CU_ASSERT_EQUAL(truncate(path, 200000000), 0);
	MR_CHECK_FAIL(open_file("raw", &s), MR_ECKPT, "header of 100000001 bytes at offset 0, expected 2 to 100000000");
	MR_CHECK_FAIL(open_file("absent", &s), MR_ECKPT, "absent: cannot open: No such file");
	CU_ASSERT_EQUAL(mkdir(strcat(dir, "/folder"), 0777), 0);
	*strrchr(dir, '/') = '\0';
	MR_CHECK_FAIL(open_file("folder", &s), MR_ECKPT, "not a regular file");
	snprintf(path, sizeof(path), "%s/link", dir);
	CU_ASSERT_EQUAL(symlink("raw", path), 0);
	MR_CHECK_FAIL(open_file("link", &s), MR_ECKPT, "is a symbolic link");
	ckpt_help_remove(dir);
}

/* Without checksums: every truncation is seen; a flipped header bit may or may not be, but never harms. */
static void truncations_and_flips(void)
{
	unsigned char bytes[256] = {0};
	const char *json = "{" W "," V(8, 12) ",\"__metadata__\":{\"k\":\"v\"}}";
	size_t n = strlen(json), len = 8 + n + 12;
	int refused = 0;
	float to[64];
	mr_safetensors *s;

	ckpt_help_folder(dir);
	bytes[0] = (unsigned char)n;
	memcpy(bytes + 8, json, n);
	for (size_t cut = 0; cut < len; cut++) {
		ckpt_help_write(dir, "x", bytes, cut);
		CU_ASSERT_EQUAL(open_file("x", &s), MR_ECKPT);
	}
	for (size_t bit = 0; bit < 8 * (8 + n); bit++) {
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		ckpt_help_write(dir, "x", bytes, len);
		if (open_file("x", &s) != MR_OK) {
			refused++;
		} else {
			for (size_t i = 0; i < mr_safetensors_count(s); i++)
				MR_CHECK_OK(mr_safetensors_read(s, mr_safetensors_at(s, i), to));
			mr_safetensors_close(s);
		}
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	CU_ASSERT(refused > (int)(4 * n)); /* names and texts may change unseen; structure, sizes and offsets not */
	/* A file that becomes shorter after it was opened. */
	ckpt_help_write(dir, "x", bytes, len);
	MR_CHECK_OK(open_file("x", &s));
	ckpt_help_write(dir, "x", bytes, len - 1);
	MR_CHECK_FAIL(mr_safetensors_read(s, mr_safetensors_find(s, "v"), to), MR_ECKPT,
		      "tensor \"v\": x: ends at byte");
	mr_safetensors_close(s);
	ckpt_help_remove(dir);
}

void mr_suite_safetensors(void);
void mr_suite_safetensors(void)
{
	MR_SUITE("safetensors");
	MR_TEST(every_dtype_round_trips);
	MR_TEST(load_insists);
	MR_TEST(blocks_and_checksums);
	MR_TEST(strict_reader);
	MR_TEST(truncations_and_flips);
}
