/*
 * The power fails at any instant of a save. What is on the disk then is whatever was fsynced, and of the rest any part.
 *
 * The calls that make things durable or move names are caught on their way to the kernel (this program's own
 * definitions win over the C library's). In front of each one, and at the end, images of the folder are made of what a
 * disk may hold by then: of a folder the names of its last fsync, with any of the later changes; of a file the contents
 * of its last fsync, or without one nothing, half, zeros or all. Of each image the checkpoint that was announced last
 * must load.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/rng.h"
#include "check.h"
#include "ckpt_help.h"
#include "store/checkpoint_part.h"

#define MAX_FILES 64
#define MAX_NAMES 32
/* An instant; the first has nothing that was not fsynced, the second all names and no such contents. */
#define IMAGES 64

typedef struct entry {
	char name[MR_CKPT_NAME];
	ino_t ino;
} entry;

typedef struct names {
	entry at[MAX_NAMES];
	size_t n;
} names;

/* What an fsync has made durable: of a file its bytes, of a folder its names. @fd keeps the number from being given
 * away. */
typedef struct durable {
	ino_t ino;
	int fd;
	bool folder;
	names names;
	unsigned char *bytes;
	size_t len;
} durable;

static durable disk[MAX_FILES];
static size_t n_disk;
static char dir[512], image[512];
static int64_t announced; /* step of the checkpoint that must load; 0: nobody looks */
static uint64_t n_images, n_draws, n_fsyncs;
static bool spoil;      /* the disk does not hold what it was given */
static bool tells_late; /* a network file system whose first word of a failed write comes with close */

static uint32_t draw(uint32_t n)
{
	return mr_rng_u32(11, MR_RNG_TEST, 0, 0, n_draws++) % n;
}

static durable *on_disk(ino_t ino)
{
	for (size_t i = 0; i < n_disk; i++)
		if (disk[i].ino == ino)
			return &disk[i];
	return NULL;
}

static void list(int fd, names *out)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);

	out->n = 0;
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		struct stat st;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (out->n == MAX_NAMES || strlen(e->d_name) >= MR_CKPT_NAME)
			abort();
		strcpy(out->at[out->n].name, e->d_name);
		out->at[out->n++].ino = st.st_ino;
	}
	if (d)
		closedir(d);
}

/* All of the file behind @fd; the caller frees it. */
static unsigned char *contents(int fd, size_t *len)
{
	struct stat st;
	unsigned char *bytes;

	if (fstat(fd, &st) || !(bytes = malloc((size_t)st.st_size + 1)))
		abort();
	*len = (size_t)st.st_size;
	for (size_t n = 0; n < *len;) {
		char path[64];
		int own;
		ssize_t got;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* it may be open for writing alone */
		own = open(path, O_RDONLY | O_CLOEXEC);
		got = own < 0 ? -1 : pread(own, bytes + n, *len - n, (off_t)n);
		if (got <= 0)
			abort();
		close(own);
		n += (size_t)got;
	}
	return bytes;
}

static void remember(int fd)
{
	struct stat st;
	durable *d;

	if (fstat(fd, &st))
		abort();
	d = on_disk(st.st_ino);
	if (!d) {
		if (n_disk == MAX_FILES)
			abort();
		d = &disk[n_disk++];
		*d = (durable){.ino = st.st_ino, .fd = dup(fd), .folder = S_ISDIR(st.st_mode)};
	}
	if (d->folder) {
		list(fd, &d->names);
	} else {
		free(d->bytes);
		d->bytes = contents(fd, &d->len);
	}
}

static void forget_all(void)
{
	for (size_t i = 0; i < n_disk; i++) {
		close(disk[i].fd);
		free(disk[i].bytes);
	}
	n_disk = 0;
}

/* --- images --- */

static const entry *find(const names *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->at[i].name, name))
			return &l->at[i];
	return NULL;
}

