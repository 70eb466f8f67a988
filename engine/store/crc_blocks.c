#include "store/crc_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/crc32c.h"
#include "base/fault.h"
#include "base/mapping.h"
#include "base/size.h"
#include "store/ckpt_os.h"

#define ALIGN MR_CRC_PAGE               /* of addresses, offsets and lengths past the page cache */
#define STRETCH_BLOCKS 4u
#define STRETCH (STRETCH_BLOCKS * MR_CRC_BLOCK)
#define THREAD_STRETCHES 4u             /* fewer are not worth a thread's start */
#define MOST_THREADS 4u                 /* they are to keep a disk busy */

typedef struct job job;

struct job {
	mr_status (*handle)(job *j, uint8_t *room, uint64_t at, size_t bytes); /* one stretch */
	const char *name;
	int fd;
	int direct;                 /* the same file past the page cache; -1: there is no such way */
	uint64_t size;
	const mr_crc_piece *piece;  /* to write: what the file consists of */
	uint32_t zero;              /* to write with holes: the checksum of a whole block of zeros */
	uint32_t *found;            /* to write: the checksums */
	const uint32_t *expected;   /* to compare */
	_Atomic uint64_t next;      /* the first byte that no thread has taken */
	_Atomic bool failed;
	pthread_mutex_t lock;       /* guards what follows */
	uint64_t failed_at;
	mr_status status;
	char text[512];
};

static bool aligned(const void *data, uint64_t offset)
{
	return (uintptr_t)data % ALIGN == 0 && offset % ALIGN == 0;
}

/* --- writing --- */

/* Bytes [@at, @at + @bytes) of the pieces: where they lie, or copied to @room. */
static const uint8_t *gather(const mr_crc_piece *p, uint8_t *room, uint64_t at, size_t bytes)
{
	size_t done = 0;

	for (; at >= p->bytes; p++)
		at -= p->bytes;
	if (p->bytes - at >= bytes && (uintptr_t)((const uint8_t *)p->data + at) % ALIGN == 0)
		return (const uint8_t *)p->data + at;
	for (; done < bytes; p++, at = 0) {
		size_t n = p->bytes - at < bytes - done ? (size_t)(p->bytes - at) : bytes - done;

		if (n)
			memcpy(room + done, (const uint8_t *)p->data + at, n);
		done += n;
	}
	return room;
}

/* @bytes of @p from its byte @at on, to @to. */
static mr_status read_piece(const job *j, const mr_crc_piece *p, uint64_t at, uint8_t *to, size_t bytes)
{
	while (bytes) {
		ssize_t got = pread(p->fd, to, bytes, (off_t)(p->from + at));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? mr_crc_file_error(j->name, "cannot read a part", errno)
				       : mr_fail(MR_EIO, "%s: a part ends too early", j->name);
		to += got;
		at += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return MR_OK;
}

/* The last bytes of a file, less than a page, go through the page cache; and all, where nothing else is allowed. */
static mr_status put(const job *j, const uint8_t *data, size_t len, uint64_t offset)
{
	bool refused = j->direct < 0;

	while (len) {
		bool direct = !refused && len >= ALIGN && aligned(data, offset);
		size_t n = direct ? len / ALIGN * ALIGN : len;
		ssize_t done = mr_ckpt_write(direct ? j->direct : j->fd, data, n, offset);

		if (done < 0 && direct && errno == EINVAL) {
			refused = true;
			continue;
		}
		if (done <= 0)
			return mr_crc_file_error(j->name, "cannot write", done < 0 ? errno : ENOSPC);
		data += done;
		offset += (uint64_t)done;
		len -= (size_t)done;
	}
	return MR_OK;
}

/* Bytes [@at, @at + @bytes) of the pieces to @room, zeros for holes, and what is no hole to the file; *@some: that is
 * something. Two passes: checksums are of all of them. @write: the second. */
static mr_status go_through(const job *j, uint8_t *room, uint64_t at, size_t bytes, bool write, bool *some)
{
	const mr_crc_piece *p = j->piece;
	uint64_t in = at;
	size_t done = 0, run = 0; /* [done - run, done): no hole, and not written yet */

	for (; in >= p->bytes; p++)
		in -= p->bytes;
	for (; done < bytes; p++, in = 0) {
		size_t n = p->bytes - in < bytes - done ? (size_t)(p->bytes - in) : bytes - done;
		bool hole = !p->data && !p->fd;

		if (write && hole && run)
			MR_TRY(put(j, room + done - run, run, at + done - run));
		if (!write && hole && n)
			memset(room + done, 0, n);
		else if (!write && p->data && n)
			memcpy(room + done, (const uint8_t *)p->data + in, n);
		else if (!write && n)
			MR_TRY(read_piece(j, p, in, room + done, n));
		*some |= !hole && n;
		run = hole ? 0 : run + n;
		done += n;
	}
	return write && run ? put(j, room + done - run, run, at + done - run) : MR_OK;
}

static mr_status put_some(job *j, uint8_t *room, uint64_t at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += MR_CRC_BLOCK) {
		size_t n = bytes - i < MR_CRC_BLOCK ? bytes - i : MR_CRC_BLOCK;
		bool some = false;

		MR_TRY(go_through(j, room, at + i, n, false, &some));
		j->found[(at + i) / MR_CRC_BLOCK] =
			some || n < MR_CRC_BLOCK ? mr_crc32c(0, room, n) : j->zero;
		if (some)
			MR_TRY(go_through(j, room, at + i, n, true, &some));
	}
	return MR_OK;
}

