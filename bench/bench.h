/*
 * Measuring: workloads, their variants, and how they are run.
 *
 * A workload (looptest) answers one question, or one for each of its phases.  Its variants are
 * xpoll on each back end, programs written by hand on the kernel's calls or on another library, and
 * the limit, which is the work that remains if waiting costs nothing.  The runner opens the
 * workload once; then the variants take turns, round after round, in one process.  Reports have the
 * median of the rounds.
 *
 * A new workload is a file of workloads/ with a struct bench_workload, and a new rival one of
 * rivals/ with a struct loop_ops; both are listed in variants.c.  docs/internals/measuring.md has
 * the other steps.
 *
 * Caution: every open epoll or kqueue set that contains a descriptor makes each write to it
 * slower.  So only the variant that is being measured may be open.
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
#define BENCH_UNKNOWN      UINT64_MAX /* a number that was not counted */

enum bench_peers {
	BENCH_PEERS_NONE,
	BENCH_PEERS_RAW, /* written by hand on the kernel's calls */
	BENCH_PEERS_ALL, /* these, and other libraries */
};

struct bench_options {
	int n;                /* size of the workload */
	double seconds;       /* for each variant, spread over the rounds */
	int rounds;
	int operations;       /* number in each round, in place of a time; 0: as many as fit */
	int cpu;              /* the processor to run on; -1: any */
	const char *backends; /* names with commas between; NULL: all usable */
	enum bench_peers peers; /* rivals to measure beside xpoll */
	const char *json;     /* a file, "-" for stdout, NULL for none */
	const char *library;  /* libxpoll-poll.so; NULL: not found */
};

/* The result of one round of one variant, or of one phase of it. */
struct bench_sample {
	uint64_t operations;
	uint64_t elapsed_ns;
	uint64_t syscalls; /* or BENCH_UNKNOWN */
	uint64_t wakes; /* wake-ups of threads, if tells_wakes */
	uint64_t bytes; /* memory for all n items; 0: unknown */
};

struct bench_field;

/* The way of waiting of a variant. */
struct bench_way {
	const char *backend;         /* back end of xpoll; otherwise NULL */
	const struct loop_ops *loop; /* NULL: it is not written on one */
	const char *program;         /* of peers/, see program.c */
	const struct bench_workload *workload;
	const struct bench_options *options;
};

struct bench_turn; /* of one variant: what all its functions get; loop.h has it */

/* Do some operations, at most turn->count.  Returns their number; 0: call again; or -errno. */
typedef int bench_run_function(struct bench_turn *turn);

/*
 * How one variant does the work.  Functions return >= 0, or -errno.
 *
 * size      of turn->own, all zero at first
 * room      events that one wait may return, or BENCH_ROOM_N; 0: it opens no loop, or others
 * passes    phases depend on each other: they are gone through one after the other, again
 *           and again, and run does all of a phase, whatever the count.  If it knows better
 *           than the runner what that took, it is in the turn's sample.
 * open      prepare, when the turn's loop is open
 * run       NULL: that of the phase.  A system call that was interrupted is repeated when
 *           bench_goes_on says so.
 * syscalls  how many system calls were made so far, or BENCH_UNKNOWN; NULL: those of
 *           bench_calls and of the turn's loop
 * close     also when open has failed, wherever that was; NULL: nothing to do but to close
 *           the turn's loop
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

/* A phase, which is measured by itself. */
struct bench_phase {
	const char *name; /* NULL: the only phase */
	int value;        /* used by the workload: number of active items, of threads */
	int how;          /* used by the workload */
	int (*prepare)(struct bench_turn *turn); /* not measured; or NULL */
	bench_run_function *run;
	bool whole;       /* its bytes are of all, and not of each item */
};

struct bench_variant {
	const char *name;
	const struct bench_ops *ops; /* NULL: those of the workload */
	const struct loop_ops *loop; /* NULL: it is not written on one */
};

/*
 * What a workload has n of: pairs, whose read ends are watched; targets that its open
 * fills in; or things without a descriptor.
 */
enum bench_kind { BENCH_PIPES, BENCH_SOCKETS, BENCH_TARGETS, BENCH_NOTHING };

struct bench_workload {
	const char *name;
	const char *summary; /* one line */
	const char *help;    /* paragraphs for --help */
	const char *unit;    /* one operation: "read" */
	const char *items;   /* what n counts: "pipes" */
	int n_default;
	int n_max;          /* 0: BENCH_N_MAX */
	int rounds_default; /* 0: 25 */
	struct bench_phase phases[BENCH_PHASES_MAX]; /* those with a name, or the first one */
	/* The variants that the others are compared with; NULL ends them. */
	const char *references[BENCH_REFERENCES];
	bool tells_bytes; /* what is allocated after a phase is a result */
	bool tells_wakes; /* so is how often a thread was woken */
	/*
	 * Threads wait for each other.  Else nobody waits for anybody, so it is the time
	 * of the processor that counts: what else runs on this machine does not.
	 */
	bool by_clock;

	/*
	 * What all variants share is a struct bench_field.  open and close, or NULL, have to
	 * do with its `own`, of setup_size and all zero before, and with targets; 0 or -errno;
	 * close also when open has failed.
	 */
	enum bench_kind kind;
	short events;   /* of pairs, besides POLLIN */
	bool both_ends; /* their write ends are targets, too */
	int targets_more; /* beyond those of n */
	size_t setup_size;
	int (*open)(struct bench_field *field);
	void (*close)(struct bench_field *field);
	/* Descriptors that are needed: some 50 of its own need no mention. */
	int fds_each; /* for each of n; those of pairs need no mention */
	int fds_more;

