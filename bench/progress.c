/*
 * A progress bar on stderr, when that is a terminal; else nothing at all.
 * It is drawn between measurements, never during one.
 */
#include <stdio.h>
#include <unistd.h>

#include "bench.h"

#define BAR_WIDTH 24

static bool progress_drawn;

void bench_progress_show(double fraction, const char *doing)
{
	int full = (int)(fraction * BAR_WIDTH);

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K[", stderr);
	for (int i = 0; i < BAR_WIDTH; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %3d%%  %s", (int)(fraction * 100), doing);
	fflush(stderr);
	progress_drawn = true;
}

void bench_progress_clear(void)
{
	if (!progress_drawn)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_drawn = false;
}
