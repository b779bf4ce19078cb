/*
 * Is a set worth it?  Some calls of its array are measured, and some go to the real
 * function to be measured too: processor time, so that what other processes do does not
 * count, nor how long a call waits.
 */
#ifndef DROPIN_ACCOUNT_H
#define DROPIN_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Calls in which a new set settles: nothing is registered in the first of them but what
 * is too much to be hot; then what is hot gets cold; at last what changes to and fro has
 * been registered with all that is asked of it in turns.
 */
#define ACCOUNT_HOT     16
#define ACCOUNT_COLD    96
#define ACCOUNT_SETTLED 256

struct account_mean {
	int64_t sum_ns;
	int len;
};

struct account {
	uint32_t calls;
	uint32_t ours_at; /* the next call that is measured */
	uint32_t real_at; /* the next one that goes to the real function */
	uint32_t real_last;
	bool is_warm;     /* that one came right after another real one */
	uint32_t since;   /* the last one that was measured */
	struct account_mean ours;
	struct account_mean real;
};

enum account_next { ACCOUNT_NEITHER, ACCOUNT_OURS, ACCOUNT_REAL };

/* What the call that begins now is for. */
enum account_next account_next(struct account *account);

/*
 * What it has taken; `spoke`: the real function is called besides.  `closing_ns` is what
 * closes have taken for the set since the last time.
 */
void account_ours(struct account *account, int64_t ns, bool spoke, int64_t closing_ns);
void account_real(struct account *account, int64_t ns);

enum account_verdict {
	ACCOUNT_OPEN,
	ACCOUNT_WINS,
	ACCOUNT_LOSES,
};

enum account_verdict account_verdict(const struct account *account);

#endif
