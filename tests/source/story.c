/* Putting together what a queue tells of processes. */
#include "story.h"

int story_watch(struct xpoll *queue, pid_t pid, uint32_t fflags)
{
	return xt_change(queue, (uint64_t)pid, PROC, XPOLL_ADD, fflags, 0, NULL);
}

bool story_can_be_told(void)
{
	return xpoll_supports(NULL, PROC, FORK | EXEC | TRACK) == 1;
}

bool story_by_connector(void)
{
	const char *name = getenv("XPOLL_PROC");

	return !name || strcmp(name, "connector") == 0;
}

static struct told *told_of(struct story *story, pid_t pid)
{
	for (int i = 0; i < story->len; i++)
		if (story->told[i].pid == pid)
			return &story->told[i];
	if (!story->told)
		story->told = calloc(STORY_MOST, sizeof *story->told);
	if (!story->told || story->len == STORY_MOST)
		return NULL;
	story->told[story->len].pid = pid;
	return &story->told[story->len++];
}

static void story_add(struct story *story, const struct xpoll_event *event)
{
	struct told *told = told_of(story, (pid_t)event->ident);

	if (!XT_EXPECT(told) || !XT_EXPECT_EQ(event->filter, PROC))
		return;
	/* Once each, and nothing comes before the birth or after the end. */
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

static int story_take(struct xpoll *queue, struct story *story,
                      int64_t timeout_ns)
{
	struct xpoll_event events[64];
	/* By one thread: two at a time would lose the order of events. */
	int count = xpoll_event(queue, NULL, 0, events, 64, timeout_ns);

	for (int i = 0; i < count; i++)
		story_add(story, &events[i]);
	return count;
}

void story_hear(struct xpoll *queue, struct story *story)
{
	while (story_take(queue, story, 0) > 0)
		continue;
}

const struct told *story_of(const struct story *story, pid_t pid)
{
	static const struct told nothing;

	for (int i = 0; i < story->len; i++)
		if (story->told[i].pid == pid)
			return &story->told[i];
	return &nothing;
}

int story_count(const struct story *story, uint32_t notes)
{
	int count = 0;

	for (int i = 0; i < story->len; i++)
		count += (story->told[i].notes & notes) == notes;
	return count;
}

bool story_until(struct xpoll *queue, struct story *story, pid_t pid,
                 uint32_t notes)
{
	while ((story_of(story, pid)->notes & notes) != notes)
		if (!XT_EXPECT(story_take(queue, story, XT_SOON) > 0))
			return false;
	return true;
}

bool story_until_count(struct xpoll *queue, struct story *story, int count,
                       uint32_t notes)
{
	while (story_count(story, notes) < count)
		if (!XT_EXPECT(story_take(queue, story, XT_SOON) > 0)) {
			xt_note("%d of %d", story_count(story, notes), count);
			return false;
		}
	return true;
}

bool story_ends_with(struct xpoll *queue, struct puppet puppet, int status)
{
	struct xpoll_event event;

	if (!xt_gets(__FILE__, __LINE__, queue, &event, (uint64_t)puppet.pid,
	             PROC))
		return false;
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_EXPECT_EQ(event.flags, XPOLL_EOF);
	XT_EXPECT_EQ(event.data, status);
	return XT_EXPECT_EQ(puppet_wait(puppet), event.data);
}
