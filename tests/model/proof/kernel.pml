/*
 * The kernel's half: files, the numbers that stand for them, and epoll sets.
 *
 * No more than the library relies on: an entry is known by number and file; a
 * change looks anew; activity on a watched file links its entry; a linked entry
 * makes a sleeping thread come out, no matter which; what is harvested is
 * checked once more; by state it stays linked, by edge it does not, and a
 * one-shot entry is silent afterwards.
 *
 * A descriptor has FILTERS filters, READ or READ and WRITE, and a mask is a set of
 * these.  The including model defines NUMBERS, FILES, SETS, file_at(number),
 * number_of(file) and `set`.
 */
#ifndef FILTERS
#define FILTERS 1
#endif
#define ALL_FILTERS ((1 << FILTERS) - 1)
#if FILTERS == 1
#define THREAD_BITS 3
#define of_threads(filters) (filters)
#else
#define THREAD_BITS 6
#define of_threads(filters) ((filters) & 1 | ((filters) >> 1) << 3)
#endif
/* Of a set of threads for each filter: this thread's bits, and the filters of one thread. */
#define bits_of(filters) (of_threads(filters) << me)

#define NONE    0
#define LEVEL   1 /* the modes of a slot, and what an entry is watched for */
#define BY_EDGE    2
#define ONESHOT 3
#define FIRED   4

#define OK     0
#define EEXIST 1
#define ENOENT 2
#define EBADF  3

#define NO_FILE 7

#define bit_of(i) (1 << (i))

typedef Entry {
	bit in;
	unsigned mask : FILTERS;
	bit linked; /* in the list of those that may be ready */
	unsigned watch : 3;
	unsigned generation : 3 /* the token; its number is that of the file */
};

Entry entry[SETS * FILES];
byte ready[FILES]; /* the filters whose condition holds */
byte asleep_in[SETS]; /* waits inside epoll_wait: sets of them */
bit wake_linked[SETS]; /* wake_fd's entry, which is by edge */

#if SETS == 1
#define set 0
#define my_set 0 /* the one a thread sleeps in */
#endif
#define entry_of(f) entry[(set) * FILES + (f)]
#define sleepers_entry(f) entry[(my_set) * FILES + (f)]
#define linked_in(s) (wake_linked[s] || entry[(s) * FILES].linked || \
	entry[(s) * FILES + FILES / 2].linked || entry[(s) * FILES + FILES - 1].linked)

/* The kernel: something arrives, or there is room, and links the entries that want it. */
inline activity(f, filters)
{
	ready[f] = ready[f] | (filters);
	entry[f].linked = entry[f].linked || (entry[f].in && (entry[f].mask & (filters)));
#if SETS > 1
	entry[FILES + f].linked = entry[FILES + f].linked ||
		(entry[FILES + f].in && (entry[FILES + f].mask & (filters)))
#endif
}

/*
 * src/backend/epoll.c: epoll_change; src/core/entry.h: xp_entry_attach:
 * an ADD, and a change if the file turns out to be in the set.
 */
inline epoll_control(n, may_add)
{
	f = file_at(n);
	if
	:: f == NO_FILE -> rc = EBADF
	:: f != NO_FILE && !entry_of(f).in && !(may_add) -> rc = ENOENT
	:: else ->
		rc = OK;
		entry_of(f).in = 1;
		entry_of(f).watch = m;
		entry_of(f).mask = a;
		entry_of(f).generation = slot[n].generation;
		entry_of(f).linked = entry_of(f).linked || (a & ready[f])
	fi;
	f = 0
}

/* The kernel: an entry ends, deleted or because its file did. */
inline entry_end(e)
{
	e.in = 0;
	e.mask = 0;
	e.linked = 0;
	e.watch = NONE;
	e.generation = 0
}

/* src/backend/epoll.c: epoll_detach */
inline epoll_delete(n)
{
	f = file_at(n);
	if
	:: f == NO_FILE -> rc = EBADF
	:: f != NO_FILE && !entry_of(f).in -> rc = ENOENT
	:: else -> rc = OK; entry_end(entry_of(f))
	fi;
	f = 0
}

/* src/backend/epoll.c: epoll_wake */
inline epoll_wake()
{
	wake_linked[0] = SETS == 1 || set == 0 || asleep_in[0];
#if SETS > 1
	wake_linked[1] = set == 1 || asleep_in[1]
#endif
}

/* The kernel: a linked entry, checked once more. */
inline harvest_entry()
{
	sleepers_entry(f).linked = 0;
	if
	:: sleepers_entry(f).mask & ready[f] ->
		count++;
		got = got | bit_of(f);
		fired[f] = sleepers_entry(f).mask & ready[f];
		token[f] = sleepers_entry(f).generation;
		seen(f);
		harvested(f);
		if
		:: sleepers_entry(f).watch == LEVEL -> sleepers_entry(f).linked = 1
		:: sleepers_entry(f).watch == ONESHOT -> sleepers_entry(f).mask = 0
		:: else
		fi
	:: else
	fi
}

#define harvestable(f) (sleepers_entry(f).linked && !(got & bit_of(f)))

/* src/backend/epoll.c: epoll_await: up to `room`, in any order. */
inline epoll_harvest()
{
	count = 0;
	do
	:: count < room && wake_linked[my_set] -> wake_linked[my_set] = 0; count++
	:: count < room && harvestable(0) -> f = 0; harvest_entry()
#if FILES > 1
	:: count < room && harvestable(1) -> f = 1; harvest_entry()
#endif
#if FILES > 2
	:: count < room && harvestable(2) -> f = 2; harvest_entry()
#endif
	:: else -> break
	od;
	f = 0
}
