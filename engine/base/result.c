#include "base/result.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/inputs.h"
#include "base/str.h"

#define MAX_TEMPS 100     /* names tried for a temporary file: crashes may have left some behind */
#define MAX_LINKS 40      /* as the system has it */
#define PIPE_WAIT_MS 2000 /* for a program that opens a pipe's other end at the same time as this one */
#define PIPE_POLL_MS 10

/* --- what a name leads to --- */

typedef struct place {
	char path[PATH_MAX]; /* behind all links */
	int fd;              /* the number of an open file (/dev/stdout); -1: it is none */
	bool is_new;         /* there is no file of that name yet */
	struct stat info;    /* unless it is new */
} place;

/* The number in /dev/fd/N or /proc/self/fd/N; -1: @path is no such name. */
static int open_file_of(const char *path)
{
	static const char *const folder[] = {"/dev/fd/", "/proc/self/fd/"};

	for (size_t i = 0; i < sizeof(folder) / sizeof(folder[0]); i++) {
		size_t n = strlen(folder[i]);
		char *end;
		long fd;

		if (strncmp(path, folder[i], n) != 0 || path[n] < '0' || path[n] > '9')
			continue;
		fd = strtol(path + n, &end, 10);
		return *end || fd > INT_MAX ? -1 : (int)fd;
	}
	return -1;
}

/* Follow the last part of the path from link to link, also to a file that is not there yet. */
static mr_status find_place(const char *path, place *out)
{
	char link[PATH_MAX], *slash;

	out->fd = -1;
	out->is_new = false;
	if (snprintf(out->path, sizeof(out->path), "%s", path) >= (int)sizeof(out->path))
		return mr_fail(MR_EIO, "%s: %s", path, strerror(ENAMETOOLONG));
	for (int i = 0; i < MAX_LINKS; i++) {
		ssize_t n;

		out->fd = open_file_of(out->path);
		if (out->fd >= 0)
			return fstat(out->fd, &out->info)
				       ? mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno)) : MR_OK;
		n = readlink(out->path, link, sizeof(link) - 1);
		if (n < 0) { /* no link */
			out->is_new = lstat(out->path, &out->info) != 0;
			return !out->is_new || errno == ENOENT ? MR_OK
				       : mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
		}
		link[n] = '\0';
		slash = *link == '/' ? NULL : strrchr(out->path, '/');
		if ((slash ? slash - out->path + 1 : 0) + n >= (ssize_t)sizeof(out->path))
			return mr_fail(MR_EIO, "%s: %s", path, strerror(ENAMETOOLONG));
		strcpy(slash ? slash + 1 : out->path, link);
	}
	return mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(ELOOP));
}

static bool is_stream(const place *p)
{
	return p->fd >= 0 || (!p->is_new && (S_ISFIFO(p->info.st_mode) || S_ISCHR(p->info.st_mode)));
}

static mr_status is_input(const char *path)
{
	return mr_fail(MR_EUSAGE, "%s: is read by this command and is left as it is: name another file", path);
}

static mr_status judge(const char *path, const place *p, mr_result_kind kind)
{
	const char *what = p->is_new ? NULL : mr_file_kind(p->info.st_mode);

	if (what && (kind != MR_RESULT_NAMED || !is_stream(p)))
		return mr_fail(MR_EIO, "%s: cannot write: is %s, expected a file", path, what);
	if (kind == MR_RESULT_NAMED && !p->is_new && S_ISREG(p->info.st_mode) && mr_inputs_has(&p->info))
		return is_input(path);
	return MR_OK;
}

/* --- opening --- */

