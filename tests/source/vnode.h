/* For the tests of VNODE: register a file, and expect one event. */
#ifndef SOURCE_VNODE_H
#define SOURCE_VNODE_H

#include "xt.h"

#include <sys/stat.h>

#define ALL_NOTES (XPOLL_NOTE_DELETE | XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | \
                   XPOLL_NOTE_ATTRIB | XPOLL_NOTE_LINK | XPOLL_NOTE_RENAME | \
                   XPOLL_NOTE_REVOKE | XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE | \
                   XPOLL_NOTE_CLOSE_WRITE | XPOLL_NOTE_READ | \
                   XPOLL_NOTE_TRUNCATE)
/* All notes except those that the test's own use of other descriptors would cause. */
#define QUIET_NOTES (ALL_NOTES & ~(XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE | \
                                   XPOLL_NOTE_CLOSE_WRITE | XPOLL_NOTE_READ))

/* Returns all notes that this system can report. */
static inline uint32_t vnode_notes(struct xpoll *queue)
{
	uint32_t notes = 0;

	for (uint32_t note = 1; note; note <<= 1)
		if (note & ALL_NOTES && xpoll_supports(queue, VNODE, note) == 1)
			notes |= note;
	return notes;
}

static inline int vnode_add(struct xpoll *queue, int fd, int flags,
                            uint32_t notes)
{
	return xt_change(queue, (uint64_t)fd, VNODE, XPOLL_ADD | flags, notes, 0,
	                 NULL);
}

/* Check that exactly one event comes, of this descriptor, with these notes. */
/* The BSDs report additional notes for a change. */
#ifdef __linux__
#define VNODE_MORE 0u
#else
#define VNODE_MORE (XPOLL_NOTE_ATTRIB | XPOLL_NOTE_WRITE)
#endif

#define VNODE_GETS(queue, fd, notes)                                      \
	do {                                                              \
		struct xpoll_event vnode_event = {0};                     \
		XT_GETS((queue), &vnode_event, (fd), VNODE);              \
		XT_EXPECT_EQ(vnode_event.fflags & ~(VNODE_MORE & ~(notes)), (notes)); \
		XT_EXPECT_EQ(vnode_event.data, 0);                        \
		XT_EXPECT_EQ(vnode_event.flags, 0);                       \
	} while (0)

#endif