/* Which names the disk may hold of a folder that has @now, by the @k-th image. */
static void choose_names(const names *then, const names *now, unsigned k, names *out)
{
	*out = (names){.n = 0};
	for (size_t i = 0; i < then->n; i++) {
		const entry *e = find(now, then->at[i].name);

		if (e && e->ino == then->at[i].ino)
			out->at[out->n++] = *e;
		else if (k == 0 || (k > 1 && draw(2)))
			out->at[out->n++] = then->at[i];
		else if (e)
			out->at[out->n++] = *e;
	}
	for (size_t i = 0; i < now->n; i++)
		if (!find(then, now->at[i].name) && (k == 1 || (k > 1 && draw(2))))
			out->at[out->n++] = now->at[i];
}

static void put_file(int from, int to, const entry *e, unsigned k)
{
	const durable *d = on_disk(e->ino);
	int fd = openat(to, e->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), now;
	unsigned char *bytes = NULL;
	size_t len = 0;

	if (fd < 0)
		abort();
	if (!d && k > 1 && (now = openat(from, e->name, O_RDONLY | O_CLOEXEC)) >= 0) {
		uint32_t how = draw(4);

		bytes = contents(now, &len);
		close(now);
		len = how == 0 ? 0 : how == 1 ? len / 2 : len;
		if (how == 2)
			memset(bytes, 0, len);
	}
	if (d ? write(fd, d->bytes, d->len) != (ssize_t)d->len : len && write(fd, bytes, len) != (ssize_t)len)
		abort();
	free(bytes);
	close(fd);
}

