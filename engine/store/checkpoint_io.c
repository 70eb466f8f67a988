#include "store/checkpoint_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/log.h"
#include "base/str.h"
#include "base/usdt.h"
#include "store/checkpoint_part.h"
#include "store/ckpt_os.h"
#include "store/crc_blocks.h"

#define MAX_VERSIONS 10000u

/* The disk that @dir is on, or will be on once it is made. */
static int ask_disk(const char *dir, struct statvfs *disk)
{
	char parent[4096], *slash;

	if (!statvfs(dir, disk))
		return 0;
	if (errno != ENOENT || strlen(dir) >= sizeof(parent))
		return -1;
	strcpy(parent, dir);
	slash = strrchr(parent, '/');
	if (slash)
		slash[slash == parent] = '\0';
	return statvfs(slash ? parent : ".", disk);
}

/* Number of checkpoints that @dir holds now: their space is free again by the time a later one needs it. */
static size_t count_present(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_ckpt_entry *list = NULL;
	size_t n = 0;

	if (fd >= 0 && mr_ckpt_list(fd, dir, &list, &n) != MR_OK)
		n = 0;
	if (fd >= 0)
		close(fd);
	free(list);
	return n;
}

mr_status mr_checkpoint_preflight(const char *dir, uint64_t bytes, uint64_t n)
{
	uint64_t available, present = n > 1 ? count_present(dir) : 0, wanted = n > present ? n - present : 1;
	char need[16], have[16], several[64] = "a checkpoint needs";
	struct statvfs disk;

	if (ask_disk(dir, &disk))
		return mr_fail(MR_EIO, "%s: cannot ask for free space: %s", dir, strerror(errno));
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (bytes == 0 || available / bytes >= wanted)
		return MR_OK;
	if (wanted > 1)
		snprintf(several, sizeof(several), "%llu checkpoints that are there at once need",
			 (unsigned long long)wanted);
	bytes = bytes <= UINT64_MAX / wanted ? bytes * wanted : UINT64_MAX;
	return mr_fail(MR_ERESOURCE, "%s: %s %s (%llu bytes) on the disk, only %s (%llu bytes) are free", dir, several,
		       mr_bytes_text(bytes, need), (unsigned long long)bytes, mr_bytes_text(available, have),
		       (unsigned long long)available);
}

bool mr_checkpoint_name_ok(const char *name)
{
	return name && name[0] && name[0] != '.' && strlen(name) < MR_CKPT_NAME && !strchr(name, '/') &&
	       strcmp(name, MR_MANIFEST) != 0;
}

static mr_status check_content(const mr_checkpoint_content *c)
{
	for (size_t i = 0; i < c->n_parts; i++) {
		if (!mr_checkpoint_name_ok(c->parts[i].name))
			return mr_fail(MR_EINVAL, "a file of a checkpoint cannot be called \"%s\"", c->parts[i].name);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(c->parts[i].name, c->parts[k].name))
				return mr_fail(MR_EINVAL, "two files of a checkpoint are called \"%s\"",
					       c->parts[i].name);
	}
	return MR_OK;
}

/* Bytes of the contents of @p. */
static uint64_t bytes_of(const mr_checkpoint_shard *p)
{
	uint64_t sum = p->pieces ? 0
				 : mr_safetensors_header_bytes(p->tensors, p->n_tensors, p->metadata, p->n_metadata);

	for (size_t i = 0; p->pieces && i < p->n_pieces; i++)
		sum += p->pieces[i].bytes;
	for (size_t i = 0; !p->pieces && i < p->n_tensors; i++)
		sum += p->tensors[i].bytes;
	return sum;
}

uint64_t mr_checkpoint_bytes(const mr_checkpoint_content *c)
{
	uint64_t sum = 1 << 20; /* manifest, directories */

	for (size_t i = 0; i < c->n_parts; i++) {
		uint64_t bytes = bytes_of(&c->parts[i]);

		sum += bytes + bytes / 50000 + 4096; /* a checksum: 11 characters a MiB */
	}
	return sum;
}

