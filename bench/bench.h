/*
 * Measuring: workloads, their variants, and how they are run.
 *
 * A workload, such as looptest, answers one question, or one for each of its phases.  Its variants
 * are xpoll on each back end, programs written by hand on the kernel's calls or on another library,
 * and the limit: the work that remains if waiting costs nothing.  The runner opens the workload
 * once; then the variants take turns, round after round, in one process.  A report has the median
 * of the rounds.
 *
 * A new workload is a file of workloads/ with a struct bench_workload; a new rival of xpoll is a
 * file of rivals/ with a struct loop_ops.  List both in variants.c. docs/internals/measuring.md has
 * the other steps.
 *
 * Caution: every open epoll or kqueue set that contains a descriptor makes each write to the
 * descriptor slower.  So only the variant that is being measured may be open.
 */
#ifndef BENCH_H
#define BENCH_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define BENCH_N_MAX        10000000
#define BENCH_ROUNDS_MAX   1000
#define BENCH_VARIANTS_MAX 24
#define BENCH_PHASES_MAX   9
#define BENCH_REFERENCES   4
#define BENCH_ROOM_N       (-1)
#define BENCH_UNKNOWN      UINT64_MAX /* in place of a count: nobody has counted */

enum bench_peers {
	BENCH_PEERS_NONE,
	BENCH_PEERS_RAW, /* written by hand on the kernel's calls */
	BENCH_PEERS_ALL, /* those, and other libraries */
};

struct bench_options {
	int n;                /* size of the workload */
	double seconds;       /* measuring time of each variant, spread over the rounds */
	int rounds;
	int operations;       /* operations in each round; 0: as many as fit into `seconds` */
	int cpu;              /* the processor to run on; -1: any */
	const char *backends; /* back ends of xpoll, separated by commas; NULL: all usable ones */
	enum bench_peers peers; /* the rivals to measure besides xpoll */
	const char *json;     /* file for the report as JSON; "-": stdout; NULL: none */
	const char *library;  /* path of libxpoll-poll.so; NULL: not found */
};

/* The result of one round of one variant, or of one phase of it. */
struct bench_sample {
	uint64_t operations;
	uint64_t elapsed_ns;
	uint64_t syscalls; /* number of system calls, or BENCH_UNKNOWN */
	uint64_t wakes; /* number of wake-ups of threads, if the workload has tells_wakes */
	uint64_t bytes; /* bytes allocated for all n items; 0: unknown */
};

struct bench_field;

/* How a variant waits for events. */
struct bench_way {
	const char *backend;         /* the back end, if the variant is xpoll; otherwise NULL */
	const struct loop_ops *loop; /* NULL: the variant is not written on a loop */
	/* name of a program of peers/, which is the variant: see program.c; or NULL */
	const char *program;
	const struct bench_workload *workload;
	const struct bench_options *options;
};

struct bench_turn; /* argument of a variant's functions: see loop.h */

/*
 * Do some operations, at most turn->count.  Returns the number done; 0: the runner calls again; or
 * -errno.
 */
typedef int bench_run_function(struct bench_turn *turn);

/*
 * How one variant does the work.  Functions return >= 0, or -errno.
 *
 * size      bytes of turn->own, which are zero at first
 * room      most events that one wait of the turn's loop returns, or BENCH_ROOM_N for n; 0: the
 *           runner opens no loop
 * passes    the phases depend on each other: the runner goes through all of them, again and again,
 *           and `run` does all of a phase, whatever turn->count is.  A phase that measures itself
 *           stores the time and the calls in turn->sample.
 * open      prepare, after the runner has opened the turn's loop
 * run       NULL: the phase has its own.  Repeats a system call that fails with EINTR if
 *           bench_goes_on returns true.
 * syscalls  returns the number of system calls so far, or BENCH_UNKNOWN; NULL: bench_calls plus the
 *           calls of the turn's loop
 * close     called before the runner closes the turn's loop, and also if opening has failed at any
 *           step; NULL: nothing to do
 */
struct bench_ops {
	size_t size;
	int room;
	bool passes;
	int (*open)(struct bench_turn *turn);
	bench_run_function *run;
	uint64_t (*syscalls)(const struct bench_turn *turn);
	void (*close)(struct bench_turn *turn);
};

/* A phase of a workload; each has a result of its own. */
struct bench_phase {
	const char *name; /* NULL: the only phase */
	int value;        /* for the workload, such as the number of active items or of threads */
	int how;          /* for the workload */
	/* work before the phase that is not measured; or NULL */
	int (*prepare)(struct bench_turn *turn);
	bench_run_function *run;
	bool whole;       /* `bytes` is reported as a sum, and not for each item */
};

