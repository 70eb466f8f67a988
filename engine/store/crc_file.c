#include "store/crc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "store/ckpt_os.h"
#include "store/crc_blocks.h"

mr_status mr_crc_file_error(const char *name, const char *what, int err)
{
	mr_status code = mr_file_no_room(err) || err == ENOMEM ? MR_ERESOURCE : MR_EIO;

	return mr_fail(code, "%s: %s: %s", name, what, strerror(err));
}

static mr_status begin(mr_crc_file *f, int dir, const char *name, bool is_new)
{
	*f = (mr_crc_file){.name = name, .fd = -1, .direct = -1, .n_threads = 1, .block = malloc(MR_CRC_BLOCK)};
	if (!f->block)
		return mr_crc_file_error(name, "buffer of 1 MiB", ENOMEM);
	f->fd = is_new ? mr_ckpt_create(dir, name) : openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0) {
		mr_status st = mr_crc_file_error(name, is_new ? "cannot create" : "cannot open", errno);

		mr_crc_file_fini(f);
		return st;
	}
	f->direct = openat(dir, name, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);
	return MR_OK;
}

mr_status mr_crc_file_create(mr_crc_file *f, int dir, const char *name)
{
	return begin(f, dir, name, true);
}

mr_status mr_crc_file_open(mr_crc_file *f, int dir, const char *name)
{
	return begin(f, dir, name, false);
}

/* Write one block and note its CRC. */
static mr_status flush(mr_crc_file *f, const uint8_t *data, size_t len)
{
	if (f->n_crcs == f->cap_crcs) {
		size_t cap = f->cap_crcs ? 2 * f->cap_crcs : 16;
		uint32_t *grown = realloc(f->crcs, cap * sizeof(*grown));

		if (!grown)
			return mr_crc_file_error(f->name, "list of checksums", ENOMEM);
		f->crcs = grown;
		f->cap_crcs = cap;
	}
	f->crcs[f->n_crcs++] = mr_crc32c(0, data, len);
	while (len) {
		ssize_t put = mr_ckpt_write(f->fd, data, len, f->size);

		if (put < 0)
			return mr_crc_file_error(f->name, "cannot write", errno);
		if (put == 0)
			return mr_crc_file_error(f->name, "cannot write", ENOSPC);
		data += put;
		len -= (size_t)put;
		f->size += (uint64_t)put;
	}
	return MR_OK;
}

mr_status mr_crc_file_write(mr_crc_file *f, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len) {
		size_t room = MR_CRC_BLOCK - f->n_block;
		size_t n = len < room ? len : room;

		if (n == MR_CRC_BLOCK) { /* a whole block needs no copy */
			MR_TRY(flush(f, at, n));
		} else {
			memcpy(f->block + f->n_block, at, n);
			f->n_block += n;
			if (f->n_block == MR_CRC_BLOCK) {
				f->n_block = 0;
				MR_TRY(flush(f, f->block, MR_CRC_BLOCK));
			}
		}
		at += n;
		len -= n;
	}
	return MR_OK;
}

mr_status mr_crc_file_finish(mr_crc_file *f)
{
	int fd, direct = f->direct, late;

	if (f->n_block)
		MR_TRY(flush(f, f->block, f->n_block));
	f->n_block = 0;
	if (mr_ckpt_fsync(f->fd))
		return mr_crc_file_error(f->name, "fsync", errno);
	fd = f->fd;
	f->fd = f->direct = -1;
	late = direct >= 0 && close(direct) && errno != EINTR;
	if ((close(fd) && errno != EINTR) || late) /* network file systems report late write errors here */
		return mr_crc_file_error(f->name, "close", errno);
	return MR_OK;
}

void mr_crc_file_fini(mr_crc_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->direct >= 0)
		close(f->direct);
	free(f->block);
	free(f->crcs);
	*f = (mr_crc_file){.fd = -1, .direct = -1};
}

mr_status mr_crc_file_verify(int fd, const char *name, uint64_t size, const uint32_t *crcs, size_t n_crcs,
			     uint32_t n_threads)
{
	struct stat info;

	if (fstat(fd, &info))
		return mr_crc_file_error(name, "cannot stat", errno);
	if (!S_ISREG(info.st_mode) || (uint64_t)info.st_size != size)
		return mr_fail(MR_ECKPT, "%s: %lld bytes, expected %llu", name, (long long)info.st_size,
			       (unsigned long long)size);
	if (n_crcs != mr_crc_blocks_of(size))
		return mr_fail(MR_ECKPT, "%s: %zu checksums for %llu bytes", name, n_crcs, (unsigned long long)size);
	return size ? mr_crc_blocks_verify(fd, name, size, crcs, n_threads) : MR_OK;
}
