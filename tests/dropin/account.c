/*
 * Goal: a set that is slower than the real function is given up soon, and its place in the
 * program tried again ever more rarely; one that is faster stays, and measuring it costs
 * little.
 * Method: white box.  Calls that take what the test says.
 */
#include "account.h"
#include "settings.h"
#include "sites.h"
#include "xt.h"

enum { SITE = 0x2000 };

/* What a call takes, ours and the real one. */
struct regime {
	int64_t ours_ns;
	int64_t real_ns;
	int64_t closing_ns; /* beside it, in a close */
};

static int64_t lost_ns; /* by calls that went to the dearer one of the two */

/* At most so many calls; returns after how many of them it is given up, -1: not. */
static int run(struct account *account, struct regime regime, int calls)
{
	int64_t closing_ns = 0;
	int64_t ours_ns = regime.ours_ns + regime.closing_ns;
	int64_t least_ns = ours_ns < regime.real_ns ? ours_ns : regime.real_ns;

	for (int i = 1; i <= calls; i++) {
		enum account_next next = account_next(account);
		bool real = next == ACCOUNT_REAL;

		closing_ns += regime.closing_ns;
		lost_ns += (real ? regime.real_ns : ours_ns) - least_ns;
		if (real)
			account_real(account, regime.real_ns);
		if (next == ACCOUNT_OURS) {
			account_ours(account, regime.ours_ns, false, closing_ns);
			closing_ns = 0;
		}
		if (next != ACCOUNT_NEITHER &&
		    account_verdict(account) == ACCOUNT_LOSES)
			return i;
	}
	return -1;
}

XT_TEST(set_that_is_much_slower_is_given_up_at_once)
{
	struct account account = {0};
	int calls = run(&account, (struct regime){3600, 1000, 0}, 1000);

	XT_CHECK(calls > 0 && calls <= 16);
}

XT_TEST(set_that_is_a_little_slower_is_given_up_when_it_has_settled)
{
	struct account account = {0};
	int calls = run(&account, (struct regime){1100, 1000, 0}, 1000);

	XT_CHECK(calls >= ACCOUNT_SETTLED && calls <= ACCOUNT_SETTLED + 32);
}

XT_TEST(what_closes_take_counts)
{
	struct account account = {0};
	int calls = run(&account, (struct regime){400, 1000, 2000}, 1000);

	XT_CHECK(calls > 0 && calls <= ACCOUNT_COLD + 16);
}

XT_TEST(call_that_the_real_function_has_to_answer_counts_twice)
{
	struct account account = {0};
	enum account_verdict verdict = ACCOUNT_OPEN;

	for (int i = 0; i < 2 * ACCOUNT_SETTLED && verdict == ACCOUNT_OPEN; i++) {
		enum account_next next = account_next(&account);

		if (next == ACCOUNT_REAL)
			account_real(&account, 1000);
		if (next == ACCOUNT_OURS)
			account_ours(&account, 600, true, 0);
		verdict = account_verdict(&account);
	}
	XT_EQ(verdict, ACCOUNT_LOSES);
}

XT_TEST(set_that_is_faster_stays_and_measuring_it_costs_little)
{
	static const int64_t advantages[] = {2, 5, 30, 300};
	enum { CALLS = 100000 };

	for (int i = 0; i < 4; i++) {
		struct regime regime = {1000, 1000 * advantages[i], 0};
		struct account account = {0};

		lost_ns = 0;
		XT_EQ(run(&account, regime, CALLS), -1);
		XT_EQ(account_verdict(&account), ACCOUNT_WINS);
		XT_CHECK(lost_ns <= INT64_C(6) * CALLS * regime.ours_ns / 100);
	}
}

/* Sockets by the thousand: the first call of a kind takes half as long again as the next. */
XT_TEST(first_call_after_one_of_the_other_kind_does_not_count)
{
	struct account account = {0};
	bool was_real = false;

	for (int i = 0; i < ACCOUNT_SETTLED + 64; i++) {
		enum account_next next = account_next(&account);
		bool is_real = next == ACCOUNT_REAL;
		int64_t half_ns = is_real == was_real ? 2 : 3;

		if (is_real)
			account_real(&account, 500 * half_ns);
		if (next == ACCOUNT_OURS)
			account_ours(&account, 650 * half_ns, false, 0);
		was_real = is_real;
	}
	XT_EQ(account.real.sum_ns, account.real.len * INT64_C(1000));
	XT_EQ(account.ours.sum_ns, account.ours.len * INT64_C(1300));
	XT_EQ(account_verdict(&account), ACCOUNT_LOSES);
}

/* Registering what is new takes longer than the calls after it. */
XT_TEST(set_that_is_slower_until_it_has_settled_stays)
{
	struct account account = {0};

	XT_EQ(run(&account, (struct regime){1900, 1000, 0}, ACCOUNT_HOT), -1);
	XT_EQ(run(&account, (struct regime){4000, 1000, 0},
	          ACCOUNT_COLD - ACCOUNT_HOT - 1), -1);
	XT_EQ(run(&account, (struct regime){1400, 1000, 0}, 150), -1);
	XT_EQ(run(&account, (struct regime){200, 1000, 0}, 10000), -1);
}

/* A thousand idle ones, and then all of them are ready all the time. */
XT_TEST(set_that_becomes_slower_is_given_up_soon)
{
	struct account account = {0};
	int calls;

	XT_EQ(run(&account, (struct regime){1000, 30000, 0}, 50000), -1);
	calls = run(&account, (struct regime){120000, 33000, 0}, 10000);
	XT_CHECK(calls > 0 && calls <= 200);
}

/* One call in which a lot was registered is not yet another time. */
XT_TEST(one_slow_call_is_not_enough)
{
	struct account account = {0};

	XT_EQ(run(&account, (struct regime){1000, 30000, 0}, 50000), -1);
	while (account_next(&account) != ACCOUNT_OURS)
		;
	account_ours(&account, 900000, false, 0);
	XT_EQ(account_verdict(&account), ACCOUNT_OPEN);
	XT_EQ(run(&account, (struct regime){1000, 30000, 0}, 50000), -1);
	XT_EQ(account_verdict(&account), ACCOUNT_WINS);
}

/* --- Places in the program ------------------------------------------------------ */

static int calls_until_ripe(unsigned ready)
{
	int calls = 1;

	while (!sites_ripe(SITE)) {
		sites_passed(SITE, ready);
		calls++;
	}
	return calls;
}

XT_TEST(place_is_tried_again_ever_more_rarely_until_it_is_trusted)
{
	uint32_t saved = settings.after;
	int last = 0;

	settings.after = 10;
	XT_EQ(calls_until_ripe(64), 11);
	for (int i = 0; i < 6; i++) {
		int calls;

		sites_regret(SITE, 64);
		calls = calls_until_ripe(64);
		XT_CHECK(calls > last || calls == 10 * 2048 + 1);
		last = calls;
	}
	XT_EQ(last, 10 * 2048 + 1);
	/* Far fewer are ready than when it was not worth it. */
	XT_CHECK(calls_until_ripe(10) <= 10 * 2048 / 32 + 1);
	sites_trust(SITE);
	XT_EQ(calls_until_ripe(64), 11);
	settings.after = saved;
}
