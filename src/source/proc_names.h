/* The names of PROC's notes; systems without the source have them, too. */
#ifndef XP_SOURCE_PROC_NAMES_H
#define XP_SOURCE_PROC_NAMES_H

#include "source/source.h"

static const struct xp_note_name proc_names[] = {
	{XPOLL_NOTE_EXIT, "EXIT"}, {XPOLL_NOTE_FORK, "FORK"},
	{XPOLL_NOTE_EXEC, "EXEC"}, {XPOLL_NOTE_TRACK, "TRACK"},
	{XPOLL_NOTE_TRACKERR, "TRACKERR"}, {XPOLL_NOTE_CHILD, "CHILD"},
	{XPOLL_NOTE_STATUS_UNKNOWN, "STATUS_UNKNOWN"}, {0, NULL},
};

#endif
