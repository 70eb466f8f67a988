/*
 * starter.h - a first configuration for data of one's own: it trains as it stands, and its comments say why each value
 * is what it is and which ones are worth changing.
 *
 * The kind of data decides on the network, the amount of data on its size and on the number of steps, and the cores of
 * the machine on workers and on how large a network is worth trying: about five minutes of training.
 */
#ifndef MR_STARTER_STARTER_H
#define MR_STARTER_STARTER_H

#include "base/str.h"
#include "host/topo.h"

/**
 * Write a configuration for the file or folder @path on @machine to @text. @folder stands in front of the paths in it:
 * "" where the configuration lies in the current folder, else with a "/" at its end. @target is the column of a table
 * to predict; empty: it is guessed. @notes gets lines for the user: the target, and what of the data is left out, and
 * why. Errors: MR_EDATA with the path and what was expected of it; MR_ERESOURCE.
 */
mr_status mr_starter_write(const char *path, const char *folder, const char *target, const mr_topo *machine,
			   mr_strbuf *text, mr_strbuf *notes) MR_MUST_USE;

#endif