	/* xpoll's, once for each back end, unless it has no part in it (absent). */
	struct bench_ops ops;
	bool absent;
	/*
	 * Written on loops: `ops` for each rival that can do all of this, a set
	 * of enum loop_ability.  0: only `peers`.
	 */
	unsigned loops;
	const struct threads_kind *threads; /* threads.c */
	/* Programs can do it, too; or one token goes round (rings). */
	bool programs;
	bool rings;
	const struct bench_variant *peers; /* ends with a NULL name; or NULL */
	const struct bench_variant *limit; /* NULL: nothing is left then */
};

/* All rounds of one phase. */
struct bench_result {
	double rates[BENCH_ROUNDS_MAX]; /* operations per second, one for each round */
	double calls[BENCH_ROUNDS_MAX]; /* system calls per operation; NAN: unknown */
	uint64_t operations;
	uint64_t syscalls;
	uint64_t wakes;
	uint64_t bytes;
};

/* A variant that is measured. */
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
	/* Variants that cannot be measured here, and why. */
	struct {
		const char *variant;
		const struct bench_library *library; /* NULL: it is a program */
	} missing[BENCH_VARIANTS_MAX];
	int missing_len;
};

/* All of them; ends with NULL. */
extern const struct bench_workload *const bench_workloads[];

/*
 * Measure a workload and report.  Returns an exit code: 0; 1 the measurement
 * failed; 2 the options cannot be met.  Says why on stderr.  On SIGINT and
 * SIGTERM it cleans up and ends the process by that signal.
 */
int bench_run(const struct bench_workload *workload,
              const struct bench_options *options);

/* --- below: between the files of bench/ --------------------------------- */

/* runner.c */
/*
 * What is measured with --operations.  It is known to others by its name, so that
 * scripts/instructions.py can have its instructions counted.
 */
__attribute__((noinline)) int bench_counted(const struct bench_ops *ops, struct bench_turn *turn,
                                            int count);

/* variants.c: fill in report->contenders from the options; an exit code. */
int bench_select_variants(struct bench_report *report);

/* report.c */
void bench_report_table(const struct bench_report *report, FILE *to);
void bench_report_json(const struct bench_report *report, FILE *to);

/* A file: open prints why it failed and returns an exit code; commit likewise. */
struct bench_output {
	FILE *file;               /* NULL: nothing to write */
	char path[PATH_MAX];      /* of the file that is wanted */
	char part[PATH_MAX + 32]; /* what is written until then; "": the file itself */
};
int bench_output_open(struct bench_output *output, const struct bench_report *report);
int bench_output_commit(struct bench_output *output, const struct bench_report *report);
void bench_output_abandon(struct bench_output *output);

/* program.c: a rival that is a program, and measures itself; peers/build.sh says how. */
extern const struct bench_ops program_ops;
bool program_find(const char *name);

/* --- The system: system.c --------------------------------------------------- */

/* Print a message on stderr that names the workload. */
void bench_complain(const struct bench_workload *workload, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Draw a bar with the time left if stderr is a terminal. */
void bench_progress_show(double fraction, int64_t start_ns, const char *doing);
void bench_progress_clear(void);

int64_t bench_now_ns(void);
/* Returns the time: by the clock, or the processor time of this process. */
int64_t bench_elapsed_ns(const struct bench_workload *workload);

/*
 * System calls that all threads of this process have made since bench_counter_open, as the
 * kernel counts them; or BENCH_UNKNOWN, because only root may ask.  Without those of the
 * functions here.
 */
void bench_counter_open(void);
void bench_counter_close(void);
uint64_t bench_counter(void);

/* Returns how often threads of this process have gone to sleep. */
uint64_t bench_sleeps(void);

/* Raise the limit for the descriptors of a report.  Returns an exit code. */
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
 * The functions of another library, looked up when they are needed: the command does not depend on
 * its rivals.
 */
struct bench_library {
	const char *name;         /* "libuv" */
	const char *file;         /* "libuv.so.1" */
	const char *package;      /* where Debian has it */
	const char *const *names; /* of its functions; NULL ends them */
	void *functions;          /* a structure of pointers to them, in this order */
	void *handle;
};
bool bench_library_load(struct bench_library *library);

void bench_signals_install(void);
void bench_signals_restore(void);
void bench_signals_progress(void); /* shows the watchdog that we make progress */
int bench_interrupted(void);       /* returns the signal that is to end us, or 0 */
bool bench_stalled(void);          /* returns true if a wait did not return */
bool bench_goes_on(int error);     /* returns true for an EINTR after which to continue */

/*
 * A pair of descriptors for bytes.  Both are nonblocking: a read or write that would block fails
 * with EAGAIN, and the run fails instead of hanging.
 */
struct bench_pair {
	int read_fd;
	int write_fd;
};
struct bench_pairs {
	struct bench_pair *at;
	int len;
};
/* 0 or -errno; what was opened is there nonetheless, to be closed. */
int bench_pairs_open(enum bench_kind kind, int len, struct bench_pairs *pairs);
void bench_pairs_close(struct bench_pairs *pairs);
/* Read whatever was left in the pairs. */
void bench_pairs_drain(const struct bench_pairs *pairs);

#endif
