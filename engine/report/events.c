#include "report/events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/crc32c.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/str.h"

#define PREFIX "events.out.tfevents."
#define ALL_ROWS 1000
#define ROW_SECONDS 0.1

struct mr_events {
	int fd;
	char *path;
	uint64_t n_rows;
	double last_row; /* time of the last row that was kept */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- protobuf: field number and wire type, then the value --- */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(mr_strbuf *b, uint64_t x)
{
	char byte;

	for (; x >= 128; x >>= 7) {
		byte = (char)(x | 128);
		mr_strbuf_append_n(b, &byte, 1);
	}
	byte = (char)x;
	mr_strbuf_append_n(b, &byte, 1);
}

static void put_fixed(mr_strbuf *b, uint64_t bits, unsigned n)
{
	char bytes[8];

	for (unsigned i = 0; i < n; i++)
		bytes[i] = (char)(bits >> 8 * i);
	mr_strbuf_append_n(b, bytes, n);
}

static void put_key(mr_strbuf *b, unsigned field, unsigned type)
{
	put_varint(b, field << 3 | type);
}

static void put_count(mr_strbuf *b, unsigned field, uint64_t x)
{
	put_key(b, field, VARINT);
	put_varint(b, x);
}

static void put_bytes(mr_strbuf *b, unsigned field, const char *bytes, size_t len)
{
	put_key(b, field, BYTES);
	put_varint(b, len);
	mr_strbuf_append_n(b, bytes, len);
}

/* The message @inner, which is emptied. */
static void put_message(mr_strbuf *b, unsigned field, mr_strbuf *inner)
{
	put_bytes(b, field, mr_strbuf_text(inner), inner->len);
	b->failed = b->failed || inner->failed;
	mr_strbuf_reset(inner);
}

/* --- records --- */

static void put_crc(mr_strbuf *b, const char *data, size_t len)
{
	uint32_t crc = mr_crc32c(0, data, len);

	put_fixed(b, ((crc >> 15) | (crc << 17)) + 0xa282ead8u, 4);
}

static mr_status refused(const mr_events *e)
{
	mr_status code = mr_file_no_room(errno) ? MR_ERESOURCE : MR_EIO;

	return mr_fail(code, "%s: cannot write: %s", e->path, strerror(errno));
}

/* An Event of @step with what is in @body, which is emptied, as one record. */
static mr_status put_event(mr_events *e, uint64_t step, mr_strbuf *body)
{
	double time = now();
	mr_strbuf event = {0}, record = {0};
	mr_status st = MR_OK;
	uint64_t bits;

	memcpy(&bits, &time, sizeof(bits));
	put_key(&event, 1, FIXED64);
	put_fixed(&event, bits, 8);
	put_count(&event, 2, step);
	mr_strbuf_append_n(&event, mr_strbuf_text(body), body->len);
	put_fixed(&record, event.len, 8);
	put_crc(&record, mr_strbuf_text(&record), 8);
	mr_strbuf_append_n(&record, mr_strbuf_text(&event), event.len);
	put_crc(&record, mr_strbuf_text(&event), event.len);
	mr_activity_call("write", e->fd, "", record.len);
	mr_fault_slow("events.write");
	if (body->failed || event.failed || record.failed)
		st = mr_fail(MR_ERESOURCE, "%s: no memory for a record", e->path);
	else if (write(e->fd, record.data, record.len) != (ssize_t)record.len)
		st = refused(e);
	mr_activity_done();
	mr_strbuf_reset(body);
	mr_strbuf_fini(&event);
	mr_strbuf_fini(&record);
	return st;
}

/* A Summary of one Value, which is emptied, as an event. */
static mr_status put_value(mr_events *e, uint64_t step, mr_strbuf *value)
{
	mr_strbuf summary = {0}, event = {0};
	mr_status st;

	put_message(&summary, 1, value);
	put_message(&event, 5, &summary);
	st = put_event(e, step, &event);
	mr_strbuf_fini(&summary);
	mr_strbuf_fini(&event);
	return st;
}

/* --- files --- */

/* TensorBoard reads files in the order of their names, which begin with seconds: a second after any other file. */
static long seconds_after(const char *folder)
{
	long seconds = (long)time(NULL);
	DIR *d = opendir(folder);

	for (struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d))
		if (!strncmp(f->d_name, PREFIX, strlen(PREFIX))) {
			long other = strtol(f->d_name + strlen(PREFIX), NULL, 10);

			seconds = other >= seconds ? other + 1 : seconds;
		}
	if (d)
		closedir(d);
	return seconds;
}

/* The version of the format; and, of a run that goes on, the step from which earlier files no longer count. */
static mr_status put_begin(mr_events *e, uint64_t step)
{
	mr_strbuf body = {0}, log = {0};
	mr_status st;

	put_bytes(&body, 3, "brain.Event:2", 13);
	st = put_event(e, step, &body);
	if (st == MR_OK && step) {
		put_count(&log, 1, 1); /* SessionLog.START */
		put_message(&body, 7, &log);
		st = put_event(e, step + 1, &body);
	}
	mr_strbuf_fini(&body);
	mr_strbuf_fini(&log);
	return st;
}