/* The folder behind @from, as the disk may hold it, into the empty one behind @to. */
static void put_folder(int from, int to, unsigned k)
{
	static const names none;
	struct stat st;
	durable *d;
	names now, chosen;

	if (fstat(from, &st))
		abort();
	d = on_disk(st.st_ino);
	list(from, &now);
	choose_names(d ? &d->names : &none, &now, k, &chosen);
	for (size_t i = 0; i < chosen.n; i++) {
		const entry *e = &chosen.at[i];
		const durable *known = on_disk(e->ino);
		int inner = openat(from, e->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), made;

		if (inner >= 0 && (fstat(inner, &st) || st.st_ino != e->ino)) {
			close(inner);
			inner = -1;
		}
		if (inner < 0 && known && known->folder)
			inner = openat(known->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* by another name now */
		if (inner < 0 && known && known->folder)
			inner = dup(known->fd); /* gone: what the disk has of it is the fsynced part */
		if (inner < 0) {
			put_file(from, to, e, k);
			continue;
		}
		if (mkdirat(to, e->name, 0777) || (made = openat(to, e->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
			abort();
		put_folder(inner, made, k);
		close(inner);
		close(made);
	}
}

static void check_image(unsigned k)
{
	int64_t must = announced, got;
	char best[MR_CKPT_NAME + 1] = "", path[1200];
	int from = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), to;
	ssize_t n;

	announced = 0;
	ckpt_help_folder(image);
	to = open(image, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_folder(from, to, k);
	close(from);
	from = openat(to, "BEST", O_RDONLY | O_CLOEXEC);
	n = from < 0 ? 0 : read(from, best, MR_CKPT_NAME);
	close(from);
	close(to);
	mr_checkpoint_sweep(image);
	got = ckpt_help_latest(image);
	if (got < must)
		printf("\n    image %u behind call %llu: found step %lld, announced was %lld\n", k,
		       (unsigned long long)n_fsyncs, (long long)got, (long long)must);
	CU_ASSERT(got >= must);
	best[n > 0 ? n - 1 : 0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", image, best);
	if (*best)
		CU_ASSERT(ckpt_help_check(path) >= 1);
	ckpt_help_remove(image);
	n_images++;
	announced = must;
}

/* The power fails here. */
static void cut(void)
{
	if (!announced)
		return;
	ckpt_help_quiet(true);
	for (unsigned k = 0; k < IMAGES; k++)
		check_image(k);
	ckpt_help_quiet(false);
}

/* --- the calls --- */

int fsync(int fd)
{
	struct stat st;
	int result;

	cut();
	result = (int)syscall(SYS_fsync, fd);
	if (announced && result == 0)
		remember(fd);
	n_fsyncs++;
	if (spoil && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 4096) {
		unsigned char byte = 0x55;

		CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, st.st_size - 1), 1);
	}
	return result;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	cut();
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int mkdirat(int at, const char *name, mode_t mode)
{
	cut();
	return (int)syscall(SYS_mkdirat, at, name, mode);
}

int unlinkat(int at, const char *name, int flags)
{
	cut();
	return (int)syscall(SYS_unlinkat, at, name, flags);
}

int close(int fd)
{
	struct stat st;
	bool fails =
		tells_late && !fstat(fd, &st) && S_ISREG(st.st_mode) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
	int result = (int)syscall(SYS_close, fd);

	if (!fails)
		return result;
	errno = EIO;
	return -1;
}

/* --- tests --- */

static void remember_all(void)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	names outer, inner;

	list(fd, &outer);
	remember(fd);
	for (size_t i = 0; i < outer.n; i++) {
		int f = openat(fd, outer.at[i].name, O_RDONLY | O_CLOEXEC);

		remember(f);
		if (!on_disk(outer.at[i].ino)->folder) {
			close(f);
			continue;
		}
		list(f, &inner);
		for (size_t k = 0; k < inner.n; k++) {
			int g = openat(f, inner.at[k].name, O_RDONLY | O_CLOEXEC);

			remember(g);
			close(g);
		}
		close(f);
	}
	close(fd);
}

/* Two checkpoints are there, the first the best one; then @step is saved, and with it both are deleted. */
static void cut_everywhere(uint64_t step)
{
	ckpt_help_folder(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 1, true, 0, 0, NULL));
	MR_CHECK_OK(ckpt_help_save(dir, 2, false, 0, 0, NULL));
	n_images = n_fsyncs = 0;
	remember_all();
	announced = 2;
	MR_CHECK_OK(ckpt_help_save(dir, step, true, 1, 0, NULL));
	announced = (int64_t)step;
	cut();
	announced = 0;
	CU_ASSERT(n_images > 20 * IMAGES);
	CU_ASSERT_EQUAL(n_fsyncs, 9); /* three files, their folder, the folder above; LATEST, BEST and the folder, each
	                                 */
	forget_all();
	ckpt_help_remove(dir);
}

static void test_power_cuts(void)
{
	cut_everywhere(3);
}

static void test_power_cuts_over_the_same_step(void)
{
	cut_everywhere(2);
}

/* What the disk gives back is not what was written: that is no checkpoint, and the old ones stay. */
static void test_a_disk_that_spoils(void)
{
	ckpt_help_folder(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 1, true, 0, 0, NULL));
	spoil = true;
	ckpt_help_quiet(true);
	MR_CHECK_FAIL(ckpt_help_save(dir, 2, false, 1, 0, NULL), MR_ECKPT, "damaged between bytes");
	ckpt_help_quiet(false);
	spoil = false;
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 1);
	CU_ASSERT_EQUAL(ckpt_help_count(dir, "step-"), 1);
	CU_ASSERT_EQUAL(ckpt_help_count(dir, ".tmp-"), 0);
	ckpt_help_remove(dir);
}

static void test_a_disk_that_tells_late(void)
{
	ckpt_help_folder(dir);
	MR_CHECK_OK(ckpt_help_save(dir, 1, true, 0, 0, NULL));
	tells_late = true;
	MR_CHECK_FAIL(ckpt_help_save(dir, 2, false, 1, 0, NULL), MR_EIO, "close");
	tells_late = false;
	CU_ASSERT_EQUAL(ckpt_help_latest(dir), 1);
	CU_ASSERT_EQUAL(ckpt_help_count(dir, ".tmp-"), 0);
	ckpt_help_remove(dir);
}

void mr_suite_power_cut(void); /* the runner declares it too */

void mr_suite_power_cut(void)
{
	MR_SUITE("power_cut");
	MR_TEST(test_power_cuts);
	MR_TEST(test_power_cuts_over_the_same_step);
	MR_TEST(test_a_disk_that_spoils);
	MR_TEST(test_a_disk_that_tells_late);
}
