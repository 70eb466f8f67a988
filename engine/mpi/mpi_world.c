#include "mpi/mpi_world.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/clock.h"
#include "host/futex.h"
#include "host/launch_file.h"
#include "host/launched.h"
#include "mpi/mpi_times.h"

mr_mpi_world mr_mpi = {.lock = PTHREAD_MUTEX_INITIALIZER, .lost = UINT32_MAX};

/* What the thread of the library needs for its signs of life. */
static struct {
	MPI_Request *in;   /* [n] */
	MPI_Request *out;  /* [n] */
	uint64_t *silent_ns; /* [n] since a rank was heard of, as far as this one looked */
	uint64_t looked_ns;  /* when it last did */
	uint64_t sent_ns;
	char in_byte, out_byte;
} beats;

enum { ALIVE, MISSED }; /* tags of signs of life: the second says that its sender ends since it misses the receiver */

static struct {
	mr_note *note;     /* [n] the next of each rank */
	MPI_Request *in;   /* [n] */
	bool *is_there;    /* [n] it has come, and nobody has taken it */
} notes;

mr_status mr_mpi_check(int code, const char *what)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int n;

	if (code == MPI_SUCCESS)
		return MR_OK;
	MPI_Error_string(code, text, &n);
	return mr_fail(MR_EIO, "%s: %s", what, text);
}

/* A rank is lost: its name and host. */
static mr_status gone(void)
{
	mr_status st = mr_mpi.ranks ? mr_ranks_check(mr_mpi.ranks) : MR_OK;

	return st == MR_OK ? mr_fail(MR_ESTALLED, "a rank is gone") : st;
}

static void lock(void)
{
	pthread_mutex_lock(&mr_mpi.lock);
	mr_mpi_look_back();
}

static void unlock(void)
{
	pthread_mutex_unlock(&mr_mpi.lock);
}

/* --- signs of life --- */

static void lose(uint32_t rank)
{
	uint32_t none = UINT32_MAX;

	atomic_compare_exchange_strong(&mr_mpi.lost, &none, rank);
}

void mr_mpi_heard(uint32_t rank)
{
	beats.silent_ns[rank] = 0;
}

static int expect_beat(int rank)
{
	return MPI_Irecv(&beats.in_byte, 1, MPI_CHAR, rank, MPI_ANY_TAG, mr_mpi.beats, &beats.in[rank]);
}

/* This rank was stopped for so long that another has ended, and has said so: what remains is to end without a word. The
 * launcher, which has let it go on for that, would kill it two seconds later. */
static _Noreturn void end_missed(void)
{
	int code = mr_status_exit_code(MR_ESTALLED);

	if (!mr_mpi.self)
		mr_launch_end(code);
	_exit(code);
}

/* With the lock, @ns after the last look. Returns whether one was there. */
static bool hear_beat(int rank, uint64_t ns)
{
	MPI_Status status;
	int there = 0;

	if (MPI_Test(&beats.in[rank], &there, &status) != MPI_SUCCESS) {
		lose((uint32_t)rank);
		return false;
	}
	if (!there) {
		beats.silent_ns[rank] += ns;
		if (beats.silent_ns[rank] > MR_MPI_LOST_NS)
			lose((uint32_t)rank);
		return false;
	}
	if (status.MPI_TAG == MISSED)
		end_missed();
	mr_mpi_heard((uint32_t)rank);
	if (expect_beat(rank) == MPI_SUCCESS)
		return true;
	lose((uint32_t)rank);
	return false;
}

/* Where this process was stopped, others may have ended: what they said of it is read first, as Open MPI, once it finds
 * their connections closed, waits in a call for a launcher that waits for this process. */
void mr_mpi_look_back(void)
{
	enum { LOOKS = 8 }; /* each reads a part of what has come */
	static uint64_t last_ns;
	uint64_t now = mr_clock_ns(), ns = now - last_ns;

	last_ns = now;
	for (int i = 0; ns > MR_MPI_STOPPED_NS && beats.in && i < LOOKS * mr_mpi.n; i++)
		while (i % mr_mpi.n != mr_mpi.self && hear_beat(i % mr_mpi.n, 0))
			;
}