struct bench_variant {
	const char *name;
	const struct bench_ops *ops; /* NULL: the `ops` of the workload */
	const struct loop_ops *loop; /* NULL: the variant is not written on a loop */
};

/*
 * The things of which a workload has n: pipes or socket pairs, whose read ends are watched;
 * targets, which the workload's `open` fills in; or things without a descriptor.
 */
enum bench_kind { BENCH_PIPES, BENCH_SOCKETS, BENCH_TARGETS, BENCH_NOTHING };

struct bench_workload {
	const char *name;
	const char *summary; /* one line */
	const char *help;    /* paragraphs for --help */
	const char *unit;    /* name of one operation, such as "read" */
	const char *items;   /* name of the n things, such as "pipes" */
	int n_default;
	int n_max;          /* 0: BENCH_N_MAX */
	int rounds_default; /* 0: 25 */
	/* up to the first without a name, at least one */
	struct bench_phase phases[BENCH_PHASES_MAX];
	/* Names of the variants with which the report compares the others; ends with NULL. */
	const char *references[BENCH_REFERENCES];
	bool tells_bytes; /* report the memory that is allocated after a phase */
	bool tells_wakes; /* report how often threads were woken */
	/*
	 * Measure real time, because threads wait for each other.  If false, measure processor
	 * time, on which other programs of the machine have less effect.
	 */
	bool by_clock;

	/*
	 * Prepare and clean up what all variants share: the `own` of the struct bench_field, which
	 * has setup_size bytes that are zero at first, and its targets.  Return 0 or -errno; NULL:
	 * nothing to do.  `close` is called even if `open` has failed.
	 */
	enum bench_kind kind;
	short events;   /* events of the read ends of pairs, besides POLLIN */
	bool both_ends; /* the write ends of pairs are targets, too */
	int targets_more; /* number of targets in addition to n */
	size_t setup_size;
	int (*open)(struct bench_field *field);
	void (*close)(struct bench_field *field);
	/*
	 * Number of descriptors that the workload opens, for the limit of the process; 50 more and
	 * those of pairs are counted anyway.
	 */
	int fds_each; /* for each of the n things */
	int fds_more;

	/*
	 * How the variants on loops work: xpoll, once for each back end, and rivals.  absent: xpoll
	 * is no variant of this workload.
	 */
	struct bench_ops ops;
	bool absent;
	/*
	 * The abilities (a set of enum loop_ability) that a rival's loop needs to be a variant; 0:
	 * only `peers` are variants.
	 */
	unsigned loops;
	const struct threads_kind *threads; /* threads.c */
	/* programs: those of peers/ are variants, too; rings: as looptest, otherwise as serve. */
	bool programs;
	bool rings;
	/* variants in addition; ends with a NULL name; NULL: none */
	const struct bench_variant *peers;
	const struct bench_variant *limit; /* NULL: no work remains without waiting */
};

/* The results of one phase of one variant, of all rounds. */
struct bench_result {
	double rates[BENCH_ROUNDS_MAX]; /* operations per second, one for each round */
	double calls[BENCH_ROUNDS_MAX]; /* system calls per operation; NAN: unknown */
	uint64_t operations;
	uint64_t syscalls;
	uint64_t wakes;
	uint64_t bytes;
};

/* A variant that is measured, with its results. */
struct bench_contender {
	char name[32];
	struct bench_way way;
	const struct bench_ops *ops;
	bool is_default;
	struct bench_result results[BENCH_PHASES_MAX];
};

struct bench_report {
	const struct bench_workload *workload;
	const struct bench_options *options;
	struct bench_contender contenders[BENCH_VARIANTS_MAX];
	int contenders_len;
	int phases_len; /* at least 1 */
	/* Variants that cannot be measured here, and the library that is missing. */
	struct {
		const char *variant;
		/* NULL: the variant is a program or a back end */
		const struct bench_library *library;
	} missing[BENCH_VARIANTS_MAX];
	int missing_len;
};

/* All workloads; ends with NULL. */
extern const struct bench_workload *const bench_workloads[];

/*
 * Measure a workload and report.  Returns an exit code: 0; 1: the measurement failed; 2: the
 * options cannot be met.  Prints the reason on stderr.  On SIGINT and SIGTERM cleans up, and then
 * ends the process by that signal.
 */
int bench_run(const struct bench_workload *workload,
              const struct bench_options *options);

