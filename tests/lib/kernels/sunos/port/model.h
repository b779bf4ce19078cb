/*
 * A model of event ports: declarations that its files share.  Functions are called with the model's
 * lock.
 *
 * A port is an epoll set, so that it can be polled and be in another set.  A descriptor that is
 * associated with the port has a one-shot entry in the set.  The set's report becomes an event in
 * the port's queue when a function of the model is called next.  While the port has events in the
 * queue or an alert, the set also contains a descriptor that is always readable, so that a poll
 * reports the port.
 */
#ifndef MODEL_KERNELS_PORT_MODEL_H
#define MODEL_KERNELS_PORT_MODEL_H

#include <port.h>
#include <signal.h>
#include <stdbool.h>

enum { PORT_FDS = 1 << 16 };

/* Token of the inotify instance in the set, which reports events of files. */
#define MODEL_FILES (UINT64_MAX - 1)

struct association {
	int events;
	void *user;
	/* number of the last association, in the token of the set's entry; 0: never associated */
	uint32_t serial;
	bool active;     /* associated, and no event was queued since */
	bool posted;     /* an event of the association is in the queue */
	bool in_set;
	bool is_epoll;   /* the file is an epoll set, for which a port cannot wait */
};

struct queued {
	port_event_t event;
	uint32_t serial; /* number of the association; 0: sent without one */
	struct queued *next; /* next in the port's queue, or in the list of free events */
};

struct file; /* a file name that is associated */

struct port {
	int fd;
	/* the descriptor that is always readable is in the set */
	bool lit;
	struct association *objects; /* indexed by descriptor */
	int objects_len;
	/* number of user events in the queue and of associations, which are limited */
	int allocated;
	struct queued *first;
	struct queued **last;
	int len;
	bool alert;
	int alert_events;
	void *alert_user;
	unsigned calls;
	uint32_t serials;
	int files_fd; /* an inotify instance; -1: no file was associated */
	struct file *files;
};

/*
 * State to restore when the lock is released.  Signal handlers take the lock, too, so all signals
 * are blocked while it is held; cancellation is disabled, so that no thread ends with the lock.
 */
struct held {
	sigset_t signals;
	int cancel;
};

void model_lock(struct held *before);
void model_unlock(const struct held *before);

/* Returns the port with this descriptor; NULL and errno: there is none. */
struct port *model_port(int fd);

/* Returns the limit of `allocated`. */
int model_most_events(void);

/* Put an event that is in no queue into the list of free ones. */
void model_free(struct queued *queued);
/* Append an event to the queue.  Returns 0 or ENOMEM. */
int model_post(struct port *port, const port_event_t *event, uint32_t serial);
/*
 * Called when an association ends: remove its event from the queue, unless it was retrieved.
 * Returns *posted, whether there was one, and sets it to false.
 */
bool model_take_back(struct port *port, int source, uint32_t serial, bool *posted);
/* Turn all reports of the set into events in the queue. */
void model_harvest(struct port *port);
/* Move up to max events from the queue to the list.  Returns their number. */
uint_t model_take(struct port *port, port_event_t *list, uint_t max);
/*
 * Make the port's descriptor readable if there are events or an alert, and otherwise not readable.
 */
void model_light(struct port *port);

/* --- Files; results are 0 or an errno value ------------------------------------ */

int model_file_associate(struct port *port, const struct file_obj *object,
                         int events, void *user);
int model_file_dissociate(struct port *port, uintptr_t object);
/* Turn all reports of the inotify instance into events in the queue. */
void model_files_harvest(struct port *port);
/* Called when a program has retrieved the event of this association. */
void model_file_taken(struct port *port, uint32_t serial);
void model_files_end(struct port *port);

/* End the association of a descriptor that is about to be closed, or to refer to another file. */
void model_dissociate(struct port *port, int fd);

#endif
