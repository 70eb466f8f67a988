/* mpi_times.h - how long the messages of links take: sums for each other rank, and, while traced, each message. */
#ifndef MR_MPI_MPI_TIMES_H
#define MR_MPI_MPI_TIMES_H

#include <stddef.h>

#include "base/message_time.h"
#include "base/status.h"

/** Make room for @n ranks. Errors: MR_ERESOURCE. */
mr_status mr_mpi_times_init(uint32_t n) MR_MUST_USE;
void mr_mpi_times_fini(void);

/** Now, by rank 0's clock. */
uint64_t mr_mpi_now(void);

/** A message of @bytes is handed over to rank @to, which took @ns. With the world's lock, as the next. */
void mr_mpi_times_sent(uint32_t to, uint64_t bytes, uint64_t ns);
/** @m from rank @from has been taken. */
void mr_mpi_times_came(uint32_t from, const mr_message_time *m);

/* See mr_transport. */
void mr_mpi_align(int64_t ahead_ns);
void mr_mpi_sum(uint32_t rank, mr_message_sum *to, mr_message_sum *from);
mr_status mr_mpi_trace(void) MR_MUST_USE;
size_t mr_mpi_messages(const mr_message_time **out);

#endif
