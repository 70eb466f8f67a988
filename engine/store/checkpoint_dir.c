/* checkpoint_dir.c - the folder that holds the checkpoints: names, LATEST and BEST, deletion, sweep, and the lock. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grown.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/str.h"
#include "store/checkpoint_part.h"
#include "store/ckpt_os.h"

#define TEMP ".tmp-"

/* --- names --- */

void mr_ckpt_name(uint64_t step, uint32_t version, char name[MR_CKPT_NAME])
{
	if (version)
		snprintf(name, MR_CKPT_NAME, "step-%08" PRIu64 ".%" PRIu32, step, version);
	else
		snprintf(name, MR_CKPT_NAME, "step-%08" PRIu64, step);
}

bool mr_ckpt_parse_name(const char *name, mr_ckpt_entry *e)
{
	*e = (mr_ckpt_entry){.step = 0};
	if (strlen(name) >= MR_CKPT_NAME || sscanf(name, "step-%20" SCNu64 ".%9" SCNu32, &e->step, &e->version) < 1)
		return false;
	mr_ckpt_name(e->step, e->version, e->name);
	return !strcmp(name, e->name);
}

void mr_ckpt_temp_name(const char *what, char name[MR_CKPT_NAME])
{
	static _Atomic uint64_t calls; /* trainings of one process save to several folders; the clock keeps processes
					  with the same number apart */
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, MR_CKPT_NAME, TEMP "%.20s-%ld-%08" PRIx32, what, (long)getpid(),
		 (uint32_t)mr_mix64((uint64_t)now.tv_nsec + ((uint64_t)now.tv_sec << 30) +
				      (atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) << 48)));
}

static int newest_first(const void *a, const void *b)
{
	const mr_ckpt_entry *x = a, *y = b;

	if (x->step != y->step)
		return x->step > y->step ? -1 : 1;
	return x->version > y->version ? -1 : x->version < y->version;
}

/* A directory stream of its own, from the beginning. */
static DIR *read_folder(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

mr_status mr_ckpt_list(int dir, const char *dir_path, mr_ckpt_entry **list, size_t *n)
{
	DIR *d = read_folder(dir);

	*list = NULL;
	*n = 0;
	if (!d)
		return mr_fail(MR_EIO, "%s: cannot read the folder: %s", dir_path, strerror(errno));
	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		mr_ckpt_entry entry, *grown;

		if (!mr_ckpt_parse_name(e->d_name, &entry))
			continue;
		grown = mr_grown(*list, *n, sizeof(*grown));
		if (!grown) {
			closedir(d);
			free(*list);
			*list = NULL;
			return mr_fail(MR_ERESOURCE, "%s: no memory", dir_path);
		}
		*list = grown;
		(*list)[(*n)++] = entry;
	}
	closedir(d);
	if (*n)
		qsort(*list, *n, sizeof(**list), newest_first);
	return MR_OK;
}

/* --- LATEST and BEST --- */

void mr_ckpt_read_link(int dir, const char *link, char name[MR_CKPT_NAME])
{
	char text[MR_CKPT_NAME + 1];
	int fd = openat(dir, link, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, MR_CKPT_NAME);
	mr_ckpt_entry e;

	if (fd >= 0)
		close(fd);
	name[0] = '\0';
	if (n < 2 || text[n - 1] != '\n')
		return;
	text[n - 1] = '\0';
	if (mr_ckpt_parse_name(text, &e))
		memcpy(name, e.name, MR_CKPT_NAME);
}

/* Write @name into the temporary file @temp. */
static mr_status write_link_file(int dir, const char *temp, const char *name)
{
	mr_crc_file f;
	mr_status st;

	MR_TRY(mr_crc_file_create(&f, dir, temp));
	st = mr_crc_file_write(&f, name, strlen(name));
	if (st == MR_OK)
		st = mr_crc_file_write(&f, "\n", 1);
	if (st == MR_OK)
		st = mr_crc_file_finish(&f);
	mr_crc_file_fini(&f);
	return st;
}

mr_status mr_ckpt_write_link(int dir, const char *link, const char *name)
{
	char temp[MR_CKPT_NAME];
	mr_status st;

	mr_ckpt_temp_name(link, temp);
	st = write_link_file(dir, temp, name);
	if (st == MR_OK && mr_ckpt_rename(dir, temp, link))
		st = mr_crc_file_error(link, "cannot rename", errno);
	if (st != MR_OK) {
		(void)mr_ckpt_discard(dir, temp); /* what remains is swept at the next start */
		return st;
	}
	return mr_ckpt_sync_dir(dir) ? mr_crc_file_error(link, "fsync of the folder", errno) : MR_OK;
}

/* --- deletion --- */

