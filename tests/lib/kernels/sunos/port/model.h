/*
 * A model of event ports: what a port holds.  All with the model's lock.
 *
 * A port is an epoll set, so that it can be polled and be in another one.  A
 * descriptor that is associated is in it for one report, which becomes an event
 * in the port's queue by the next call of the model.  While there is a queue or
 * an alert, a descriptor that is always readable is in the set as well.
 */
#ifndef MODEL_KERNELS_PORT_MODEL_H
#define MODEL_KERNELS_PORT_MODEL_H

#include <port.h>
#include <signal.h>
#include <stdbool.h>

enum { PORT_FDS = 1 << 16 };

/* In the set: the inotify instance has something to report. */
#define MODEL_FILES (UINT64_MAX - 1)

struct association {
	int events;
	void *user;
	uint32_t serial; /* of the set's entry; 0: never associated */
	bool active;     /* an event may be sent */
	bool posted;     /* one is in the queue */
	bool in_set;
	bool is_epoll;   /* which a port cannot wait for */
};

struct queued {
	port_event_t event;
	uint32_t serial; /* of the association; 0: of none */
	struct queued *next; /* in a queue, or of those that are free */
};

struct file; /* of a name that is associated */

struct port {
	int fd;
	bool lit;
	struct association *objects; /* by number */
	int objects_len;
	int allocated; /* events there are, and objects that would need one */
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
 * The lock is also taken in signal handlers, so no signal comes while it is, and
 * no thread ends that has it.
 */
struct held {
	sigset_t signals;
	int cancel;
};

void model_lock(struct held *before);
void model_unlock(const struct held *before);

/* NULL and errno: it is none. */
struct port *model_port(int fd);

/* The limit of events there are, and objects that would need one. */
int model_most_events(void);

void model_free(struct queued *queued);
/* Put an event into the queue. */
int model_post(struct port *port, const port_event_t *event, uint32_t serial);
/*
 * The association of that serial number is over: an event of it that nobody has
 * retrieved is none any more.  posted: was there one?  Not any more.
 */
bool model_take_back(struct port *port, int source, uint32_t serial, bool *posted);
/* Take what the set has reported into the queue. */
void model_harvest(struct port *port);
/* Take events out; how many. */
uint_t model_take(struct port *port, port_event_t *list, uint_t max);
/* Readable or not, by what there is. */
void model_light(struct port *port);

/* --- Files: 0 or an errno value ------------------------------------------------ */

int model_file_associate(struct port *port, const struct file_obj *object,
                         int events, void *user);
int model_file_dissociate(struct port *port, uintptr_t object);
/* Take what happened to files into the queue. */
void model_files_harvest(struct port *port);
/* An event of this association is not in the queue any more. */
void model_file_taken(struct port *port, uint32_t serial);
void model_files_end(struct port *port);

/* Its number is about to be closed, or to become another file's. */
void model_dissociate(struct port *port, int fd);

#endif
