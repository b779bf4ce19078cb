/* Merges the events of processes that a queue delivers. */
#include "history.h"

int history_watch(struct xpoll *queue, pid_t pid, uint32_t fflags)
{
	return xt_change(queue, (uint64_t)pid, PROC, XPOLL_ADD, fflags, 0, NULL);
}

struct helper history_helper(struct xpoll *queue, uint32_t fflags)
{
	struct helper helper = helper_start();

	XT_EXPECT_STATUS(history_watch(queue, helper.pid, fflags), 0);
	return helper;
}

bool history_can_be_told(void)
{
	return xpoll_supports(NULL, PROC, FORK | EXEC | TRACK) == 1;
}

bool history_by_connector(void)
{
	const char *name = getenv("XPOLL_PROC");

	return !name || strcmp(name, "connector") == 0;
}

static struct told *told_of(struct history *history, pid_t pid)
{
	for (int i = 0; i < history->len; i++)
		if (history->told[i].pid == pid)
			return &history->told[i];
	if (!history->told)
		history->told = calloc(HISTORY_MOST, sizeof *history->told);
	if (!history->told || history->len == HISTORY_MOST)
		return NULL;
	history->told[history->len].pid = pid;
	return &history->told[history->len++];
}

static void history_add(struct history *history, const struct xpoll_event *event)
{
	struct told *told = told_of(history, (pid_t)event->ident);

	if (!XT_EXPECT(told) || !XT_EXPECT_EQ(event->filter, PROC))
		return;
	/* Each note comes once; no event comes before the birth, and none after the exit. */
	XT_EXPECT(!(told->notes & EXIT));
	XT_EXPECT(!(event->fflags & CHILD) || told->events == 0);
	XT_EXPECT(event->fflags != 0);
	XT_EXPECT_EQ(!(event->flags & XPOLL_EOF), !(event->fflags & EXIT));
	told->events++;
	told->notes |= event->fflags;
	if (event->fflags & CHILD) {
		XT_EXPECT(!(event->fflags & EXIT));
		told->parent = (pid_t)event->data;
	} else if (event->fflags & EXIT) {
		told->status = (int)event->data;
	} else {
		XT_EXPECT_EQ(event->data, 0);
	}
}

static int history_take(struct xpoll *queue, struct history *history,
                        int64_t timeout_ns)
{
	struct xpoll_event events[64];
	/* Only one thread waits, because two would lose the order of the events. */
	int count = xpoll_event(queue, NULL, 0, events, 64, timeout_ns);

	for (int i = 0; i < count; i++)
		history_add(history, &events[i]);
	return count;
}

void history_hear(struct xpoll *queue, struct history *history)
{
	while (history_take(queue, history, 0) > 0)
		continue;
}

const struct told *history_of(const struct history *history, pid_t pid)
{
	static const struct told nothing;

	for (int i = 0; i < history->len; i++)
		if (history->told[i].pid == pid)
			return &history->told[i];
	return &nothing;
}

int history_count(const struct history *history, uint32_t notes)
{
	int count = 0;

	for (int i = 0; i < history->len; i++)
		count += (history->told[i].notes & notes) == notes;
	return count;
}

bool history_until(struct xpoll *queue, struct history *history, pid_t pid,
                   uint32_t notes)
{
	while ((history_of(history, pid)->notes & notes) != notes)
		if (!XT_EXPECT(history_take(queue, history, XT_SOON) > 0))
			return false;
	return true;
}

bool history_until_count(struct xpoll *queue, struct history *history, int count,
                         uint32_t notes)
{
	while (history_count(history, notes) < count)
		if (!XT_EXPECT(history_take(queue, history, XT_SOON) > 0)) {
			xt_note("%d of %d", history_count(history, notes), count);
			return false;
		}
	return true;
}

bool history_ends_with(struct xpoll *queue, struct helper helper, int status)
{
	struct xpoll_event event;

	if (!xt_gets(__FILE__, __LINE__, queue, &event, (uint64_t)helper.pid,
	             PROC))
		return false;
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_EXPECT_EQ(event.flags, XPOLL_EOF);
	XT_EXPECT_EQ(event.data, status);
	return XT_EXPECT_EQ(helper_wait(helper), event.data);
}