static mr_status put_stretch(job *j, uint8_t *room, uint64_t at, size_t bytes)
{
	const uint8_t *data = gather(j->piece, room, at, bytes);

	mr_crc32c_blocks(data, bytes, MR_CRC_BLOCK, &j->found[at / MR_CRC_BLOCK]);
	return put(j, data, bytes, at);
}

/* --- comparing --- */

/* Read through the page cache from now on, as another thread may have decided already. */
static bool give_up_direct(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (!(flags & O_DIRECT) || !fcntl(fd, F_SETFL, flags & ~O_DIRECT));
}

/* Read @bytes bytes at @offset to @room, which holds as many in whole pages, since past the page cache there are no
 * others; fewer only at the end of the file. -1: errno. */
static ssize_t get(int fd, uint8_t *room, size_t bytes, uint64_t offset)
{
	size_t n = 0, whole = (size_t)mr_align_up(bytes, ALIGN);
	bool refused = false;

	while (n < bytes) {
		ssize_t got;

		mr_activity_call("read", fd, "", whole - n);
		mr_fault_slow("checkpoint.read");
		got = pread(fd, room + n, whole - n, (off_t)(offset + n));
		mr_activity_done();

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EINVAL && !refused && give_up_direct(fd)) {
			refused = true;
			continue;
		}
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)(n < bytes ? n : bytes);
}

static mr_status compare_stretch(job *j, uint8_t *room, uint64_t at, size_t bytes)
{
	ssize_t got = get(j->fd, room, bytes, at);
	uint32_t crc[STRETCH_BLOCKS];

	if (got < 0)
		return mr_crc_file_error(j->name, "cannot read", errno);
	if ((size_t)got < bytes)
		return mr_fail(MR_ECKPT, "%s: ends at byte %llu, expected %llu bytes", j->name,
			       (unsigned long long)(at + (uint64_t)got), (unsigned long long)j->size);
	mr_crc32c_blocks(room, bytes, MR_CRC_BLOCK, crc);
	for (size_t i = 0; i * MR_CRC_BLOCK < bytes; i++) {
		uint64_t from = at + i * MR_CRC_BLOCK;
		uint64_t end = from + MR_CRC_BLOCK < j->size ? from + MR_CRC_BLOCK : j->size;
		uint32_t expected = j->expected[from / MR_CRC_BLOCK];

		if (crc[i] != expected)
			return mr_fail(MR_ECKPT, "%s: damaged between bytes %llu and %llu: CRC32C %08x, expected %08x",
				       j->name, (unsigned long long)from, (unsigned long long)end, crc[i], expected);
	}
	return MR_OK;
}

/* --- threads --- */

/* Stretches are taken in ascending order and finished once they are taken: so the lowest failure is always found. */
static void note_failure(job *j, uint64_t at, mr_status st)
{
	pthread_mutex_lock(&j->lock);
	if (j->status == MR_OK || at < j->failed_at) {
		j->failed_at = at;
		j->status = st;
		snprintf(j->text, sizeof(j->text), "%s", mr_error_text());
	}
	pthread_mutex_unlock(&j->lock);
	atomic_store_explicit(&j->failed, true, memory_order_relaxed);
}