/* Write one file, which @is_there if others write it, too; its size and checksums move to @out. */
static mr_status write_part(int dir, const mr_checkpoint_shard *p, uint32_t n_threads, bool is_there,
			    mr_manifest_file *out)
{
	mr_crc_file f;
	mr_status st;

	MR_TRY(is_there ? mr_crc_file_open(&f, dir, p->name) : mr_crc_file_create(&f, dir, p->name));
	f.n_threads = n_threads;
	st = p->pieces ? mr_crc_blocks_write(&f, p->pieces, p->n_pieces)
		       : mr_safetensors_write(&f, p->tensors, p->n_tensors, p->metadata, p->n_metadata);
	if (st == MR_OK)
		st = mr_crc_file_finish(&f);
	if (st == MR_OK) {
		out->name = strdup(p->name);
		out->size = f.size;
		out->crcs = f.crcs;
		out->n_crcs = f.n_crcs;
		f.crcs = NULL;
		if (!out->name)
			st = mr_fail(MR_ERESOURCE, "%s: no memory", p->name);
	}
	mr_crc_file_fini(&f);
	return st;
}

/* A file of @bytes bytes, for several to write. */
static mr_status make_file(int dir, const char *name, uint64_t bytes)
{
	int fd = mr_ckpt_create(dir, name), failed;

	if (fd < 0)
		return mr_crc_file_error(name, "cannot create", errno);
	failed = mr_ckpt_allocate(fd, bytes) && errno != EOPNOTSUPP && errno != ENOSYS ? errno : 0;
	close(fd);
	return failed ? mr_crc_file_error(name, "cannot write", failed) : MR_OK;
}

static mr_status let_others_begin(int dir, const char *temp, const mr_checkpoint_content *c)
{
	for (size_t i = 0; i < c->n_parts; i++)
		MR_TRY(make_file(dir, c->parts[i].name, bytes_of(&c->parts[i])));
	return c->others->begin(c->others->arg, temp);
}

static void free_files(mr_manifest_file *files, size_t n)
{
	for (size_t i = 0; files && i < n; i++) {
		free(files[i].name);
		free(files[i].crcs);
	}
	free(files);
}

/* Write all files and the manifest into the folder @temp of @dir, and make them durable. */
static mr_status fill(int dir, const char *temp, const mr_checkpoint_content *c)
{
	mr_manifest_file *files = calloc(c->n_parts + 1, sizeof(*files));
	int fd = openat(dir, temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	mr_status st = MR_OK;

	if (fd < 0)
		st = mr_crc_file_error(temp, "cannot open", errno);
	else if (!files)
		st = mr_fail(MR_ERESOURCE, "no memory for %zu files", c->n_parts);
	if (st == MR_OK && c->others)
		st = let_others_begin(fd, temp, c);
	for (size_t i = 0; i < c->n_parts && st == MR_OK; i++)
		st = write_part(fd, &c->parts[i], c->n_threads, c->others != NULL, &files[i]);
	for (size_t i = 0; c->others && i < c->n_parts && st == MR_OK; i++)
		st = c->others->end(c->others->arg, i, files[i].crcs, files[i].n_crcs, files[i].size);
	if (st == MR_OK)
		st = mr_manifest_write(fd, c, files);
	if (st == MR_OK && mr_ckpt_sync_dir(fd))
		st = mr_crc_file_error(temp, "fsync of the folder", errno);
	if (fd >= 0)
		close(fd);
	free_files(files, c->n_parts);
	return st;
}

mr_status mr_checkpoint_write_pieces(const char *dir_path, const char *temp, const mr_checkpoint_content *c,
				     uint32_t **crcs)
{
	mr_manifest_file *files = calloc(c->n_parts + 1, sizeof(*files));
	char *path = mr_path_join(dir_path, temp);
	int dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	mr_status st = MR_OK;

	if (!files || !path)
		st = mr_fail(MR_ERESOURCE, "no memory for %zu files", c->n_parts);
	else if (dir < 0)
		st = mr_crc_file_error(path, "cannot open", errno);
	mr_activity_begin("saves a checkpoint");
	for (size_t i = 0; i < c->n_parts && st == MR_OK; i++) {
		st = write_part(dir, &c->parts[i], c->n_threads, true, &files[i]);
		crcs[i] = st == MR_OK ? files[i].crcs : NULL;
		files[i].crcs = st == MR_OK ? NULL : files[i].crcs;
	}
	mr_activity_end();
	if (dir >= 0)
		close(dir);
	free_files(files, c->n_parts);
	st = st == MR_OK ? MR_OK : mr_fail_in(st, "%s", path ? path : dir_path);
	free(path);
	return st;
}

/* Give the finished folder its final name, and make that durable in DIR. */
static mr_status settle(int dir, const char *temp, uint64_t step, char name[MR_CKPT_NAME])
{
	struct stat info;
	uint32_t version = 0;

	do {
		mr_ckpt_name(step, version, name);
	} while (!fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) && ++version < MAX_VERSIONS);
	if (mr_ckpt_rename(dir, temp, name))
		return mr_crc_file_error(name, "cannot rename", errno);
	if (mr_ckpt_sync_dir(dir))
		return mr_crc_file_error(name, "fsync of the folder above", errno);
	return MR_OK;
}

