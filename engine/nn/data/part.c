#include "nn/data/part.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/str.h"

char *mr_data_path(const mr_data_want *want, const char *path)
{
	mr_strbuf b;

	mr_strbuf_init(&b);
	if (want->base_dir && path[0] != '/')
		mr_strbuf_printf(&b, "%s/", want->base_dir);
	mr_strbuf_append(&b, path);
	return mr_strbuf_take(&b);
}

mr_status mr_data_no_memory(uint64_t bytes)
{
	char text[16];

	return mr_fail(MR_ERESOURCE, "no memory for %s of data", mr_bytes_text(bytes, text));
}

static uint64_t machine_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

mr_status mr_data_check_memory(uint64_t bytes)
{
	char size[16], have[16];

	if (bytes > machine_bytes() || bytes > SIZE_MAX / 2)
		return mr_fail(MR_ERESOURCE, "the data take %s, the machine has only %s of memory",
			       mr_bytes_text(bytes, size), mr_bytes_text(machine_bytes(), have));
	return MR_OK;
}

mr_status mr_data_stat(const char *path, uint64_t *bytes)
{
	struct stat st;
	mr_status fits;

	if (stat(path, &st))
		return mr_fail(MR_EDATA, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return mr_fail(MR_EDATA, "%s: is a folder, not a file", path);
	if (!S_ISREG(st.st_mode)) /* a pipe would block for ever */
		return mr_fail(MR_EDATA, "%s: is not a regular file", path);
	if (st.st_size == 0)
		return mr_fail(MR_EDATA, "%s: the file is empty", path);
	*bytes = (uint64_t)st.st_size;
	fits = mr_data_check_memory(*bytes);
	return fits == MR_OK ? MR_OK : mr_fail_in(fits, "%s", path);
}

mr_status mr_data_read(const char *path, char **buf, size_t *len)
{
	uint64_t bytes;
	mr_status st;

	MR_TRY(mr_data_stat(path, &bytes));
	st = mr_file_read(path, (size_t)bytes, buf, len);
	return st == MR_EIO ? mr_fail(MR_EDATA, "%s", mr_error_text()) : st;
}

uint64_t mr_data_train_part(uint64_t n, double fraction)
{
	double part = floor((double)n * (1 - fraction) + 1e-6);

	return part >= (double)n ? n : (uint64_t)part;
}

mr_status mr_data_refuse_context(const char *source, const mr_data_want *want)
{
	if (want->context)
		return mr_fail(MR_ECONFIG,
			       "data \"%s\" has no token sequences, but the model takes sequences of %lld tokens",
			       source, (long long)want->context);
	return MR_OK;
}

uint64_t mr_data_fold(uint64_t fingerprint, uint64_t figure)
{
	return mr_hash64(fingerprint, &figure, sizeof(figure));
}

uint64_t mr_data_order(uint64_t n, uint64_t seed, uint64_t g)
{
	mr_permute p;

	mr_permute_init(&p, n, seed, g / n);
	return mr_permute_at(&p, g % n);
}
