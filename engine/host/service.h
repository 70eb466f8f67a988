/*
 * service.h - tells the service manager that started the program how far it is.
 *
 * The protocol is that of sd_notify(3): one datagram of lines to the socket that NOTIFY_SOCKET names. Without the
 * variable all functions do nothing; a message that cannot be sent is lost, and training goes on. Thread: any.
 */
#ifndef MR_HOST_SERVICE_H
#define MR_HOST_SERVICE_H

#include "base/status.h"

/** Send lines such as "READY=1\nSTATUS=step 5 of 100", at most 1023 bytes. */
void mr_service_notify(const char *fmt, ...) MR_PRINTF(1, 2);

/** Send WATCHDOG=1, where the manager waits for it (WATCHDOG_USEC), at most four times in the time that it waits. To be
 * called as often as the program shows progress, at least twice in that time. */
void mr_service_alive(void);

#endif
