#include "host/pause.h"

#include <sched.h>

#include "host/clock.h"
#include "host/futex.h"

static inline void cpu_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb");
#endif
}

void mr_parker_init(mr_parker *p)
{
	atomic_init(&p->asleep, 0);
}

void mr_parker_wake(mr_parker *p)
{
	if (!p)
		return;
	/* S1: does the owner sleep, or is it about to? Pairs with S0. */
	if (atomic_load_explicit(&p->asleep, memory_order_seq_cst) == 0)
		return;
	/* One of several wakers calls the kernel. Relaxed: no data travels here; the futex orders it with the sleep. */
	if (atomic_exchange_explicit(&p->asleep, 0, memory_order_relaxed) != 0)
		mr_futex_wake(&p->asleep);
}

void mr_waiter_init(mr_waiter *w, mr_parker *parker, const mr_stop *stop, uint32_t spin)
{
	*w = (mr_waiter){.parker = parker, .stop = stop ? &stop->raised : NULL, .spin = spin};
	atomic_init(&w->why, 0);
	atomic_init(&w->subject, 0);
}

mr_status mr_waiter_step(mr_waiter *w)
{
	/* R3: after S0 one of the two last looks before sleeping, hence seq_cst; it also shows the first error. */
	if (w->stop && atomic_load_explicit(w->stop, memory_order_seq_cst) != 0) {
		mr_waiter_done(w);
		return mr_fail(MR_ESTOPPED, "the run was stopped while this thread waited");
	}
	if (w->n_spun < w->spin) {
		w->n_spun++;
		w->n_pauses++;
		cpu_pause();
	} else if (!w->parker) {
		w->n_sleeps++;
		sched_yield();
	} else if (!w->armed) {
		/* S0: announces the sleep; the caller now looks once more (R0, R1 or R2), and R3 is above. */
		atomic_store_explicit(&w->parker->asleep, 1, memory_order_seq_cst);
		w->armed = true;
	} else {
		mr_futex_wait(&w->parker->asleep, 1);
		w->n_sleeps++;
		w->armed = false; /* a waker has put back 0; after a false alarm the next waker will */
		w->n_spun = 0;
	}
	return MR_OK;
}

void mr_waiter_done(mr_waiter *w)
{
	/* Relaxed: if a waker still sees the 1 it makes one futex call for nothing. */
	if (w->armed)
		atomic_store_explicit(&w->parker->asleep, 0, memory_order_relaxed);
	w->armed = false;
	w->n_spun = 0;
}

void mr_stop_init(mr_stop *s, mr_parker *const *parker, uint32_t n)
{
	atomic_init(&s->raised, 0);
	s->parker = parker;
	s->n_parkers = n;
}

void mr_stop_raise(mr_stop *s)
{
	/* W3: shows what was written before (the first error) to every thread that sees the flag; pairs with R3. */
	atomic_store_explicit(&s->raised, 1, memory_order_seq_cst);
	for (uint32_t i = 0; i < s->n_parkers; i++)
		mr_parker_wake(s->parker[i]);
}

bool mr_stop_raised(const mr_stop *s)
{
	/* R3 without a wait: pairs with W3; acquire is enough, no thread sleeps after this look. */
	return atomic_load_explicit(&s->raised, memory_order_acquire) != 0;
}

void mr_stop_clear(mr_stop *s)
{
	atomic_store_explicit(&s->raised, 0, memory_order_relaxed);
}

uint32_t mr_pause_spins(uint64_t ns)
{
	enum { N_PAUSES = 1000, N_TRIES = 5 };
	static _Atomic uint32_t batch_ns; /* time of N_PAUSES; two threads that measure at once do no harm */
	uint64_t best = atomic_load_explicit(&batch_ns, memory_order_relaxed);

	if (!best) {
		best = UINT32_MAX;
		for (int i = 0; i < N_TRIES; i++) {
			uint64_t begin = mr_clock_ns(), took;

			for (int k = 0; k < N_PAUSES; k++)
				cpu_pause();
			took = mr_clock_ns() - begin;
			if (took < best)
				best = took ? took : 1;
		}
		atomic_store_explicit(&batch_ns, (uint32_t)best, memory_order_relaxed);
	}
	if (ns >= UINT32_MAX)
		return UINT32_MAX;
	ns = ns * N_PAUSES / best + (ns > 0);
	return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}