/* With the lock. One that has not left yet is not followed by another. */
static void send_beat(int rank)
{
	int done = 1;

	if (beats.out[rank] != MPI_REQUEST_NULL &&
	    MPI_Test(&beats.out[rank], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		lose((uint32_t)rank);
	if (done && MPI_Isend(&beats.out_byte, 1, MPI_CHAR, rank, ALIVE, mr_mpi.beats, &beats.out[rank]) != MPI_SUCCESS)
		lose((uint32_t)rank);
}

/* With the lock. Where this thread seldom gets a core, or the machine slept, it has not looked meanwhile, and others
 * had no core either: such a time counts as MR_MPI_LOOK_NS. */
static void beat(void)
{
	uint64_t now = mr_clock_ns(), ns = now - beats.looked_ns;
	bool due = now - beats.sent_ns >= MR_MPI_BEAT_NS;

	ns = ns < MR_MPI_LOOK_NS ? ns : MR_MPI_LOOK_NS;
	beats.looked_ns = now;

	for (int i = 0; i < mr_mpi.n; i++) {
		if (i == mr_mpi.self)
			continue;
		if (due)
			send_beat(i);
		hear_beat(i, ns);
	}
	if (due)
		beats.sent_ns = now;
}

/* Until something may be to do: a worker that falls asleep looks at the napper behind that (host/pause.h). */
static void nap(void)
{
	bool busy;

	atomic_store(&mr_mpi.napper.asleep, 1);
	lock();
	busy = mr_mpi_is_busy();
	unlock();
	if (!busy)
		mr_futex_wait_for(&mr_mpi.napper.asleep, 1, MR_MPI_NAP_NS);
	atomic_store(&mr_mpi.napper.asleep, 0);
	if (busy)
		nanosleep(&(struct timespec){.tv_nsec = MR_MPI_TICK_NS}, NULL);
}

static void *drive(void *arg)
{
	uint32_t n = 0;

	(void)arg;
	while (!atomic_load_explicit(&mr_mpi.ends, memory_order_relaxed)) {
		bool some;

		atomic_store_explicit(&mr_mpi.thread_waits, true, memory_order_relaxed);
		lock();
		atomic_store_explicit(&mr_mpi.thread_waits, false, memory_order_relaxed);
		some = mr_mpi_drive();
		if (n++ % 16 == 0)
			beat();
		unlock();
		if (!some)
			nap();
	}
	return NULL;
}

/* --- notes and data --- */

mr_status mr_mpi_wait_for(MPI_Request *request, const char *what)
{
	uint32_t looks = 0;
	int done = 0, code;

	for (;;) {
		lock();
		code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
		unlock();
		if (done || code != MPI_SUCCESS)
			return mr_mpi_check(code, what);
		if (atomic_load_explicit(&mr_mpi.lost, memory_order_relaxed) != UINT32_MAX)
			return gone();
		if (looks++ < 50)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = MR_MPI_TICK_NS / 2}, NULL);
	}
}

static mr_status tell(uint32_t to, const mr_note *n)
{
	MPI_Request request;
	int code;

	lock();
	code = MPI_Isend(n, sizeof(*n), MPI_BYTE, (int)to, 0, mr_mpi.notes, &request);
	unlock();
	MR_TRY(mr_mpi_check(code, "a note cannot be sent"));
	return mr_mpi_wait_for(&request, "a note cannot be sent");
}

static mr_status peek(uint32_t from, mr_note *out, bool *is_there)
{
	int there = notes.is_there[from], code = MPI_SUCCESS;

	lock();
	if (!there && notes.in[from] == MPI_REQUEST_NULL)
		code = MPI_Irecv(&notes.note[from], sizeof(mr_note), MPI_BYTE, (int)from, 0, mr_mpi.notes,
				 &notes.in[from]);
	if (!there && code == MPI_SUCCESS)
		code = MPI_Test(&notes.in[from], &there, MPI_STATUS_IGNORE);
	unlock();
	*is_there = notes.is_there[from] = there;
	if (there)
		*out = notes.note[from];
	return mr_mpi_check(code, "a note cannot be received");
}

static mr_status hear(uint32_t from, mr_note *out, bool *is_there)
{
	MR_TRY(peek(from, out, is_there));
	notes.is_there[from] = false;
	return MR_OK;
}

static mr_status move(uint32_t rank, void *data, size_t bytes, bool out)
{
	const char *what = out ? "data cannot be sent" : "data cannot be received";

	for (size_t at = 0, most = mr_mpi_block(); at < bytes; at += most) {
		int n = (int)(bytes - at < most ? bytes - at : most), code;
		MPI_Request request;

		if (at)
			MR_FAULT_POINT("mpi.block.data");
		lock();
		code = out ? MPI_Isend((uint8_t *)data + at, n, MPI_BYTE, (int)rank, 0, mr_mpi.data, &request)
			   : MPI_Irecv((uint8_t *)data + at, n, MPI_BYTE, (int)rank, 0, mr_mpi.data, &request);
		unlock();
		MR_TRY(mr_mpi_check(code, what));
		MR_TRY(mr_mpi_wait_for(&request, what));
	}
	return MR_OK;
}

