/* reference_text.h - the blocks of conf/reference.cfg as the tables of options say they should be. */
#ifndef MR_TESTS_CLI_REFERENCE_TEXT_H
#define MR_TESTS_CLI_REFERENCE_TEXT_H

#include "base/str.h"
#include "job/keys.h"

/**
 * Append the block of @group (of @plugin, where it is a plug-in group), from its "# ---" line to its last line. Blocks
 * of plug-ins other than the one that the file uses stand behind "#| ".
 */
void mr_reference_block(mr_job_group group, const mr_plugin *plugin, mr_strbuf *out);

/** Is @plugin the one of its group that the file uses? */
bool mr_reference_uses(const mr_plugin *plugin);

#endif
