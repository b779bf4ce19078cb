/*
 * A progress bar on stderr, when that is a terminal; else nothing at all.
 * It is drawn between measurements, never during one.
 */
#include <stdio.h>
#include <unistd.h>

#include "bench.h"

#define BAR_WIDTH 24

static bool progress_drawn;

void bench_progress_show(double fraction, int64_t start_ns, const char *doing)
{
	int full = (int)(fraction * BAR_WIDTH);
	double spent = (double)(bench_now_ns() - start_ns) / 1e9;
	int left = fraction > 0 ? (int)(spent / fraction - spent + 0.5) : 0;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K[", stderr);
	for (int i = 0; i < BAR_WIDTH; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %3d%%  ", (int)(fraction * 100));
	if (fraction > 0)
		fprintf(stderr, "%d:%02d left  ", left / 60, left % 60);
	fputs(doing, stderr);
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