static mr_status send_data(uint32_t to, const void *data, size_t bytes)
{
	return move(to, (void *)(uintptr_t)data, bytes, true);
}

static mr_status receive_data(uint32_t from, void *data, size_t bytes)
{
	return move(from, data, bytes, false);
}

static uint32_t lost(void)
{
	return atomic_load_explicit(&mr_mpi.lost, memory_order_relaxed);
}

static uint64_t sent(void)
{
	return atomic_load_explicit(&mr_mpi.sent, memory_order_relaxed);
}

static void own(const mr_ranks *r)
{
	mr_mpi.of_worker = r->of_worker;
}

static char library[MPI_MAX_LIBRARY_VERSION_STRING];

static void keep_to(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)pthread_setaffinity_np(mr_mpi.thread, sizeof(set), &set);
}

static mr_transport transport = {
	.name = library,
	.kind = &mr_mpi_kind,
	.own = own,
	.tell = tell,
	.hear = hear,
	.peek = peek,
	.send = send_data,
	.receive = receive_data,
	.settle = mr_mpi_settle,
	.lost = lost,
	.sent = sent,
	.align = mr_mpi_align,
	.keep_to = keep_to,
	.sum = mr_mpi_sum,
	.trace = mr_mpi_trace,
	.messages = mr_mpi_messages,
};

/* --- begin and end --- */

/* The CPUs that this process may use, as ranges. */
static void print_cpus(char *text, size_t size)
{
	cpu_set_t set;
	size_t n = 0;

	text[0] = 0;
	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && n + 16 < size; cpu++) {
		int last = cpu;

		if (!CPU_ISSET(cpu, &set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
			last++;
		n += (size_t)snprintf(text + n, size - n, last > cpu ? "%s%d-%d" : "%s%d", n ? "," : "", cpu, last);
		cpu = last;
	}
}

static mr_status open_comms(void)
{
	MPI_Comm *comm[] = {&mr_mpi.links, &mr_mpi.notes, &mr_mpi.data, &mr_mpi.beats};
	int *most, there = 0;

	/* MPICH takes an error of a persistent request for one of these two, which end all without a word of ours. */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	for (int i = 0; i < 4; i++) {
		MR_TRY(mr_mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, comm[i]), "MPI cannot begin"));
		MPI_Comm_set_errhandler(*comm[i], MPI_ERRORS_RETURN);
	}
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &there);
	mr_mpi.most_tag = there ? *most : 32767;
	return MR_OK;
}

static mr_status open_ranks(mr_ranks **out)
{
	size_t n = (size_t)mr_mpi.n;
	mr_ranks *r = calloc(1, sizeof(*r));
	mr_rank_host own = {0};

	*out = r;
	if (!r || !(r->at = calloc(n, sizeof(*r->at))))
		return mr_fail(MR_ERESOURCE, "no memory for %zu ranks", n);
	r->by = &transport;
	r->n = (uint32_t)n;
	r->self = (uint32_t)mr_mpi.self;
	gethostname(own.host, sizeof(own.host) - 1);
	print_cpus(own.cpus, sizeof(own.cpus));
	MR_TRY(mr_mpi_check(MPI_Allgather(&own, sizeof(own), MPI_BYTE, r->at, sizeof(own), MPI_BYTE, mr_mpi.data),
			    "MPI cannot begin"));
	return MR_OK;
}

static mr_status start_thread(void)
{
	size_t n = (size_t)mr_mpi.n;

	beats.looked_ns = mr_clock_ns();
	beats.in = calloc(n, sizeof(*beats.in));
	beats.out = calloc(n, sizeof(*beats.out));
	beats.silent_ns = calloc(n, sizeof(*beats.silent_ns));
	notes.note = calloc(n, sizeof(*notes.note));
	notes.in = calloc(n, sizeof(*notes.in));
	notes.is_there = calloc(n, sizeof(*notes.is_there));
	if (!beats.in || !beats.out || !beats.silent_ns || !notes.note || !notes.in || !notes.is_there)
		return mr_fail(MR_ERESOURCE, "no memory for %zu ranks", n);
	for (int i = 0; i < mr_mpi.n; i++) {
		beats.in[i] = beats.out[i] = notes.in[i] = MPI_REQUEST_NULL;
		if (i != mr_mpi.self)
			MR_TRY(mr_mpi_check(expect_beat(i), "MPI cannot begin"));
	}
	if (pthread_create(&mr_mpi.thread, NULL, drive, NULL))
		return mr_fail(MR_ERESOURCE, "the thread for messages cannot be started");
	pthread_setname_np(mr_mpi.thread, "mr-links");
	if (!mr_mpi.self)
		mr_launch_begin();
	mr_mpi.has_thread = true;
	return MR_OK;
}