/* --- below: between the files of bench/ --------------------------------- */

/* runner.c */
/*
 * Does the operations that --operations measures.  No function inlines this one, so that
 * scripts/instructions.py finds it by its name and counts its instructions.
 */
__attribute__((noinline)) int bench_counted(const struct bench_ops *ops, struct bench_turn *turn,
                                            int count);

/* variants.c: fill in report->contenders as the options require.  Returns an exit code. */
int bench_select_variants(struct bench_report *report);

/* report.c */
void bench_report_table(const struct bench_report *report, FILE *to);
void bench_report_json(const struct bench_report *report, FILE *to);

/*
 * The file of a JSON report. bench_output_open and bench_output_commit print the reason of a
 * failure and return an exit code.
 */
struct bench_output {
	FILE *file;               /* NULL: nothing to write */
	char path[PATH_MAX];      /* the file to write, with links resolved */
	/* temporary file that becomes `path`; "": `path` itself is written */
	char part[PATH_MAX + 32];
};
int bench_output_open(struct bench_output *output, const struct bench_report *report);
int bench_output_commit(struct bench_output *output, const struct bench_report *report);
void bench_output_abandon(struct bench_output *output);

/*
 * program.c: a variant that is a program of peers/, and measures itself; peers/build.sh builds
 * them.
 */
extern const struct bench_ops program_ops;
/* Returns true if the program of this name was built. */
bool program_find(const char *name);

/* --- The system: system.c --------------------------------------------------- */

/* Print a message on stderr, after the name of the workload. */
void bench_complain(const struct bench_workload *workload, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* If stderr is a terminal, draw a bar with the time that is left. */
void bench_progress_show(double fraction, int64_t start_ns, const char *doing);
void bench_progress_clear(void);

int64_t bench_now_ns(void);
/*
 * Returns the time by which the workload is measured: the monotonic clock, or the processor time of
 * this process.
 */
int64_t bench_elapsed_ns(const struct bench_workload *workload);

/*
 * Count the system calls of all threads of this process, by a tracepoint of the kernel.
 * bench_counter returns the number since bench_counter_open, without those of these functions;
 * BENCH_UNKNOWN: only root may count them.
 */
void bench_counter_open(void);
void bench_counter_close(void);
uint64_t bench_counter(void);

/* Returns how often threads of this process have gone to sleep so far. */
uint64_t bench_sleeps(void);

/* Raise the limit of open descriptors to what the workload needs.  Returns an exit code. */
int bench_reserve_descriptors(const struct bench_report *report);

/* Returns the bytes that this process has allocated; 0: unknown. */
uint64_t bench_memory_used(void);

/* Bind this process to one processor.  Returns 0 or -errno. */
int bench_pin(int cpu);

struct bench_machine {
	char kernel[256];
	char cpu[128];
	int cores;
};
void bench_machine_get(struct bench_machine *machine);

/*
 * Another library, whose functions are looked up at run time, so that the command runs without its
 * rivals.
 */
struct bench_library {
	const char *name;         /* "libuv" */
	const char *file;         /* name of the shared library, such as "libuv.so.1" */
	const char *package;      /* the package of Debian that has the library */
	const char *const *names; /* names of the functions; ends with NULL */
	void *functions;          /* structure of pointers to the functions, in this order */
	void *handle;
};
/* Look up the functions.  Returns false if the library or one of them is missing. */
bool bench_library_load(struct bench_library *library);

void bench_signals_install(void);
void bench_signals_restore(void);
void bench_signals_progress(void); /* reports to the watchdog that the measurement goes on */
int bench_interrupted(void);       /* returns the signal that is to end the process, or 0 */
/* returns true if the watchdog ended a wait that did not return */
bool bench_stalled(void);
bool bench_goes_on(int error);     /* returns true for EINTR, if the call is to be repeated */

/*
 * The two ends of a pipe or socket pair.  Both are nonblocking: a read or write that would wait
 * fails with EAGAIN, so the run fails instead of hanging.
 */
struct bench_pair {
	int read_fd;
	int write_fd;
};
struct bench_pairs {
	struct bench_pair *at;
	int len;
};
/* Open `len` pairs.  Returns 0 or -errno; the caller closes the pairs even after an error. */
int bench_pairs_open(enum bench_kind kind, int len, struct bench_pairs *pairs);
void bench_pairs_close(struct bench_pairs *pairs);
/* Read and discard all bytes in the pairs. */
void bench_pairs_drain(const struct bench_pairs *pairs);

#endif
