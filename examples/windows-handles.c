/*
 * Windows: wait for a program that was started and for a waitable timer, by their handles.
 */
#include <stdint.h>
#include <stdio.h>
#include <xpoll.h>

#include <windows.h>

static int watch(struct xpoll *queue, HANDLE handle, int flags)
{
	struct xpoll_event change;

	xpoll_set(&change, (uintptr_t)handle, XPOLL_FILT_READ, XPOLL_ADD | flags, 0, 0, NULL);
	return xpoll_event(queue, &change, 1, NULL, 0, 0);
}

int main(void)
{
	char command[] = "cmd.exe /c exit 3";
	STARTUPINFOA start = {.cb = sizeof start};
	PROCESS_INFORMATION child;
	LARGE_INTEGER after = {.QuadPart = -100000}; /* 10 ms, in units of 100 ns */
	HANDLE timer = CreateWaitableTimerA(NULL, FALSE, NULL);
	struct xpoll *queue = xpoll_open(NULL);
	struct xpoll_event event;
	int ticks = 0;
	DWORD code;

	if (queue == NULL || timer == NULL ||
	    !SetWaitableTimer(timer, &after, 10, NULL, NULL, FALSE) ||
	    !CreateProcessA(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &start, &child))
		return 1;
	if (watch(queue, timer, 0) < 0 || watch(queue, child.hProcess, XPOLL_ONESHOT) < 0) {
		perror("xpoll_event");
		return 1;
	}
	while (xpoll_event(queue, NULL, 0, &event, 1, -1) == 1 &&
	       event.ident != (uintptr_t)child.hProcess)
		ticks++;
	GetExitCodeProcess(child.hProcess, &code);
	printf("exit code %lu, %s\n", (unsigned long)code,
	       ticks > 0 ? "after some ticks" : "before the first tick");
	xpoll_destroy(queue);
	return code == 3 ? 0 : 1;
}