/* A pipe is opened once something reads it: the reader may start at the same time as this program. */
static int open_stream(const place *p)
{
	int fd, waited = 0;

	if (p->fd >= 0)
		return fcntl(p->fd, F_DUPFD_CLOEXEC, 3);
	while ((fd = open(p->path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) < 0 && errno == ENXIO &&
	       S_ISFIFO(p->info.st_mode) && waited < PIPE_WAIT_MS) {
		poll(NULL, 0, PIPE_POLL_MS);
		waited += PIPE_POLL_MS;
	}
	if (fd >= 0) /* from now on a slow reader is waited for */
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

/*
 * Create a temporary file beside @target under a name that does not exist yet. An existing file or link of that name is
 * neither followed nor written to. Returns < 0 with errno, and the last name tried.
 */
static int create_temp(const char *target, mr_strbuf *temp)
{
	int fd = -1;

	for (unsigned i = 0; fd < 0 && i < MAX_TEMPS; i++) {
		mr_strbuf_reset(temp);
		mr_strbuf_printf(temp, "%s.tmp%ld-%u", target, (long)getpid(), i);
		if (temp->failed) {
			errno = ENOMEM;
			return -1;
		}
		fd = open(temp->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

/* The program's own files are what a run needs room for; that of a user's result is the user's. */
static mr_status code_of(mr_result_kind kind, int error)
{
	return kind != MR_RESULT_NAMED && mr_file_no_room(error) ? MR_ERESOURCE : MR_EIO;
}

static mr_status cannot_create(const char *path, mr_result_kind kind, const char *temp, int error)
{
	if (error == ENOENT || error == ENOTDIR) /* the folder, of which the user knows */
		return mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(error));
	return mr_fail(code_of(kind, error), "%s: cannot write: cannot create %s: %s", path, temp, strerror(error));
}

/* @error: 0: the reason is not known */
static mr_status cannot(const mr_result *r, const char *what, int error)
{
	return mr_fail(code_of(r->kind, error), "%s: cannot %s%s%s", r->path, what, error ? ": " : "",
		       error ? strerror(error) : "");
}

static void free_names(mr_result *r)
{
	free(r->path);
	free(r->target);
	free(r->temp);
	*r = (mr_result){0};
}

static mr_status open_temp(mr_result *r, const place *p, int *fd)
{
	mr_strbuf temp = {0};
	mr_status st = MR_OK;

	*fd = create_temp(p->path, &temp);
	if (*fd < 0)
		st = cannot_create(r->path, r->kind, mr_strbuf_text(&temp), errno);
	/* Who may read the old file, may read the new one, and nobody else. */
	if (st == MR_OK && !p->is_new && fchmod(*fd, p->info.st_mode & 0777))
		st = mr_fail(MR_EIO, "%s: cannot set permissions: %s", r->path, strerror(errno));
	if (st == MR_OK && (!(r->target = strdup(p->path)) || !(r->temp = strdup(temp.data))))
		st = mr_fail(MR_ERESOURCE, "%s: no memory for a file name", r->path);
	if (st != MR_OK && *fd >= 0) {
		unlink(temp.data);
		close(*fd);
	}
	mr_strbuf_fini(&temp);
	return st;
}

mr_status mr_result_begin(mr_result *r, const char *path, mr_result_kind kind)
{
	place p;
	mr_status st;
	int fd = -1;

	*r = (mr_result){.path = strdup(path), .kind = kind};
	st = r->path ? find_place(path, &p) : mr_fail(MR_ERESOURCE, "%s: no memory for a file name", path);
	if (st == MR_OK)
		st = judge(path, &p, kind);
	if (st == MR_OK && is_stream(&p)) {
		fd = open_stream(&p);
		if (fd < 0)
			st = mr_fail(MR_EIO, "%s: cannot write: %s", path,
				     errno == ENXIO ? "it is a pipe that nothing reads" : strerror(errno));
	} else if (st == MR_OK) {
		st = open_temp(r, &p, &fd);
	}
	if (st == MR_OK && !(r->file = fdopen(fd, "w"))) {
		st = mr_fail(MR_ERESOURCE, "%s: no memory for a file", path);
		if (r->temp)
			unlink(r->temp);
		close(fd);
	}
	if (st != MR_OK)
		free_names(r);
	return st;
}

mr_status mr_result_check(const char *path)
{
	mr_strbuf temp = {0};
	mr_status st;
	place p;
	int fd;

	MR_TRY(find_place(path, &p));
	MR_TRY(judge(path, &p, MR_RESULT_NAMED));
	if (is_stream(&p))
		return p.fd >= 0 || !access(p.path, W_OK)
			       ? MR_OK : mr_fail(MR_EIO, "%s: cannot write: %s", path, strerror(errno));
	fd = create_temp(p.path, &temp);
	st = fd < 0 ? cannot_create(path, MR_RESULT_NAMED, mr_strbuf_text(&temp), errno) : MR_OK;
	if (fd >= 0) {
		close(fd);
		unlink(temp.data);
	}
	mr_strbuf_fini(&temp);
	return st;
}

/* --- writing --- */

mr_status mr_result_put(mr_result *r, const void *data, size_t len)
{
	return fwrite(data, 1, len, r->file) == len ? MR_OK : cannot(r, "write", errno);
}

bool mr_result_is_stream(const mr_result *r)
{
	return !r->temp;
}

/* Why an earlier write failed, of which the stream keeps no more than that it did. A temporary file is asked again with
 * a byte behind its end, since it will be removed. Returns an errno, or 0: not known. */
static int reason_of(const mr_result *r)
{
	int fd = fileno(r->file);

	return r->temp && lseek(fd, 0, SEEK_END) >= 0 && write(fd, "", 1) < 0 ? errno : 0;
}

/* Write, fsync, close and rename. Returns the first call that failed, with errno in *@error; NULL: none did. */
static const char *finish(mr_result *r, int *error)
{
	const char *what = NULL;

	errno = 0;
	if (fflush(r->file) || ferror(r->file))
		what = "write";
	else if (r->temp && r->kind != MR_RESULT_UNSYNCED && fsync(fileno(r->file)))
		what = "fsync";
	*error = what && !errno ? reason_of(r) : errno;
	if (fclose(r->file) && !what) {
		what = "close";
		*error = errno;
	}
	if (!what && r->temp && rename(r->temp, r->target)) {
		what = "rename";
		*error = errno;
	}
	return what;
}

static mr_status sync_folder(const mr_result *r)
{
	char *slash = strrchr(r->target, '/');

	if (slash)
		slash[slash == r->target] = '\0';
	return mr_file_sync_dir(slash ? r->target : ".");
}

/* Does @st, of what wrote the file, say which file failed? Most writers know of a stream alone. */
static bool names_file(const mr_result *r, mr_status st)
{
	return st != MR_EIO || !ferror(r->file) || !strncmp(mr_error_text(), r->path, strlen(r->path));
}

mr_status mr_result_end(mr_result *r, mr_status st)
{
	const char *what = NULL;
	struct stat now;
	int error = 0;

	if (!names_file(r, st)) /* finishing does, and why where it is known */
		st = MR_OK;
	/* Some inputs are read after the result was begun. */
	if (st == MR_OK && r->temp && r->kind == MR_RESULT_NAMED && !lstat(r->target, &now) && mr_inputs_has(&now))
		st = is_input(r->path);
	if (st == MR_OK)
		what = finish(r, &error);
	else
		fclose(r->file);
	if (what)
		st = cannot(r, what, error);
	if (st != MR_OK && r->temp)
		unlink(r->temp);
	else if (st == MR_OK && r->temp && r->kind != MR_RESULT_UNSYNCED)
		st = sync_folder(r);
	free_names(r);
	return st;
}

mr_status mr_result_write(const char *path, const void *data, size_t len, mr_result_kind kind)
{
	mr_result r;
	mr_status st;

	MR_TRY(mr_result_begin(&r, path, kind));
	st = mr_result_put(&r, data, len);
	return mr_result_end(&r, st);
}

mr_status mr_result_make(const char *folder, const char *name, mr_result_kind kind,
			 mr_status (*put)(const void *arg, FILE *out), const void *arg)
{
	char *path = mr_path_join(folder, name);
	mr_result r;
	mr_status st = path ? mr_result_begin(&r, path, kind) : mr_fail(MR_ERESOURCE, "no memory for a path");

	if (st == MR_OK)
		st = mr_result_end(&r, put(arg, r.file));
	free(path);
	return st;
}