static _Atomic bool has_begun; /* or failed */
static _Atomic bool has_ended;
static int end_code; /* written before the library is to end */

/* A launcher leaves one of these: without any this is a program of its own, and the library need not begin. */
static bool is_launched(void)
{
	static const char *const marks[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "PMI_FD"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (getenv(marks[i]))
			return true;
	return false;
}

/* Processes that a launcher started, and that MPI does not bring together, would fight for one folder. */
static mr_status refuse_alone(void)
{
	const char *name;
	long n = mr_launched(&name);

	if (n < 2)
		return MR_OK;
	return mr_fail(MR_EUSAGE, "this is one of %ld processes that a launcher started (%s), and MPI knows of no "
		       "other: srun needs --mpi=pmix for Open MPI and --mpi=pmi2 for MPICH, and mpirun must be that "
		       "of the MPI with which millrace-mpi was built", n, name);
}

/*
 * Open MPI sends the first part of a large message, and the rest once the other side has answered. Over TCP all goes
 * through one connection, so the answer waits behind what is under way there: two ranks that send each other gradients
 * take turns, at half the speed. Receives are posted ahead, so most messages may go at once. What the user says stays.
 */
static void send_whole(void)
{
	static const char *const limit[] = {"OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_rndv_eager_limit"};

	char text[24];

	snprintf(text, sizeof(text), "%d", MR_COPIES_MOST);
	for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++)
		setenv(limit[i], text, 0);
}

static mr_status begin(mr_ranks **out)
{
	int level = MPI_THREAD_SINGLE, n = 0;
	mr_status st;

	MR_TRY(mr_mpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level), "MPI cannot begin"));
	mr_mpi.is_open = true;
	MPI_Comm_size(MPI_COMM_WORLD, &mr_mpi.n);
	MPI_Comm_rank(MPI_COMM_WORLD, &mr_mpi.self);
	if (mr_mpi.n == 1)
		return refuse_alone();
	if (level < MPI_THREAD_SERIALIZED)
		return mr_fail(MR_ERESOURCE, "this MPI serves one thread alone (level %d), and several use it in turns",
			       level);
	MPI_Get_library_version(library, &n);
	library[strcspn(library, ",\n")] = 0;
	if (!strncmp(library, "Open MPI", 8)) /* its own word, or the user's */
		transport.copies_most = strtoull(getenv("OMPI_MCA_btl_tcp_eager_limit"), NULL, 10);
	st = mr_mpi_times_init((uint32_t)mr_mpi.n);
	if (st == MR_OK)
		st = open_comms();
	if (st == MR_OK)
		st = open_ranks(out);
	if (st == MR_OK) {
		mr_mpi.ranks = *out;
		st = start_thread();
	}
	return st;
}

/* Is @done within @s seconds? Looks each LOOK_NS. */
static bool is_done_within(int s, const _Atomic bool *done)
{
	enum { LOOK_NS = 100000000 };

	for (uint64_t i = 0; i < (uint64_t)s * 1000000000ull / LOOK_NS; i++) {
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		if (atomic_load_explicit(done, memory_order_acquire))
			return true;
	}
	return false;
}

/* Ends a process whose ranks do not meet: the library waits for ever. */
static void *limit_begin(void *arg)
{
	(void)arg;
	if (is_done_within(MR_MPI_BEGIN_S, &has_begun))
		return NULL;
	fprintf(stderr, "millrace: the ranks have not met for %d seconds: one of them, or a link between two, hangs\n",
		MR_MPI_BEGIN_S);
	mr_launch_end(mr_status_exit_code(MR_ESTALLED)); /* Open MPI's launcher may wait for ever for the other host */
	_exit(mr_status_exit_code(MR_ESTALLED));
}

mr_status mr_mpi_begin(mr_ranks **out)
{
	mr_status st;

	*out = NULL;
	if (!is_launched())
		return refuse_alone();
	send_whole();
	if (pthread_create(&mr_mpi.thread, NULL, limit_begin, NULL))
		return mr_fail(MR_ERESOURCE, "a thread for the begin of MPI cannot be started");
	pthread_detach(mr_mpi.thread);
	st = begin(out);
	atomic_store_explicit(&has_begun, true, memory_order_release);
	return st;
}

