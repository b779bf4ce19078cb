/*
 * Means of what calls take, and when to measure the next one.
 *
 * A real call where the set wins is as dear as many of ours, so they are rarer the more
 * it wins: measuring never takes more than a few parts in a hundred.
 *
 * Each kind of call evicts from the caches what the other needs, and after thousands of
 * sockets the first call of a kind takes half as long again as the next ones.  So two real
 * calls are made in a row, of which the second counts, and ours is not measured right
 * after them.
 */
#include "account.h"

/*
 * Samples without which nothing is decided, and where it is close; means forget what is
 * older than MEAN_MOST.  An interrupt in one of them counts for no more than CLIPPED.
 */
#define SAMPLES_LEAST 3
#define SAMPLES_CLOSE 8
#define MEAN_MOST     16
#define CLIPPED       4

/* The first calls make registrations, whatever comes later. */
#define FIRST 4

/* Calls from one sample to the next; what recurs in a program recurs in powers of two. */
#define STRIDE_FIRST 3
#define STRIDE_CLOSE 31
#define STRIDE_CLEAR 127
#define ADVANTAGE_MOST 1024

/* So long a set has to win before its place in the program is trusted again. */
#define TRUSTED 1000

static int64_t mean_of(const struct account_mean *mean)
{
	return mean->len > 0 ? mean->sum_ns / mean->len : 0;
}

static void mean_add(struct account_mean *mean, int64_t ns)
{
	int64_t most_ns = CLIPPED * mean_of(mean);

	mean->sum_ns += mean->len > 0 && ns > most_ns ? most_ns : ns;
	if (++mean->len < MEAN_MOST)
		return;
	mean->sum_ns /= 2;
	mean->len /= 2;
}

static bool is_known(const struct account *account)
{
	int64_t ours = mean_of(&account->ours);
	int64_t real = mean_of(&account->real);
	bool is_clear = 4 * ours < real || ours > 2 * real;
	int least = is_clear ? SAMPLES_LEAST : SAMPLES_CLOSE;

	return account->ours.len >= least && account->real.len >= least;
}

static uint32_t stride_of(const struct account *account)
{
	if (!is_known(account))
		return STRIDE_FIRST;
	if (4 * mean_of(&account->ours) > 3 * mean_of(&account->real))
		return STRIDE_CLOSE;
	return STRIDE_CLEAR;
}

static uint32_t advantage_of(const struct account *account)
{
	int64_t ours = mean_of(&account->ours);
	int64_t real = mean_of(&account->real);

	if (!is_known(account) || real <= ours || ours == 0)
		return 1;
	return real / ours < ADVANTAGE_MOST ? (uint32_t)(real / ours) : ADVANTAGE_MOST;
}

static void measure_ours_again(struct account *account)
{
	account->ours = (struct account_mean){0};
	account->ours_at = account->calls + 1;
}

/* All that is known is of times that have gone. */
static void measure_again(struct account *account)
{
	measure_ours_again(account);
	account->real = (struct account_mean){0};
	account->real_at = account->calls + 1;
}

enum account_next account_next(struct account *account)
{
	uint32_t call = ++account->calls;

	if (call < FIRST)
		return ACCOUNT_NEITHER;
	/* What ours was like before that is no guide. */
	if (call == ACCOUNT_COLD || call == ACCOUNT_SETTLED)
		measure_ours_again(account);
	if (call >= account->real_at) {
		account->is_warm = call == account->real_last + 1;
		account->real_last = call;
		if (account->is_warm)
			account->real_at = call + stride_of(account) * advantage_of(account);
		if (account->ours_at < call + 2)
			account->ours_at = call + 2;
		return ACCOUNT_REAL;
	}
	if (call < account->ours_at)
		return ACCOUNT_NEITHER;
	account->ours_at = call + stride_of(account);
	return ACCOUNT_OURS;
}

void account_ours(struct account *account, int64_t ns, bool spoke, int64_t closing_ns)
{
	uint32_t calls = account->calls - account->since;
	int64_t real = mean_of(&account->real);

	if (calls > 0)
		ns += closing_ns / calls;
	if (spoke)
		ns += real;
	account->since = account->calls;
	if (stride_of(account) == STRIDE_CLEAR && ns > real)
		measure_again(account);
	else
		mean_add(&account->ours, ns);
}

void account_real(struct account *account, int64_t ns)
{
	if (account->is_warm)
		mean_add(&account->real, ns);
}

enum account_verdict account_verdict(const struct account *account)
{
	int64_t ours = mean_of(&account->ours);
	int64_t real = mean_of(&account->real);

	if (!is_known(account))
		return ACCOUNT_OPEN;
	if (account->calls < ACCOUNT_COLD)
		return account->calls <= ACCOUNT_HOT && ours > 2 * real ? ACCOUNT_LOSES
		                                                        : ACCOUNT_OPEN;
	if (2 * ours > 3 * real)
		return ACCOUNT_LOSES;
	if (account->calls < ACCOUNT_SETTLED)
		return ACCOUNT_OPEN;
	if (20 * ours > 21 * real)
		return ACCOUNT_LOSES;
	if (account->calls >= TRUSTED && 5 * ours < 4 * real)
		return ACCOUNT_WINS;
	return ACCOUNT_OPEN;
}
