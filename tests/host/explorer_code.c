#include "host/explorer_code.h"

#include <assert.h>
#include <stdatomic.h>

#include "host/clock.h"
#include "host/explorer.h"
#include "host/futex.h"

#undef atomic_init
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#define atomic_init(p, v) ex_init((p), (v))
#define atomic_load_explicit(p, o) ex_load((p), (o), EXC_FILE * 1000 + __LINE__)
#define atomic_store_explicit(p, v, o) ex_store((p), (v), (o), EXC_FILE * 1000 + __LINE__)
#define atomic_exchange_explicit(p, v, o) ex_exchange((p), (v), (o), EXC_FILE * 1000 + __LINE__)
#define mr_futex_wait ex_futex_wait
#define mr_futex_wake ex_futex_wake
#define MR_RING_SLOT_GET(p) ex_get(p)
#define MR_RING_SLOT_SET(p, v) ex_set((p), (v))
/* The message of a stopped wait would be formatted a million times. */
#undef mr_fail
#define mr_fail(code, ...) (code)

#define EXC_FILE 1
#include "../../engine/host/pause.c"
#undef EXC_FILE
#define EXC_FILE 2
#include "../../engine/host/ring.c"
#undef EXC_FILE
#define EXC_FILE 3
#include "../../engine/host/event.c"
