/*
 * The machine in a few words, since a rate means nothing without it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"

/* The text after "model name :" in /proc/cpuinfo; false if there is none. */
static bool cpu_from_proc(char *cpu, size_t size)
{
	static const char key[] = "model name";
	char line[256];
	bool found = false;
	FILE *file = fopen("/proc/cpuinfo", "r");

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof line, file) != NULL) {
		const char *colon = strchr(line, ':');

		if (colon == NULL || strncmp(line, key, sizeof key - 1) != 0)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		snprintf(cpu, size, "%.*s", (int)strcspn(colon, "\n"), colon);
		found = true;
	}
	fclose(file);
	return found;
}

void bench_machine_get(struct bench_machine *machine)
{
	struct utsname names;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	memset(&names, 0, sizeof names);
	if (uname(&names) < 0)
		memcpy(names.sysname, "unknown", sizeof "unknown");
	snprintf(machine->kernel, sizeof machine->kernel, "%s %s",
	         names.sysname, names.release);
	if (!cpu_from_proc(machine->cpu, sizeof machine->cpu))
		snprintf(machine->cpu, sizeof machine->cpu, "%s", names.machine);
	machine->cores = cores > 0 ? (int)cores : 1;
}
