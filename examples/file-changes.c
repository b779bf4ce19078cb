/*
 * Print what happens to a file: Figure 8 of the kqueue paper.
 *
 *     file-changes PATH
 *
 * The descriptor is watched, not the name: the file is followed when it is
 * renamed.  Ends when the file was deleted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <xpoll.h>

static const struct {
	uint32_t note;
	const char *text;
} changes[] = {
	{ XPOLL_NOTE_RENAME, " renamed" },
	{ XPOLL_NOTE_WRITE, " written" },
	{ XPOLL_NOTE_DELETE, " deleted" },
	{ XPOLL_NOTE_ATTRIB, " chmod/chowned" },
};

static void print_notes(uint32_t notes)
{
	printf("The file was");
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
		if (notes & changes[i].note)
			printf("%s", changes[i].text);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct xpoll *queue = xpoll_open(NULL);
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)fd, XPOLL_FILT_VNODE, XPOLL_ADD,
	          XPOLL_NOTE_RENAME | XPOLL_NOTE_WRITE | XPOLL_NOTE_DELETE |
	          XPOLL_NOTE_ATTRIB, 0, NULL);
	if (fd < 0 || xpoll_event(queue, &event, 1, NULL, 0, 0) < 0) {
		perror(argc == 2 ? argv[1] : "usage: file-changes PATH");
		return 1;
	}
	printf("watching %s\n", argv[1]);
	fflush(stdout);
	do {
		if (xpoll_event(queue, NULL, 0, &event, 1, -1) == 1)
			print_notes(event.fflags);
	} while (!ferror(stdout) && !(event.fflags & XPOLL_NOTE_DELETE));
	xpoll_close_fd(fd);
	xpoll_destroy(queue);
	return 0;
}