/* Unlink the files in the folder @name, which has no folders. */
static bool empty(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool good = d != NULL;
	int err = errno;

	if (!d && fd >= 0)
		close(fd);
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && mr_ckpt_unlink(fd, e->d_name)) {
			err = errno;
			good = false;
		}
	if (d)
		closedir(d);
	errno = err;
	return good;
}

bool mr_ckpt_discard(int dir, const char *name)
{
	struct stat info;

	if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW))
		return false;
	if (!S_ISDIR(info.st_mode))
		return mr_ckpt_unlink(dir, name) == 0;
	return empty(dir, name) && mr_ckpt_rmdir(dir, name) == 0;
}

/* Rename it first: half a checkpoint must not look like a whole one. */
static void remove_checkpoint(int dir, const char *dir_path, const char *name)
{
	char temp[MR_CKPT_NAME];

	mr_ckpt_temp_name("old", temp);
	if (mr_ckpt_rename(dir, name, temp))
		mr_log(MR_LOG_WARN, "checkpoint", "%s/%s cannot be removed: %s", dir_path, name, strerror(errno));
	else if (!mr_ckpt_discard(dir, temp))
		mr_log(MR_LOG_WARN, "checkpoint", "%s/%s, once %s, cannot be removed: %s", dir_path, temp, name,
		       strerror(errno));
}

void mr_ckpt_rotate(int dir, const char *dir_path, const mr_checkpoint_content *c, const char *newest)
{
	uint32_t keep = c->keep ? c->keep : 2, kept = 1;
	char best[MR_CKPT_NAME];
	mr_ckpt_entry *list;
	size_t n;

	mr_ckpt_read_link(dir, "BEST", best);
	if (mr_ckpt_list(dir, dir_path, &list, &n) != MR_OK) {
		mr_log(MR_LOG_WARN, "checkpoint", "old checkpoints remain: %s", mr_error_text());
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(list[i].name, newest) || !strcmp(list[i].name, best))
			continue;
		if (list[i].step < c->step && c->keep_every && list[i].step % c->keep_every == 0)
			continue;
		if (list[i].step < c->step && kept < keep)
			kept++;
		else
			remove_checkpoint(dir, dir_path, list[i].name);
	}
	free(list);
}

/* Is it the name of a temporary entry of a process that is gone, or of this one? */
static bool is_stale(const char *name)
{
	const char *nonce = strrchr(name, '-'), *pid = nonce;
	long owner;
	char *end;

	if (strncmp(name, TEMP, strlen(TEMP)) != 0 || !nonce)
		return false;
	while (pid > name && *--pid != '-')
		;
	owner = strtol(pid + 1, &end, 10);
	if (end != nonce || owner <= 0)
		return false;
	return owner == (long)getpid() || (kill((pid_t)owner, 0) && errno == ESRCH);
}

void mr_checkpoint_sweep(const char *dir_path)
{
	int dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = dir < 0 ? NULL : read_folder(dir);

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		if (!is_stale(e->d_name))
			continue;
		if (mr_ckpt_discard(dir, e->d_name))
			mr_log(MR_LOG_INFO, "checkpoint", "removed %s/%s", dir_path, e->d_name);
		else
			mr_log(MR_LOG_WARN, "checkpoint", "%s/%s cannot be removed: %s", dir_path, e->d_name,
			       strerror(errno));
	}
	if (d)
		closedir(d);
	if (dir >= 0)
		close(dir);
}

/* --- finding one --- */

static mr_status find(int dir, const char *dir_path, char name[MR_CKPT_NAME])
{
	char why[512] = "", tried[MR_CKPT_NAME];
	mr_ckpt_entry *list;
	mr_status st;
	size_t n;

	mr_ckpt_read_link(dir, "LATEST", name);
	if (name[0]) {
		st = mr_checkpoint_check(dir_path, name);
		if (st == MR_OK || st == MR_ERESOURCE) /* without memory an older one is no better */
			return st;
		snprintf(why, sizeof(why), "%s", mr_error_text());
		mr_log(MR_LOG_WARN, "checkpoint", "the latest checkpoint cannot be used: %s", why);
	}
	memcpy(tried, name, MR_CKPT_NAME);
	name[0] = '\0';
	MR_TRY(mr_ckpt_list(dir, dir_path, &list, &n));
	for (size_t i = 0; i < n && !name[0]; i++) {
		if (!strcmp(list[i].name, tried))
			continue;
		if (mr_checkpoint_check(dir_path, list[i].name) == MR_OK)
			memcpy(name, list[i].name, MR_CKPT_NAME);
		else if (!why[0])
			snprintf(why, sizeof(why), "%s", mr_error_text());
	}
	free(list);
	if (name[0]) {
		mr_log(MR_LOG_WARN, "checkpoint", "%s/LATEST names no usable checkpoint: taking %s", dir_path, name);
		return MR_OK;
	}
	if (why[0])
		return mr_fail(MR_ECKPT, "%s: no checkpoint can be used: %s", dir_path, why);
	return mr_fail(MR_ECKPT, "%s: there is no checkpoint%s", dir_path,
		       faccessat(dir, MR_CHECKPOINT_PARTS "0", F_OK, 0)
			       ? "" : ", but parts of some: millrace gather brings them together");
}

