/*
 * Print what happens to files and folders, until all of them are gone.
 *
 *     file-watcher PATH...
 *
 * The descriptor is watched, not the name: a file is followed when it is renamed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <xpoll.h>

static const struct {
	uint32_t note;
	const char *word;
} words[] = {
	{ XPOLL_NOTE_WRITE, "written" },  { XPOLL_NOTE_EXTEND, "grown" },
	{ XPOLL_NOTE_TRUNCATE, "cut" },   { XPOLL_NOTE_RENAME, "renamed" },
	{ XPOLL_NOTE_DELETE, "deleted" },
};

static int watch(struct xpoll *queue, char *path)
{
	struct xpoll_event add;
	int fd = open(path, O_RDONLY);
	uint32_t notes = 0;

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		notes |= words[i].note;
	xpoll_set(&add, (uint64_t)fd, XPOLL_FILT_VNODE, XPOLL_ADD, notes, 0, path);
	return fd < 0 ? -1 : xpoll_event(queue, &add, 1, NULL, 0, 0);
}

/* Print a line such as "PATH: written grown". */
static void print(const char *path, uint32_t notes)
{
	printf("%s:", path);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (notes & words[i].note)
			printf(" %s", words[i].word);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct xpoll_event event;

	setvbuf(stdout, NULL, _IOLBF, 0); /* write each line at once, into a pipe, too */
	for (int i = 1; i < argc; i++) {
		if (watch(queue, argv[i]) < 0) {
			perror(argv[i]);
			return 1;
		}
		printf("watching %s\n", argv[i]);
	}
	for (int left = argc - 1; left > 0;) {
		int count = xpoll_event(queue, NULL, 0, &event, 1, -1);

		if (count < 0 && errno != EINTR) {
			perror("file-watcher");
			return 1;
		}
		if (count < 1)
			continue;
		print(event.udata, event.fflags);
		if (event.fflags & XPOLL_NOTE_DELETE) {
			xpoll_close_fd((int)event.ident); /* this ends the registration */
			left--;
		}
	}
	xpoll_destroy(queue);
	return 0;
}