mr_status mr_events_open(const char *folder, uint64_t step, mr_events **out)
{
	mr_events *e = calloc(1, sizeof(*e));
	char host[65] = "host";
	struct stat info = {0};
	mr_status st = MR_OK;

	gethostname(host, sizeof(host) - 1);
	if (mkdir(folder, 0777) && errno != EEXIST)
		st = mr_fail(MR_EIO, "cannot make the folder %s: %s", folder, strerror(errno));
	else if (lstat(folder, &info) || !S_ISDIR(info.st_mode)) /* a link would lead out of the run */
		st = mr_fail(MR_EIO, "%s: is %s, expected a folder", folder,
			     S_ISLNK(info.st_mode) ? "a link" : "a file");
	if (st == MR_OK &&
	    (!e || asprintf(&e->path, "%s/" PREFIX "%010ld.%s.%ld", folder, seconds_after(folder), host,
			    (long)getpid()) < 0))
		st = mr_fail(MR_ERESOURCE, "no memory to write events");
	if (st != MR_OK) {
		free(e);
		return st;
	}
	e->fd = open(e->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
	st = e->fd < 0 ? mr_fail(MR_EIO, "%s: cannot open: %s", e->path, strerror(errno)) : put_begin(e, step);
	if (st != MR_OK) {
		if (e->fd >= 0)
			close(e->fd);
		free(e->path);
		free(e);
		return st;
	}
	*out = e;
	return MR_OK;
}

mr_status mr_events_close(mr_events *e)
{
	mr_status st = MR_OK;

	if (!e)
		return MR_OK;
	if (close(e->fd))
		st = refused(e);
	free(e->path);
	free(e);
	return st;
}

/* --- what is written --- */

/* "val_loss" is validation/loss, "wait_data" wait/data, and all else train/...; evaluations of the training samples
 * are all_training_samples/... */
static void tag_of(mr_figure f, bool trains_only, char tag[64])
{
	const char *name = mr_figure_table[f].name, *rest = strchr(name, '_');
	bool evaluation = mr_figure_table[f].kind == MR_FIGURE_EVALUATION, waits = !strncmp(name, "wait_", 5);
	const char *group = waits         ? "wait"
			    : !evaluation ? "train"
			    : trains_only ? "all_training_samples"
					  : "validation";

	snprintf(tag, 64, "%s/%s", group, waits || evaluation ? rest + 1 : name);
}

mr_status mr_events_row(mr_events *e, const mr_figures *row)
{
	mr_strbuf value = {0}, summary = {0}, event = {0};
	double time = now();
	mr_status st;

	if (!e || (isnan(row->val_loss) && ++e->n_rows > ALL_ROWS && time - e->last_row < ROW_SECONDS))
		return MR_OK;
	e->last_row = time;
	for (int f = 0; f < MR_N_FIGURES; f++) {
		float x = (float)row->at[f];
		uint32_t bits;
		char tag[64];

		if (isnan(x))
			continue;
		tag_of((mr_figure)f, row->trains_only, tag);
		memcpy(&bits, &x, sizeof(bits));
		put_bytes(&value, 1, tag, strlen(tag));
		put_key(&value, 2, FIXED32);
		put_fixed(&value, bits, 4);
		put_message(&summary, 1, &value);
	}
	put_message(&event, 5, &summary);
	st = put_event(e, row->step, &event);
	mr_strbuf_fini(&value);
	mr_strbuf_fini(&summary);
	mr_strbuf_fini(&event);
	return st;
}

/* A tensor of one string, for the plug-in of that name. */
mr_status mr_events_text(mr_events *e, uint64_t step, const char *tag, const char *text)
{
	mr_strbuf value = {0}, inner = {0}, deeper = {0};
	mr_status st;

	if (!e)
		return MR_OK;
	put_bytes(&value, 1, tag, strlen(tag));
	put_count(&inner, 1, 7); /* DT_STRING */
	put_message(&inner, 2, &deeper); /* a shape without dimensions */
	put_bytes(&inner, 8, text, strlen(text));
	put_message(&value, 8, &inner);
	put_bytes(&deeper, 1, "text", 4);
	put_message(&inner, 1, &deeper);
	put_message(&value, 9, &inner);
	st = put_value(e, step, &value);
	mr_strbuf_fini(&value);
	mr_strbuf_fini(&inner);
	mr_strbuf_fini(&deeper);
	return st;
}

mr_status mr_events_picture(mr_events *e, uint64_t step, const char *tag, uint32_t width, uint32_t height,
			    const char *png, size_t len)
{
	mr_strbuf value = {0}, image = {0};
	mr_status st;

	if (!e)
		return MR_OK;
	put_bytes(&value, 1, tag, strlen(tag));
	put_count(&image, 1, height);
	put_count(&image, 2, width);
	put_count(&image, 3, 3); /* RGB */
	put_bytes(&image, 4, png, len);
	put_message(&value, 4, &image);
	st = put_value(e, step, &value);
	mr_strbuf_fini(&value);
	mr_strbuf_fini(&image);
	return st;
}
