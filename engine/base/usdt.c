#include "base/usdt.h"

#ifdef MR_USDT
/* The kernel counts listeners here (uprobes' reference counter). */
#define MR_USDT_PROBE(name) unsigned short millrace_##name##_semaphore;
#include "base/usdt.def"
#endif