static void stop_thread(void)
{
	if (!mr_mpi.has_thread)
		return;
	atomic_store_explicit(&mr_mpi.ends, true, memory_order_relaxed);
	pthread_join(mr_mpi.thread, NULL);
	mr_mpi.has_thread = false;
}

/* Ends a process that has done all its work, where the library does not end: MPICH 4.0 over UCX has waited for ever for
 * the answer of a rank that waited elsewhere in its end. */
static void *limit_end(void *arg)
{
	(void)arg;
	if (!is_done_within(MR_MPI_END_S, &has_ended))
		_exit(end_code);
	return NULL;
}

static void limit_finalize(int code)
{
	pthread_t thread;

	end_code = code;
	if (!pthread_create(&thread, NULL, limit_end, NULL))
		pthread_detach(thread);
}

static void finalize(int code)
{
	fflush(NULL);
	limit_finalize(code);
	MPI_Finalize();
	atomic_store_explicit(&has_ended, true, memory_order_release);
}

/* Nothing comes any more: requests for notes and signs of life are taken back. */
static void take_back(MPI_Request *request)
{
	for (int i = 0; request && i < mr_mpi.n; i++)
		if (request[i] != MPI_REQUEST_NULL) {
			MPI_Cancel(&request[i]);
			MPI_Request_free(&request[i]);
		}
}

/* Nobody misses another's signs of life before all are here. */
static void meet_at_end(void)
{
	MPI_Request request;
	int code;

	lock();
	code = MPI_Ibarrier(mr_mpi.data, &request);
	unlock();
	if (code != MPI_SUCCESS || mr_mpi_wait_for(&request, "the end") != MR_OK)
		_exit(0); /* the rank that is missing has an exit code of its own */
}

/* Have the others failed too, mostly for the same reason? Waits MR_MPI_MEET_MS for them. */
static bool meet_failed(void)
{
	MPI_Request request;
	int code = MPI_SUCCESS, done = 0;

	for (int i = 0; i < MR_MPI_MEET_MS && !done && code == MPI_SUCCESS && lost() == UINT32_MAX; i++) {
		lock();
		code = i ? MPI_Test(&request, &done, MPI_STATUS_IGNORE) : MPI_Ibarrier(mr_mpi.data, &request);
		unlock();
		if (!done)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return done;
}

/* To a rank that is missed, in case it was only stopped. It may never leave. */
static void say_missed(uint32_t rank)
{
	MPI_Request request;

	lock();
	if (MPI_Isend(&beats.out_byte, 1, MPI_CHAR, (int)rank, MISSED, mr_mpi.beats, &request) == MPI_SUCCESS)
		MPI_Request_free(&request);
	unlock();
	nanosleep(&(struct timespec){.tv_nsec = MR_MPI_LOOK_NS}, NULL); /* the thread sends it meanwhile */
}

/* A launcher kills all others when a rank ends without a word to it, and that of MPICH then says 9, of the killed, in
 * place of the code of the failure. So ranks that have all failed end as ranks do that have not; a worker that still
 * waits for a message does not get at the library any more. */
static void fail(int code)
{
	fflush(NULL);
	if (mr_mpi.has_thread && meet_failed()) {
		stop_thread();
		lock();
		take_back(beats.in);
		take_back(notes.in);
		finalize(code);
	}
	if (lost() != UINT32_MAX)
		say_missed(lost());
#ifdef MPICH
	if (lost() != UINT32_MAX) { /* else its mpirun waits for ever for a stopped rank on another host */
		limit_finalize(code);
		lock();
		MPI_Abort(MPI_COMM_WORLD, code);
	}
#endif
	_exit(code);
}

void mr_mpi_end(mr_ranks *r, int code)
{
	if (!mr_mpi.is_open)
		return;
	if (code || lost() != UINT32_MAX)
		fail(code);
	if (mr_mpi.n > 1)
		meet_at_end();
	stop_thread();
	mr_mpi_links_fini();
	mr_mpi_times_fini();
	take_back(beats.in);
	take_back(notes.in);
	finalize(0);
	free(beats.in);
	free(beats.out);
	free(beats.silent_ns);
	free(notes.note);
	free(notes.in);
	free(notes.is_there);
	if (r) {
		free(r->of_worker);
		free(r->at);
	}
	free(r);
	mr_mpi.is_open = false;
}
