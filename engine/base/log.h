/*
 * log.h - the program's log on standard error.
 *
 * One line a message: time, module, text. Reports go to standard output and traces to files; nothing parses this. The
 * environment variable MR_LOG=warn|info|debug sets the level (warn by default). A line leaves in one write(), so lines
 * of several threads never mix. The step path of the engine does not log.
 */
#ifndef MR_BASE_LOG_H
#define MR_BASE_LOG_H

#include <stdbool.h>

#include "base/status.h"

typedef enum mr_log_level { MR_LOG_WARN, MR_LOG_INFO, MR_LOG_DEBUG } mr_log_level;

/** Write a line if @level is wanted; cut at 1000 bytes; newlines inside become spaces. Keeps errno. Any thread. */
void mr_log(mr_log_level level, const char *module, const char *fmt, ...) MR_PRINTF(3, 4);

/** Would mr_log write? To spare the work of preparing a message. */
bool mr_log_wants(mr_log_level level);

/** Warn when MR_LOG names no level; the level is then warn. */
void mr_log_warn_unknown(void);

#endif
