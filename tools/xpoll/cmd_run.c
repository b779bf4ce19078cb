/*
 * xpoll run: executes a program with a drop-in in front of the C library.
 *
 * The program replaces this command.  If the drop-in cannot affect the program, a message says so
 * first, and the program runs all the same.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

/* The exit codes that a shell has for these cases. */
enum { RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

#define RUN_LIBRARY "libxpoll-poll.so"

static const struct tool_usage usage = {
	.name = "xpoll run",
	.synopsis = "--poll [--stats] [--] PROGRAM [ARGUMENT]...",
	.text = "Run a program with a poll(2) and select(2) whose cost does not grow with the\n"
	        "number of idle descriptors; see xpoll-poll(7).\n\n"
	        "  --poll   replace poll, ppoll, select and pselect by libxpoll-poll.so\n"
	        "  --stats  print its statistics to stderr when a process ends\n\n"
	        "The exit status is the program's; 126 if it cannot be executed, 127 if it is\n"
	        "not found.\n",
};

struct run {
	bool poll;
	bool stats;
	char **program; /* terminated by NULL */
};

/* --- The program ---------------------------------------------------------------- */

/* Stores the path at which execvp(3) finds the program.  Returns false if it finds none. */
static bool run_find(const char *name, char path[PATH_MAX])
{
	const char *at = getenv("PATH");

	if (strchr(name, '/') != NULL || at == NULL)
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	for (;;) {
		size_t len = strcspn(at, ":");
		int used = snprintf(path, PATH_MAX, "%.*s/%s", (int)len,
		                    len > 0 ? at : ".", name);

		if (used < PATH_MAX && access(path, X_OK) == 0)
			return true;
		if (at[len] == '\0')
			return false;
		at += len + 1;
	}
}

/*
 * Returns true if the program, a 64-bit ELF file with this header, needs a dynamic linker (has
 * PT_INTERP), or if it cannot be read.
 */
static bool run_has_linker(int fd, const Elf64_Ehdr *head)
{
	for (int i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr part;
		off_t at = (off_t)(head->e_phoff + (uint64_t)i * head->e_phentsize);

		if (pread(fd, &part, sizeof part, at) != (ssize_t)sizeof part)
			return true;
		if (part.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/*
 * If the file is a script (begins with "#!"), replace its path by that of its interpreter; if that
 * is "env NAME", by that of NAME.  Returns false if the file is no script.
 */
static bool run_take_interpreter(int fd, char path[PATH_MAX])
{
	char line[PATH_MAX];
	ssize_t len = pread(fd, line, sizeof line - 1, 0);
	char *rest = NULL;
	char *word;
	char *name;

	if (len < 2 || memcmp(line, "#!", 2) != 0)
		return false;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &rest);
	if (word == NULL)
		return false;
	name = strrchr(word, '/');
	if (name != NULL && strcmp(name, "/env") == 0) {
		char *program = strtok_r(NULL, " \t", &rest);

		if (program != NULL && strcmp(program, "-S") == 0)
			program = strtok_r(NULL, " \t", &rest);
		if (program != NULL && program[0] != '-' && strchr(program, '=') == NULL)
			return run_find(program, path);
	}
	return snprintf(path, PATH_MAX, "%s", word) < PATH_MAX;
}

/* Returns why the drop-in has no effect on a program that is no script, as a phrase; or NULL. */
static const char *run_obstacle_of(int fd)
{
	const char *obstacle = NULL;
	Elf64_Ehdr head;
	struct stat status;

	if (fstat(fd, &status) == 0 &&
	    (((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) ||
	     ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid())))
		obstacle = "runs as another user";
	else if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
	         memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		obstacle = NULL; /* a program of an unknown format */
	else if (head.e_ident[EI_CLASS] != (sizeof(long) == 8 ? ELFCLASS64 : ELFCLASS32))
		obstacle = "is for another kind of processor";
	else if (head.e_ident[EI_CLASS] == ELFCLASS64 && !run_has_linker(fd, &head))
		obstacle = "is statically linked";
	return obstacle;
}

/*
 * Returns why the drop-in will have no effect on this program, as a phrase that follows the path;
 * NULL: there is no known reason.  For a script the path becomes that of its interpreter.
 */
static const char *run_obstacle(char path[PATH_MAX])
{
	enum { SCRIPTS = 4 }; /* the kernel follows at most so many scripts as interpreters */
	const char *obstacle = NULL;
	bool script = true;

	for (int i = 0; i <= SCRIPTS && script; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return NULL;
		script = run_take_interpreter(fd, path);
		if (!script)
			obstacle = run_obstacle_of(fd);
		close(fd);
	}
	return obstacle;
}

/* --- Its environment -------------------------------------------------------------- */

static int run_fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", usage.name, what, why);
	return TOOL_FAILED;
}

/*
 * Returns the length of the beginning of this value of LD_PRELOAD that names runtimes of
 * sanitizers: these have to stay the first libraries.
 */
static size_t run_sanitizers(const char *list)
{
	static const char *const names[] = { "libasan.", "libtsan.", "liblsan.", "libubsan.",
	                                     "libhwasan.", "libclang_rt." };
	size_t end = 0;

	for (;;) {
		size_t start = end + strspn(list + end, " :");
		size_t len = strcspn(list + start, " :");
		size_t name = start + len;
		bool found = false;

		while (name > start && list[name - 1] != '/')
			name--;
		for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
			if (strncmp(list + name, names[i], strlen(names[i])) == 0)
				found = true;
		if (len == 0 || !found)
			return end;
		end = start + len;
	}
}

/* Add the drop-in to LD_PRELOAD.  Returns an exit code, TOOL_OK or after a message. */
static int run_prepare(const struct run *run)
{
	const char *library = tool_find_library(RUN_LIBRARY);
	const char *others = getenv("LD_PRELOAD");
	size_t size;
	size_t first;
	char *list;

	if (library == NULL)
		return run_fail(RUN_LIBRARY, access("/proc/self/exe", F_OK) < 0
		                ? "cannot be found without /proc, which shows where this "
		                  "command is; set LD_PRELOAD yourself"
		                : "not installed with this command");
	if (strpbrk(library, " :") != NULL)
		return run_fail(library, "the dynamic linker cannot load from a folder "
		                         "with a space or a colon in its name");
	if (others == NULL)
		others = "";
	first = run_sanitizers(others);
	size = strlen(library) + strlen(others) + 3;
	list = malloc(size);
	if (list == NULL)
		return run_fail("environment", strerror(ENOMEM));
	snprintf(list, size, "%.*s%s%s%s%s", (int)first, others, first > 0 ? ":" : "",
	         library, others[first] != '\0' && others[first] != ':' ? ":" : "",
	         others + first);
	if (setenv("LD_PRELOAD", list, 1) < 0 ||
	    (run->stats && setenv("XPOLL_POLL_STATS", "1", 1) < 0)) {
		free(list);
		return run_fail("environment", strerror(ENOMEM));
	}
	free(list);
	return TOOL_OK;
}

/* Execute the program; returns, with the exit code, only if that fails. */
static int run_program(const struct run *run)
{
	const char *name = run->program[0];
	char path[PATH_MAX];
	int error;

	if (run_find(name, path)) {
		const char *obstacle = run_obstacle(path);

		if (obstacle != NULL)
			fprintf(stderr, "%s: %s %s, so the drop-in has no effect\n", usage.name,
			        path, obstacle);
	}
	tool_restore_signals();
	execvp(name, run->program);
	error = errno;
	(void)run_fail(name, strerror(error));
	return error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

/* --- Arguments ----------------------------------------------------------------------- */

/* Parse the arguments into *run.  Returns TOOL_GO_ON, or the exit code to end with. */
static int run_parse(int argc, char **argv, struct run *run)
{
	int at = 1;

	for (; at < argc && argv[at][0] == '-'; at++) {
		const char *option = argv[at];

		if (strcmp(option, "--") == 0) {
			at++;
			break;
		}
		if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
			tool_print_help(&usage);
			return TOOL_OK;
		}
		if (strcmp(option, "--version") == 0) {
			tool_print_version();
			return TOOL_OK;
		}
		if (strcmp(option, "--poll") == 0)
			run->poll = true;
		else if (strcmp(option, "--stats") == 0)
			run->stats = true;
		else
			return tool_complain(&usage, "%s: no such option", option);
	}
	if (!run->poll)
		return tool_complain(&usage, "--poll is missing: it names the drop-in to use");
	if (at == argc)
		return tool_complain(&usage, "expected a program");
	run->program = argv + at;
	return TOOL_GO_ON;
}

static int cmd_run(int argc, char **argv)
{
	struct run run = { 0 };
	int result = run_parse(argc, argv, &run);

	if (result != TOOL_GO_ON)
		return result;
	result = run_prepare(&run);
	return result == TOOL_OK ? run_program(&run) : result;
}

const struct tool_command tool_run = {
	.name = "run",
	.summary = "run a program with poll(2) replaced",
	.run = cmd_run,
};