static void *take_stretches(void *arg)
{
	job *j = arg;
	uint64_t whole = mr_align_up(j->size, ALIGN);
	size_t bytes = whole < STRETCH ? (size_t)whole : STRETCH;
	uint8_t *room = mr_mapping_take(bytes);

	if (!room)
		note_failure(j, 0, mr_crc_file_error(j->name, "a buffer", ENOMEM));
	while (room && !atomic_load_explicit(&j->failed, memory_order_relaxed)) {
		uint64_t at = atomic_fetch_add_explicit(&j->next, STRETCH, memory_order_relaxed);
		mr_status st;

		if (at >= j->size)
			break;
		st = j->handle(j, room, at, j->size - at < STRETCH ? (size_t)(j->size - at) : STRETCH);
		if (st != MR_OK)
			note_failure(j, at, st);
	}
	mr_mapping_give(room, bytes);
	return NULL;
}

static uint32_t threads_for(uint64_t bytes, uint32_t most)
{
	uint64_t n = bytes / (THREAD_STRETCHES * STRETCH);

	n = n < most ? n : most;
	n = n < MOST_THREADS ? n : MOST_THREADS;
	return n ? (uint32_t)n : 1;
}

uint64_t mr_crc_blocks_room(uint64_t bytes, uint32_t n_threads)
{
	return bytes < STRETCH ? bytes : (uint64_t)threads_for(bytes, n_threads) * STRETCH;
}

static mr_status carry_out(job *j, uint32_t most)
{
	uint32_t n = threads_for(j->size, most);
	pthread_t thread[MOST_THREADS];
	uint32_t started = 0;
	sigset_t all, before;

	pthread_mutex_init(&j->lock, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (started + 1 < n && !pthread_create(&thread[started], NULL, take_stretches, j))
		started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	take_stretches(j); /* this thread is one of them, and all where none could be started */
	for (uint32_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	pthread_mutex_destroy(&j->lock);
	return j->status == MR_OK ? MR_OK : mr_fail(j->status, "%s", j->text);
}

/* --- a file --- */

/* The checksum of @bytes zeros, at most a block of them. */
static uint32_t crc_of_zeros(size_t bytes)
{
	static const uint8_t zeros[ALIGN];
	uint32_t crc = 0;

	for (size_t at = 0; at < bytes; at += sizeof(zeros))
		crc = mr_crc32c(crc, zeros, bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros));
	return crc;
}

void mr_crc_blocks_add(uint32_t *crc, const uint32_t *other, size_t n, uint64_t bytes)
{
	uint32_t whole = crc_of_zeros(MR_CRC_BLOCK);

	for (size_t i = 0; i < n; i++) {
		uint64_t left = bytes - i * MR_CRC_BLOCK;

		crc[i] ^= other[i] ^ (left < MR_CRC_BLOCK ? crc_of_zeros((size_t)left) : whole);
	}
}

mr_status mr_crc_blocks_write(mr_crc_file *f, const mr_crc_piece *piece, size_t n)
{
	job j = {.handle = put_stretch, .name = f->name, .fd = f->fd, .direct = -1, .piece = piece};

	for (size_t i = 0; i < n; i++) {
		j.size += piece[i].bytes;
		if (!piece[i].data && piece[i].bytes && j.handle != put_some) {
			j.handle = put_some;
			j.zero = crc_of_zeros(MR_CRC_BLOCK);
		}
	}
	f->n_crcs = mr_crc_blocks_of(j.size);
	f->crcs = j.found = malloc((f->n_crcs + 1) * sizeof(*f->crcs));
	if (!f->crcs)
		return mr_crc_file_error(f->name, "list of checksums", ENOMEM);
	f->cap_crcs = f->n_crcs;
	f->size = j.size;
	if (f->n_crcs > 1)
		j.direct = f->direct;
	/* Threads that write behind the end of a file would wait for each other. */
	if (f->n_crcs > 1 && mr_ckpt_allocate(f->fd, j.size) && errno != EOPNOTSUPP && errno != ENOSYS)
		return mr_crc_file_error(f->name, "cannot write", errno);
	return carry_out(&j, f->n_threads);
}

mr_status mr_crc_blocks_verify(int fd, const char *name, uint64_t size, const uint32_t *crcs, uint32_t n_threads)
{
	job j = {.handle = compare_stretch, .name = name, .fd = fd, .direct = -1, .size = size, .expected = crcs};

	return carry_out(&j, n_threads);
}
