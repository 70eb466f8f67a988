#include "formats/idx.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/size.h"

/* Deflate cannot shrink further than this: a header that claims more is wrong, and no memory is taken for it. */
#define MAX_RATIO 1032u

static mr_status no_memory(const char *path)
{
	return mr_fail(MR_ERESOURCE, "%s: no memory for its samples", path);
}

static uint32_t big_endian(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* The message for a file that ended or broke before byte @offset + @bytes of its contents, or in gzip's trailer. */
static mr_status broken(const mr_idx *x, gzFile f, uint64_t offset, uint64_t bytes)
{
	int code;
	const char *reason = gzerror(f, &code);

	if (code == Z_OK || code == Z_BUF_ERROR)
		return mr_fail(MR_EDATA, "%s: truncated: %llu bytes of contents were expected at least", x->path,
			       (unsigned long long)(offset + bytes));
	if (!strncmp(reason, x->path, strlen(x->path)) && !strncmp(reason + strlen(x->path), ": ", 2))
		reason += strlen(x->path) + 2; /* zlib names the file too */
	return mr_fail(MR_EDATA, "%s: damaged: %s", x->path, reason);
}

/* All of @bytes bytes, in pieces that an unsigned int of zlib can count. */
static mr_status read_all(const mr_idx *x, gzFile f, void *to, uint64_t offset, uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes;) {
		unsigned piece = bytes - done > 1u << 20 ? 1u << 20 : (unsigned)(bytes - done);
		int got = gzread(f, (char *)to + done, piece);

		if (got < 0 || (unsigned)got < piece)
			return broken(x, f, offset, bytes);
		done += piece;
	}
	return MR_OK;
}

static mr_status take_header(mr_idx *x, gzFile f, uint32_t magic)
{
	uint8_t h[16];
	uint32_t found;

	x->header = magic == MR_IDX_IMAGES ? 16 : 8;
	MR_TRY(read_all(x, f, h, 0, x->header));
	found = big_endian(h);
	if (found != magic)
		return mr_fail(MR_EDATA, "%s: not an IDX file of %s: magic %u, expected %u%s", x->path,
			       magic == MR_IDX_IMAGES ? "images" : "labels", found, magic,
			       found == (magic ^ MR_IDX_IMAGES ^ MR_IDX_LABELS) ? " (images and labels swapped?)" : "");
	x->n = big_endian(h + 4);
	x->rows = magic == MR_IDX_IMAGES ? big_endian(h + 8) : 1;
	x->cols = magic == MR_IDX_IMAGES ? big_endian(h + 12) : 1;
	if (x->n == 0)
		return mr_fail(MR_EDATA, "%s: holds no samples", x->path);
	if (!x->rows || !x->cols || x->rows > MR_IDX_MAX_SIDE || x->cols > MR_IDX_MAX_SIDE)
		return mr_fail(MR_EDATA, "%s: images of %ux%u, expected 1 to %u in both directions", x->path, x->rows,
			       x->cols, MR_IDX_MAX_SIDE);
	return MR_OK;
}

/* Can a file of @file_bytes be what its header says? */
static mr_status check_size(const mr_idx *x, uint64_t file_bytes)
{
	uint64_t most = !x->packed                            ? file_bytes
			: file_bytes > UINT64_MAX / MAX_RATIO ? UINT64_MAX
							      : file_bytes * MAX_RATIO;
	size_t bytes;

	if (mr_size_mul(mr_idx_sample_bytes(x), x->n, &bytes) && bytes <= most - x->header &&
	    (x->packed || x->header + bytes == file_bytes))
		return MR_OK;
	return mr_fail(MR_EDATA, "%s: a file of %llu bytes cannot be %u samples of %ux%u, as its header says", x->path,
		       (unsigned long long)file_bytes, x->n, x->rows, x->cols);
}

mr_status mr_idx_open(mr_idx *x, const char *path, mr_idx_kind kind)
{
	gzFile f;
	mr_status st;

	x->path = strdup(path);
	if (!x->path)
		return no_memory(path);
	MR_TRY(mr_contents_open(x->path, &x->in));
	f = gzopen(x->path, "rb");
	if (!f)
		return mr_fail(MR_EDATA, "%s: cannot be opened", x->path);
	st = take_header(x, f, kind);
	x->packed = !gzdirect(f);
	gzclose_r(f);
	return st == MR_OK ? check_size(x, mr_contents_bytes(x->in)) : st;
}

bool mr_idx_is_images(const char *path)
{
	gzFile f = gzopen(path, "rb");
	uint8_t h[4];
	bool is = f && gzread(f, h, sizeof(h)) == (int)sizeof(h) && big_endian(h) == MR_IDX_IMAGES;

	if (f)
		gzclose_r(f);
	return is;
}

/* All of the packed file, whose end is where zlib checks the CRC. */
static mr_status read_packed(const mr_idx *x, gzFile f, uint8_t *to, uint64_t bytes)
{
	char extra;
	int got, code;

	MR_TRY(read_all(x, f, to, 0, bytes));
	got = gzread(f, &extra, 1);
	gzerror(f, &code);
	if (got > 0)
		return mr_fail(MR_EDATA, "%s: contents go on after the %u samples of the header", x->path, x->n);
	return code == Z_OK || code == Z_STREAM_END ? MR_OK : broken(x, f, x->header, bytes - x->header);
}

static mr_status unpack(mr_idx *x)
{
	uint64_t bytes = mr_idx_bytes(x);
	uint8_t *to = malloc(bytes);
	gzFile f = gzopen(x->path, "rb");
	mr_status st;

	if (to && f)
		st = read_packed(x, f, to, bytes);
	else
		st = to ? mr_fail(MR_EDATA, "%s: cannot be opened", x->path) : no_memory(x->path);
	if (f)
		gzclose_r(f);
	if (st != MR_OK) {
		free(to);
		return st;
	}
	mr_contents_close(x->in);
	x->in = mr_contents_of(x->path, to, bytes);
	return x->in ? MR_OK : no_memory(x->path);
}

mr_status mr_idx_load(mr_idx *x)
{
	return x->packed ? unpack(x) : x->keeps ? mr_contents_keep(x->in) : MR_OK;
}

void mr_idx_close(mr_idx *x)
{
	free(x->path);
	mr_contents_close(x->in);
	*x = (mr_idx){0};
}
