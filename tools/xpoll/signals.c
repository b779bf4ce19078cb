/* Converts signals to names and back, spelled like those of kill(1). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },       { "INT", SIGINT },       { "QUIT", SIGQUIT },
	{ "ILL", SIGILL },       { "TRAP", SIGTRAP },     { "ABRT", SIGABRT },
	{ "BUS", SIGBUS },       { "FPE", SIGFPE },       { "KILL", SIGKILL },
	{ "USR1", SIGUSR1 },     { "SEGV", SIGSEGV },     { "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE },     { "ALRM", SIGALRM },     { "TERM", SIGTERM },
	{ "CHLD", SIGCHLD },     { "CONT", SIGCONT },     { "STOP", SIGSTOP },
	{ "TSTP", SIGTSTP },     { "TTIN", SIGTTIN },     { "TTOU", SIGTTOU },
	{ "URG", SIGURG },       { "XCPU", SIGXCPU },     { "XFSZ", SIGXFSZ },
	{ "VTALRM", SIGVTALRM }, { "PROF", SIGPROF },     { "WINCH", SIGWINCH },
	{ "SYS", SIGSYS },       { "IO", SIGIO },
#ifdef SIGSTKFLT
	{ "STKFLT", SIGSTKFLT },
#endif
#ifdef SIGPWR
	{ "PWR", SIGPWR },
#endif
#ifdef SIGINFO
	{ "INFO", SIGINFO },
#endif
};

#define SIGNALS (sizeof signals / sizeof signals[0])

/* Returns the whole number that the text is; -1: the text is none, or greater than most. */
static int read_number(const char *text, int most)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > 4 || text[digits] != '\0' || atoi(text) > most)
		return -1;
	return atoi(text);
}

int tool_read_signal(const char *text)
{
	int number = read_number(text, SIGRTMAX);

	if (number >= 0)
		return number;
	if (strncmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; i < SIGNALS; i++)
		if (strcmp(signals[i].name, text) == 0)
			return signals[i].number;
	if (strcmp(text, "RTMIN") == 0)
		return SIGRTMIN;
	if (strncmp(text, "RTMIN+", 6) == 0) {
		number = read_number(text + 6, SIGRTMAX - SIGRTMIN);
		return number >= 0 ? SIGRTMIN + number : 0;
	}
	return 0;
}

const char *tool_signal_name(int number, char *buffer, size_t size)
{
	for (size_t i = 0; i < SIGNALS; i++)
		if (signals[i].number == number)
			return signals[i].name;
	if (number == SIGRTMIN)
		snprintf(buffer, size, "RTMIN");
	else if (number > SIGRTMIN && number <= SIGRTMAX)
		snprintf(buffer, size, "RTMIN+%d", number - SIGRTMIN);
	else
		snprintf(buffer, size, "%d", number);
	return buffer;
}