/* @direct: as the disk has it, past the page cache. */
static mr_status check(const char *dir_path, const char *name, uint32_t n_threads, bool direct)
{
	char *path = mr_path_join(dir_path, name);
	mr_checkpoint *c = NULL;
	mr_ckpt_entry e;
	mr_status st;

	if (!path)
		return mr_fail(MR_ERESOURCE, "%s: no memory", name);
	st = mr_checkpoint_open(path, &c);
	if (st == MR_OK && mr_ckpt_parse_name(name, &e) && e.step != mr_checkpoint_step(c))
		st = mr_fail(MR_ECKPT, "%s: " MR_MANIFEST " says step %llu, which does not suit the folder's name",
			     path, (unsigned long long)mr_checkpoint_step(c));
	if (st == MR_OK)
		st = mr_manifest_verify(c, n_threads, direct);
	mr_checkpoint_close(c);
	free(path);
	return st;
}

static mr_status save(int dir, const char *dir_path, const mr_checkpoint_content *c, char name[MR_CKPT_NAME])
{
	char what[32], temp[MR_CKPT_NAME];
	mr_status st;

	snprintf(what, sizeof(what), "%llu", (unsigned long long)c->step);
	mr_ckpt_temp_name(what, temp);
	if (mr_ckpt_mkdir(dir, temp))
		return mr_crc_file_error(temp, "cannot create folder", errno);
	st = fill(dir, temp, c);
	if (st == MR_OK)
		st = check(dir_path, temp, c->n_threads, true);
	if (st == MR_OK)
		st = settle(dir, temp, c->step, name);
	if (st == MR_OK && c->best)
		st = mr_ckpt_write_link(dir, "BEST", name);
	if (st == MR_OK)
		st = mr_ckpt_write_link(dir, "LATEST", name);
	/* After the rename there is nothing to discard. */
	if (st != MR_OK && !mr_ckpt_discard(dir, temp) && errno != ENOENT)
		mr_log(MR_LOG_WARN, "checkpoint", "%s/%s cannot be removed: %s", dir_path, temp, strerror(errno));
	return st;
}

mr_status mr_checkpoint_check(const char *dir_path, const char *name)
{
	return check(dir_path, name, 1, false);
}

static mr_status save_to(const char *dir_path, const mr_checkpoint_content *c, char **path)
{
	char name[MR_CKPT_NAME];
	mr_status st;
	int dir = -1;

	if (path)
		*path = NULL;
	MR_TRY(check_content(c));
	MR_TRY(mr_checkpoint_preflight(dir_path, mr_checkpoint_bytes(c), 1));
	mr_usdt_checkpoint_begin(c->step);
	if (mr_ckpt_mkdir(AT_FDCWD, dir_path) && errno != EEXIST)
		st = mr_crc_file_error("the folder", "cannot create", errno);
	else if ((dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		st = mr_crc_file_error("the folder", "cannot open", errno);
	else
		st = save(dir, dir_path, c, name);
	mr_usdt_checkpoint_end(c->step, st == MR_OK);
	if (st == MR_OK && !c->keep_all)
		mr_ckpt_rotate(dir, dir_path, c, name);
	if (dir >= 0)
		close(dir);
	if (st != MR_OK)
		return mr_fail_in(st, "%s: checkpoint of step %llu", dir_path, (unsigned long long)c->step);
	if (path) {
		*path = mr_path_join(dir_path, name);
		if (!*path)
			return mr_fail(MR_ERESOURCE, "%s: no memory", name);
	}
	return MR_OK;
}

mr_status mr_checkpoint_save(const char *dir_path, const mr_checkpoint_content *c, char **path)
{
	mr_status st;

	mr_activity_begin("saves a checkpoint");
	st = save_to(dir_path, c, path);
	mr_activity_end();
	return st;
}

mr_status mr_checkpoint_keep(const char *dir_path, const mr_checkpoint_content *c)
{
	int dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[MR_CKPT_NAME];
	mr_status st = MR_OK;

	if (dir < 0)
		return mr_crc_file_error(dir_path, "cannot open", errno);
	mr_ckpt_read_link(dir, "LATEST", name);
	if (c->best)
		st = mr_ckpt_write_link(dir, "BEST", name);
	if (st == MR_OK)
		mr_ckpt_rotate(dir, dir_path, c, name);
	close(dir);
	return st == MR_OK ? MR_OK : mr_fail_in(st, "%s", dir_path);
}
