/*
 * Recordings of random programs as text, and the table of the pairs that ran:
 * see program.h.
 */
#include <inttypes.h>

#include "program.h"

const char *const op_names[OPS] = {
	"ADD", "MOD", "DEL", "write", "read", "fill", "shutdown", "hangup", "close", "dup",
	"wait", "waiters", "make",
};
const char *const mode_names[MODES] = {"level", "edge", "once", "edge-once", "exclusive"};

static long ran[OPS][KINDS][MODES];

void recording_write(FILE *file, const struct step *step, const struct answer *answer)
{
	fprintf(file, "%s %d %d %" PRIx32 " = %s", op_names[step->op], step->index, step->set,
	        step->value, answer->error);
	if (step->op == GET)
		fprintf(file, " %" PRIu64, answer->value);
	for (int i = 0; i <= STOP; i++)
		if (answer->seen.count[i] > 0)
			fprintf(file, " %d:%" PRIx32 "*%d", i, answer->seen.events[i],
			        answer->seen.count[i]);
	fputc('\n', file);
}

/* Parse the text of reported events.  Returns false if it is malformed. */
static bool read_seen(const char *text, struct seen *seen)
{
	int index, count, used;
	uint32_t events;

	while (sscanf(text, " %d:%" SCNx32 "*%d%n", &index, &events, &count, &used) == 3) {
		if (index < 0 || index > STOP)
			return false;
		seen->events[index] = events;
		seen->count[index] = count;
		text += used;
	}
	return text[strspn(text, " \n")] == '\0';
}

static enum op op_of(const char *name)
{
	int op = 0;

	while (op < OPS && strcmp(op_names[op], name) != 0)
		op++;
	return (enum op)op;
}

bool recording_read(FILE *file, struct step *step, struct answer *answer)
{
	char line[512], name[16];
	int used = 0;

	memset(answer, 0, sizeof *answer);
	if (!fgets(line, sizeof line, file))
		return false;
	if (sscanf(line, "%15s %d %d %" SCNx32 " = %15s%n", name, &step->index, &step->set,
	           &step->value, answer->error, &used) != 5)
		return false;
	step->op = op_of(name);
	if (step->op == OPS || step->index < 0 || step->index >= SLOTS || step->set < 0 ||
	    step->set >= SETS)
		return false;
	if (step->op == GET)
		return sscanf(line + used, " %" SCNu64, &answer->value) == 1;
	return read_seen(line + used, &answer->seen);
}

void pairs_count(const struct step *step, const struct answer *answer)
{
	const struct slot *slot = &state.slots[step->index];

	if (step->op != WAIT) {
		ran[step->op][slot->kind][slot->mode[step->set]]++;
		return;
	}
	for (int i = 0; i < SLOTS; i++)
		if (answer->seen.count[i] > 0)
			ran[WAIT][state.slots[i].kind][state.slots[i].mode[step->set]]++;
}

long pairs_ran(const struct step *step, enum op op)
{
	const struct slot *slot = &state.slots[step->index];

	return ran[op][slot->kind][slot->mode[step->set]];
}

int pairs_print(void)
{
	int none = 0;

	for (int op = 0; op < MAKE; op++)
		for (int kind = 0; kind < KINDS; kind++)
			for (int mode = 0; mode < MODES; mode++) {
				bool exists = kind != NESTED || (op != CLOSE && op != DUP &&
				        mode != EXCLUSIVE && (op < PUT || op > CLOSE_PEER));

				if (exists && ran[op][kind][mode] == 0)
					none++;
				if (getenv("XPOLL_EPOLL_PAIRS"))
					printf("%-12s %-10s %-10s %ld\n", op_names[op],
					       kind_names[kind], mode_names[mode],
					       ran[op][kind][mode]);
			}
	return none;
}
