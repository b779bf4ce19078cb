/*
 * Goal: each name of <sys/event.h> that BSD programs use has FreeBSD's value
 * here, or is undefined, so that #ifdef detects that.
 * Method: a table of the supported names, and #error for the others.
 * DIFFERENCES.md has the reason for each missing one.
 */
#include "kit.h"

/* Names of FreeBSD's features that Linux lacks, and names of other systems. */
#if defined EVFILT_FS || defined EVFILT_LIO || defined EVFILT_SENDFILE || \
	defined EVFILT_JAIL || defined EVFILT_JAILDESC || defined NOTE_REAP || \
	defined NOTE_PDSIGCHLD || defined KQUEUE_CPONFORK || defined EVFILT_NETDEV || \
	defined NOTE_LINKUP || defined NOTE_LINKDOWN || defined NOTE_LINKINV
#error "a name of FreeBSD's that is not served"
#endif
#if defined EVFILT_DEVICE || defined NOTE_CHANGE || defined NOTE_EOF || \
	defined NOTE_TRUNCATE || defined EVFILT_MARKER || defined EV_NODATA || \
	defined EV_HUP || defined KFILTER_BYNAME || defined KFILTER_BYFILTER
#error "a name of OpenBSD's, DragonFly's or NetBSD's that is not served"
#endif
#if defined EVFILT_MACHPORT || defined EVFILT_VM || defined EVFILT_MEMORYSTATUS || \
	defined EV_UDATA_SPECIFIC || defined EV_DISPATCH2 || defined EV_VANISHED || \
	defined EV_POLL || defined EV_OOBAND || defined EV_FLAG0 || \
	defined EV_SET64 || defined NOTE_SIGNAL || defined NOTE_EXIT_DETAIL || \
	defined NOTE_EXITSTATUS || defined NOTE_MACHTIME || defined NOTE_CRITICAL || \
	defined NOTE_BACKGROUND || defined NOTE_LEASE_RELEASE || defined LIBKQUEUE || \
	defined NOTE_ABSOLUTE || defined NOTE_LEEWAY || defined NOTE_FUNLOCK || \
	defined NOTE_NONE || defined KEVENT_FLAG_NONE || defined EVFILT_LIBKQUEUE
#error "a name of macOS's or libkqueue's that is not served"
#endif

#define NAME(name, number)       \
	{                        \
		#name, (long long)(name), number \
	}

static const struct {
	const char *name;
	long long here, freebsd;
} names[] = {
	NAME(EVFILT_READ, -1), NAME(EVFILT_WRITE, -2), NAME(EVFILT_AIO, -3),
	NAME(EVFILT_VNODE, -4), NAME(EVFILT_PROC, -5), NAME(EVFILT_SIGNAL, -6),
	NAME(EVFILT_TIMER, -7), NAME(EVFILT_PROCDESC, -8), NAME(EVFILT_USER, -11),
	NAME(EVFILT_EMPTY, -13), NAME(EVFILT_SYSCOUNT, 13),
	NAME(EVFILT_EXCEPT, -15), /* a name of macOS */
	NAME(EV_ADD, 1), NAME(EV_DELETE, 2), NAME(EV_ENABLE, 4), NAME(EV_DISABLE, 8),
	NAME(EV_ONESHOT, 0x10), NAME(EV_CLEAR, 0x20), NAME(EV_RECEIPT, 0x40),
	NAME(EV_DISPATCH, 0x80), NAME(EV_FORCEONESHOT, 0x100),
	NAME(EV_KEEPUDATA, 0x200), NAME(EV_SYSFLAGS, 0xf000), NAME(EV_DROP, 0x1000),
	NAME(EV_FLAG1, 0x2000), NAME(EV_FLAG2, 0x4000), NAME(EV_ERROR, 0x4000),
	NAME(EV_EOF, 0x8000),
	NAME(NOTE_FFNOP, 0), NAME(NOTE_FFAND, 0x40000000), NAME(NOTE_FFOR, 0x80000000),
	NAME(NOTE_FFCOPY, 0xc0000000), NAME(NOTE_FFCTRLMASK, 0xc0000000),
	NAME(NOTE_FFLAGSMASK, 0xffffff), NAME(NOTE_TRIGGER, 0x1000000),
	NAME(NOTE_LOWAT, 1), NAME(NOTE_FILE_POLL, 2), NAME(NOTE_OOB, 2),
	NAME(NOTE_DELETE, 1), NAME(NOTE_WRITE, 2), NAME(NOTE_EXTEND, 4),
	NAME(NOTE_ATTRIB, 8), NAME(NOTE_LINK, 0x10), NAME(NOTE_RENAME, 0x20),
	NAME(NOTE_REVOKE, 0x40), NAME(NOTE_OPEN, 0x80), NAME(NOTE_CLOSE, 0x100),
	NAME(NOTE_CLOSE_WRITE, 0x200), NAME(NOTE_READ, 0x400),
	NAME(NOTE_EXIT, 0x80000000), NAME(NOTE_FORK, 0x40000000),
	NAME(NOTE_EXEC, 0x20000000), NAME(NOTE_PCTRLMASK, 0xf0000000),
	NAME(NOTE_PDATAMASK, 0xfffff), NAME(NOTE_TRACK, 1), NAME(NOTE_TRACKERR, 2),
	NAME(NOTE_CHILD, 4), NAME(NOTE_SECONDS, 1), NAME(NOTE_MSECONDS, 2),
	NAME(NOTE_USECONDS, 4), NAME(NOTE_NSECONDS, 8), NAME(NOTE_ABSTIME, 0x10),
	NAME(SIGEV_KEVENT, 3), NAME(KQUEUE_CLOEXEC, 1),
};

XT_TEST(names_of_the_header_have_freebsds_numbers)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].here != names[i].freebsd)
			xt_fail(__FILE__, __LINE__, "%s is %lld, not %lld", names[i].name,
			        names[i].here, names[i].freebsd);
}

/* Flags that belong to the kernel have no effect in a change; nginx and asio use their names. */
XT_TEST(flags_of_the_system_are_ignored)
{
	int kq = kit_open();
	struct xt_pair pipe = xt_pipe();
	struct kevent event;

	XT_OK(kit_add(kq, pipe.r, EVFILT_READ, EV_FLAG1 | EV_FLAG2 | EV_DROP | EV_EOF));
	XT_OK(kit_flag(kq, pipe.r, EVFILT_READ, EV_ENABLE | EV_SYSFLAGS));
	KIT_NONE(kq);
	xt_put(pipe.w);
	KIT_GETS(kq, &event, pipe.r, EVFILT_READ);
	XT_EQ(event.flags, 0);
	XT_OK(kit_flag(kq, pipe.r, EVFILT_READ, EV_DELETE | EV_FLAG1));
	KIT_NONE(kq);
}
