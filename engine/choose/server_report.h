/* server_report.h - the published constants of machines (host/server.h) as tables. */
#ifndef MR_CHOOSE_SERVER_REPORT_H
#define MR_CHOOSE_SERVER_REPORT_H

#include <stdio.h>

#include "host/server.h"

/** All machines, a row each. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_servers_print(FILE *out) MR_MUST_USE;

/** One machine: each number with what it is and where it comes from. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_server_print(const mr_server *s, FILE *out) MR_MUST_USE;

#endif