mr_status mr_checkpoint_latest(const char *dir_path, char **path)
{
	int dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[MR_CKPT_NAME];
	mr_strbuf b = {0};
	mr_status st;

	*path = NULL;
	if (dir < 0)
		return mr_fail(MR_ECKPT, "%s: there is no checkpoint: %s", dir_path, strerror(errno));
	st = find(dir, dir_path, name);
	close(dir);
	MR_TRY(st);
	mr_strbuf_printf(&b, "%s/%s", dir_path, name);
	*path = mr_strbuf_take(&b);
	return *path ? MR_OK : mr_fail(MR_ERESOURCE, "%s: no memory", dir_path);
}

mr_status mr_checkpoint_names(const char *dir_path, mr_checkpoint_name **list, size_t *n)
{
	int dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_ckpt_entry *entry = NULL;
	mr_status st;

	*list = NULL;
	*n = 0;
	if (dir < 0)
		return mr_fail(MR_ECKPT, "%s: there is no checkpoint: %s", dir_path, strerror(errno));
	st = mr_ckpt_list(dir, dir_path, &entry, n);
	close(dir);
	if (st == MR_OK && !(*list = calloc(*n + 1, sizeof(**list))))
		st = mr_fail(MR_ERESOURCE, "%s: no memory", dir_path);
	for (size_t i = 0; st == MR_OK && i < *n; i++) {
		memcpy((*list)[i].name, entry[i].name, sizeof(entry[i].name));
		(*list)[i].step = entry[i].step;
	}
	free(entry);
	return st;
}

mr_status mr_checkpoint_steps(const char *dir_path, uint64_t **step, size_t *n)
{
	mr_checkpoint_name *list;
	mr_status st;

	*step = NULL;
	MR_TRY(mr_checkpoint_names(dir_path, &list, n));
	*step = malloc((*n + 1) * sizeof(**step));
	st = *step ? MR_OK : mr_fail(MR_ERESOURCE, "%s: no memory", dir_path);
	for (size_t i = 0; st == MR_OK && i < *n; i++)
		(*step)[i] = list[i].step;
	free(list);
	return st;
}

void mr_checkpoint_remove(const char *dir_path, const char *name)
{
	int dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0) {
		remove_checkpoint(dir, dir_path, name);
		close(dir);
	}
}

/* --- the lock --- */

static mr_status refuse(const char *dir, int fd)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	long pid = n > 0 ? strtol(text, NULL, 10) : 0;

	if (pid > 0)
		return mr_fail(MR_ERESOURCE, "%s: process %ld is running there", dir, pid);
	return mr_fail(MR_ERESOURCE, "%s: another process is running there", dir);
}

/* Between opening and locking, its former holder may have removed the file, which then locks out no process. */
static bool was_removed(const char *path, int fd)
{
	struct stat named, held;

	return stat(path, &named) || fstat(fd, &held) || named.st_dev != held.st_dev || named.st_ino != held.st_ino;
}

mr_status mr_run_lock(const char *dir, int *lock)
{
	mr_status st = MR_OK;
	char path[4096], text[32];
	int n, fd;

	*lock = -1;
	if (snprintf(path, sizeof(path), "%s/LOCK", dir) >= (int)sizeof(path))
		return mr_fail(MR_EIO, "%s: the path is too long", dir);
	do {
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd < 0)
			return mr_crc_file_error(path, "cannot open", errno);
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			st = errno == EWOULDBLOCK ? refuse(dir, fd) : mr_crc_file_error(path, "cannot lock", errno);
			close(fd);
			return st;
		}
	} while (was_removed(path, fd) && close(fd) == 0);
	n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) != n)
		mr_log(MR_LOG_WARN, "checkpoint", "%s: cannot note the process: %s", path, strerror(errno));
	*lock = fd;
	return MR_OK;
}

void mr_run_lock_remove(const char *dir, int lock)
{
	static const char name[] = "/LOCK";
	char path[4096];
	size_t n = strlen(dir);

	if (lock < 0 || n + sizeof(name) > sizeof(path))
		return;
	memcpy(path, dir, n);
	memcpy(path + n, name, sizeof(name));
	unlink(path);
}

void mr_run_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}
