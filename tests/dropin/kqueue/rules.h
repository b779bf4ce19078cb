/*
 * A registration as FreeBSD's kernel stores it, and the rules of that kernel
 * that the drop-in does not follow.  The name in quotes begins an item of
 * DIFFERENCES.md; test_manual.py looks it up.
 */
#ifndef RULES_H
#define RULES_H

#include <sys/event.h>

#ifdef XPOLL_KQUEUE
enum { HERE = true };
#else
enum { HERE = false };
#endif
#ifndef EV_KEEPUDATA /* FreeBSD 12 lacks this flag */
#define EV_KEEPUDATA 0
#endif

enum {
	/* "EV_ONESHOT": an event whose condition has ended is not delivered. */
	ONESHOT_LOOKS = HERE,
	/* "`flags` of an event": they lack EV_RECEIPT. */
	NO_RECEIPT_FLAG = HERE,
	/* "EV_CLEAR of a pipe": the program's own reads and writes cause no event. */
	OWN_CALLS_ARE_SILENT = HERE,
	/* "NOTE_TRIGGER" triggers also with EV_ADD and EV_CLEAR. */
	TRIGGER_ALWAYS = HERE,
	/* "The control bits of USER" are not kept. */
	NO_CONTROL_BITS = HERE,
	/* "EV_RECEIPT" with room for some of the receipts: the call returns their number. */
	RECEIPTS_ARE_COUNTED = HERE,
	/* "Modes" of a later EV_ADD are added. */
	MODES_ARE_ADDED = HERE,
};

/* A registration, with the members of the kernel's struct knote. */
struct model {
	bool there;
	bool disabled;
	bool active;    /* KN_ACTIVE: the condition has held since the last delivery */
	bool triggered; /* USER: kn_hookid */
	bool end;       /* EV_EOF in kn_flags */
	unsigned modes; /* the other bits of kn_flags */
	unsigned notes; /* kn_sfflags */
	int64_t data;   /* kn_sdata */
	void *udata;
};

#endif
