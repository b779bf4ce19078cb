/*
 * The workers: a few threads that do the queued jobs of all queues of the process.  A completed job
 * goes into its port (struct xp_aio_port), from which the queue that has the port takes the job.
 *
 * A thread is started if a job is queued and no thread waits for one, up to the provider's limit; a
 * thread that has waited for a second without a job exits.  When the last port is closed, all exit.
 * Only threads of the library do jobs, so a thread of the program may sleep or exit without an
 * effect on a job.
 */
#include "source/aio_work.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/assert.h"
#include "base/time.h"
#include "source/aio_hold.h"
#include "sys/process.h"
#include "sys/sys.h"
#include "sys/sys_threads.h"
#include "sys/system.h"

#define AIO_PATIENCE_NS XP_NS_PER_SEC /* how long a thread waits for a job before it exits */

enum aio_worker_stage {
	AIO_WORKER_NONE, /* no thread: the element is free */
	AIO_WORKER_RUNS, /* a thread runs, and takes jobs */
	AIO_WORKER_ENDED, /* the thread has exited or is about to, and must be joined */
};

struct aio_worker {
	pthread_t thread;
	enum aio_worker_stage stage;
};

/* The workers of this process; `lock` guards all other members. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t jobs;    /* signalled when a job is queued or `ending` is set */
	/* signalled when a job is complete, and when all threads have exited */
	pthread_cond_t changed;
	struct xp_list queued;
	int queued_len;
	struct xp_list unfinished; /* queued and running jobs */
	struct xp_list stop;       /* running jobs to cancel */
	/* the way in which the threads do jobs; NULL: no port is open */
	const struct xp_aio_provider *provider;
	bool provider_open; /* a thread has opened the provider, so provider->call may be called */
	/*
	 * the provider is awake and calls xp_aio_next before it sleeps: a new job needs no `call`
	 */
	bool will_recheck_queue;
	int ports; /* open ports, one for each queue that uses AIO */
	bool ending; /* the last port was closed, so the threads have to exit */
	int waiting_threads; /* number of threads that wait for a job */
	struct aio_worker workers[XP_AIO_THREADS];
} aio_work = {.lock = PTHREAD_MUTEX_INITIALIZER};

void xp_aio_init_process(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	memset(&aio_work, 0, sizeof aio_work);
	aio_work.lock = unlocked;
	xp_aio_hold_init_process();
	xp_list_init(&aio_work.queued);
	xp_list_init(&aio_work.unfinished);
	xp_list_init(&aio_work.stop);
	/* these calls allocate nothing, so they cannot fail */
	(void)xp_sys_cond_init(&aio_work.jobs);
	(void)xp_sys_cond_init(&aio_work.changed);
}

/* --- Jobs, from the threads' side ---------------------------------------- */

static void aio_dequeue(struct xp_aio_job *job)
{
	XP_ASSERT(job->stage == XP_AIO_QUEUED && aio_work.queued_len > 0);
	xp_list_remove(&job->item);
	aio_work.queued_len--;
}

/* Record that this thread exits.  The lock is held since it found no job, so none came since. */
static void aio_worker_record_exit(void)
{
	for (int i = 0; i < XP_AIO_THREADS; i++)
		if (aio_work.workers[i].stage == AIO_WORKER_RUNS &&
		    pthread_equal(aio_work.workers[i].thread, pthread_self()))
			aio_work.workers[i].stage = AIO_WORKER_ENDED;
	aio_work.provider_open = false;
}

struct xp_aio_job *xp_aio_next(bool patient)
{
	int64_t deadline_ns = XP_NOW;
	struct xp_aio_job *job = NULL;
	int rc = 0;

	pthread_mutex_lock(&aio_work.lock);
	if (patient)
		deadline_ns = xp_sys_now() + AIO_PATIENCE_NS;
	aio_work.waiting_threads += patient;
	while (patient && !aio_work.ending && rc == 0 && xp_list_empty(&aio_work.queued))
		rc = xp_sys_cond_wait(&aio_work.jobs, &aio_work.lock, deadline_ns);
	aio_work.waiting_threads -= patient;
	if (!xp_list_empty(&aio_work.queued)) {
		job = XP_CONTAINER_OF(aio_work.queued.next, struct xp_aio_job, item);
		aio_dequeue(job);
		job->stage = XP_AIO_RUNNING;
	} else if (patient) {
		aio_worker_record_exit();
	} else {
		aio_work.will_recheck_queue = false;
	}
	pthread_mutex_unlock(&aio_work.lock);
	return job;
}

struct xp_aio_job *xp_aio_next_stop(void)
{
	struct xp_list *item;

	pthread_mutex_lock(&aio_work.lock);
	item = xp_list_take(&aio_work.stop);
	pthread_mutex_unlock(&aio_work.lock);
	return item ? XP_CONTAINER_OF(item, struct xp_aio_job, stop) : NULL;
}

/*
 * Record the result of a job, and pass the job to its port.  Returns true if the port was empty, so
 * that the caller has to signal the port's descriptor.
 */
static bool aio_complete(struct xp_aio_job *job, int64_t result)
{
	struct xp_aio_port *port = job->port;

	XP_ASSERT(job->stage != XP_AIO_DONE);
	job->stage = XP_AIO_DONE;
	job->result = result;
	xp_list_remove(&job->stop);
	xp_list_remove(&job->unfinished);
	xp_list_append(&port->done, &job->item);
	pthread_cond_broadcast(&aio_work.changed);
	return !atomic_exchange(&port->filled, 1);
}

void xp_aio_complete_jobs(struct xp_list *jobs, bool asks_again)
{
	struct xp_aio_hold *unused = NULL;
	struct xp_aio_port *port = NULL;
	struct xp_list *item;

	pthread_mutex_lock(&aio_work.lock);
	aio_work.will_recheck_queue |= asks_again;
	XP_LIST_EACH(struct xp_aio_job, job, jobs, item)
		xp_aio_hold_drop(job->hold, &unused);
	if (unused) {
		/*
		 * Close the duplicates before the program sees that its jobs are complete: later
		 * the close may have to wait, because it could release the program's record locks.
		 */
		pthread_mutex_unlock(&aio_work.lock);
		xp_aio_hold_close(unused);
		pthread_mutex_lock(&aio_work.lock);
	}
	while ((item = xp_list_take(jobs))) {
		struct xp_aio_job *job = XP_CONTAINER_OF(item, struct xp_aio_job, item);
		/* A job that completed before its cancellation keeps its result. */
		bool stopped = job->cancelled && job->result == -EINTR;

		if (!aio_complete(job, stopped ? -ECANCELED : job->result))
			continue;
		if (port)
			xp_wakefd_signal(&port->done_fd);
		port = job->port;
	}
	if (port)
		atomic_fetch_add(&port->signalling, 1);
	pthread_mutex_unlock(&aio_work.lock);
	/* Signal the last port without the lock, which the woken thread takes at once. */
	if (port) {
		xp_wakefd_signal(&port->done_fd);
		atomic_fetch_sub(&port->signalling, 1);
	}
}

/* --- Threads ---------------------------------------------------------------- */

/* `run` of the provider "threads": do queued jobs until xp_aio_next returns NULL. */
static void threads_run(void)
{
	struct xp_aio_job *job;
	struct xp_list jobs;

	xp_list_init(&jobs);
	while ((job = xp_aio_next(true))) {
		job->result = xp_aio_perform(job);
		xp_list_append(&jobs, &job->item);
		xp_aio_complete_jobs(&jobs, false);
	}
}

/* The provider that every system has: its threads make blocking system calls. */
static const struct xp_aio_provider aio_threads = {
	.name = "threads",
	.threads = XP_AIO_THREADS,
	.run = threads_run,
};

/* A worker: does jobs by the provider, or by blocking calls if the provider cannot be opened. */
static void *aio_worker_main(void *argument)
{
	const struct xp_aio_provider *provider;

	(void)argument;
	/* The thread that started this one holds the lock until it has recorded this thread. */
	pthread_mutex_lock(&aio_work.lock);
	provider = aio_work.provider;
	pthread_mutex_unlock(&aio_work.lock);
	if (provider->open && provider->open() < 0)
		provider = &aio_threads;
	pthread_mutex_lock(&aio_work.lock);
	aio_work.provider = provider;
	aio_work.provider_open = true;
	aio_work.will_recheck_queue = true;
	pthread_mutex_unlock(&aio_work.lock);
	provider->run();
	if (provider->close)
		provider->close();
	xp_aio_hold_close(NULL);
	return NULL;
}

/*
 * Returns a free element of the table of threads, or NULL, and stores the number of running
 * threads.  Also joins the threads of AIO_WORKER_ENDED, which do not need the lock to exit.
 */
static struct aio_worker *aio_worker_place(int *running)
{
	struct aio_worker *place = NULL;

	*running = 0;
	for (int i = 0; i < XP_AIO_THREADS; i++) {
		struct aio_worker *worker = &aio_work.workers[i];

		if (worker->stage == AIO_WORKER_ENDED) {
			xp_sys_thread_join(worker->thread);
			worker->stage = AIO_WORKER_NONE;
		}
		if (worker->stage == AIO_WORKER_RUNS)
			++*running;
		else
			place = worker;
	}
	return place;
}

/* Make the provider's thread return from its system call, to look for jobs and cancellations. */
static void aio_interrupt_thread(void)
{
	if (aio_work.provider_open && aio_work.provider->call)
		aio_work.provider->call();
}

/*
 * Make sure that a thread takes the job that was queued last: start or interrupt one.  Returns 0,
 * or an error if no thread could be started and none runs.  Returns 1 if a thread waits for a job:
 * the caller signals `jobs` after it has unlocked, because the woken thread takes the lock at once.
 */
static int aio_find_thread(void)
{
	struct aio_worker *worker;
	int running;
	int rc;

	if (aio_work.queued_len <= aio_work.waiting_threads)
		return 1;
	worker = aio_worker_place(&running);
	if (worker && running < aio_work.provider->threads) {
		rc = xp_sys_thread_start(&worker->thread, aio_worker_main, NULL);
		if (rc == 0)
			worker->stage = AIO_WORKER_RUNS;
		else if (running == 0)
			return rc;
	}
	if (!aio_work.will_recheck_queue)
		aio_interrupt_thread();
	return 0;
}

/* --- Jobs, from the queues' side ------------------------------------------- */

bool xp_aio_lookup_id(int fd, struct xp_file_id *id)
{
	bool known;

	if (!xp_aio_hold_may_exist(fd))
		return false;
	pthread_mutex_lock(&aio_work.lock);
	known = xp_aio_hold_lookup_id(fd, id);
	pthread_mutex_unlock(&aio_work.lock);
	return known;
}

int xp_aio_start(struct xp_aio_port *port, struct xp_aio_job *job)
{
	struct xp_aio_hold *unused = NULL;
	int rc;

	job->port = port;
	job->stage = XP_AIO_QUEUED;
	job->cancelled = false;
	xp_list_init(&job->stop);
	pthread_mutex_lock(&aio_work.lock);
	rc = xp_aio_hold(job->fd, &job->file, &job->hold);
	if (rc >= 0) {
		job->io_fd = rc;
		xp_list_append(&aio_work.queued, &job->item);
		aio_work.queued_len++;
		xp_list_append(&aio_work.unfinished, &job->unfinished);
		rc = aio_find_thread();
		if (rc < 0) {
			aio_dequeue(job);
			xp_list_remove(&job->unfinished);
			xp_aio_hold_drop(job->hold, &unused);
		}
	}
	pthread_mutex_unlock(&aio_work.lock);
	if (rc > 0)
		pthread_cond_signal(&aio_work.jobs);
	xp_aio_hold_close(unused);
	return rc < 0 ? rc : 0;
}

/* Cancel a job: a queued one is complete at once, a running one is put into the list `stop`. */
static void aio_cancel_job(struct xp_aio_job *job, struct xp_aio_hold **unused)
{
	if (job->stage == XP_AIO_QUEUED) {
		aio_dequeue(job);
		xp_aio_hold_drop(job->hold, unused);
		if (aio_complete(job, -ECANCELED))
			xp_wakefd_signal(&job->port->done_fd);
	} else if (job->stage == XP_AIO_RUNNING && !job->cancelled) {
		job->cancelled = true;
		xp_list_append(&aio_work.stop, &job->stop);
		aio_interrupt_thread();
	}
}

void xp_aio_cancel(struct xp_aio_job *job)
{
	struct xp_aio_hold *unused = NULL;

	pthread_mutex_lock(&aio_work.lock);
	aio_cancel_job(job, &unused);
	pthread_mutex_unlock(&aio_work.lock);
	xp_aio_hold_close(unused);
}

void xp_aio_collect(struct xp_aio_port *port, struct xp_list *jobs, bool readable)
{
	if (!readable && !atomic_load(&port->filled))
		return;
	xp_wakefd_clear(&port->done_fd);
	pthread_mutex_lock(&aio_work.lock);
	atomic_store(&port->filled, 0);
	xp_list_move(&port->done, jobs);
	pthread_mutex_unlock(&aio_work.lock);
}

/*
 * Cancel the jobs of this descriptor (-1: any) and port (NULL: any).  Returns how many still run.
 */
static int aio_cancel_jobs(const struct xp_aio_port *port, int fd,
                           struct xp_aio_hold **unused)
{
	struct xp_list *next = aio_work.unfinished.next;
	int count = 0;

	while (next != &aio_work.unfinished) {
		struct xp_aio_job *job = XP_CONTAINER_OF(next, struct xp_aio_job, unfinished);

		next = next->next;
		if ((port && job->port != port) || (fd >= 0 && job->fd != fd))
			continue;
		aio_cancel_job(job, unused);
		count += job->stage != XP_AIO_DONE;
	}
	return count;
}

void xp_aio_release_fd(int fd)
{
	struct xp_aio_hold *unused = NULL;

	pthread_mutex_lock(&aio_work.lock);
	while (aio_cancel_jobs(NULL, fd, &unused) > 0)
		xp_sys_cond_wait(&aio_work.changed, &aio_work.lock, XP_NEVER);
	pthread_mutex_unlock(&aio_work.lock);
	xp_aio_hold_close(unused);
}

/* --- Ports ------------------------------------------------------------------ */

/*
 * Returns the provider to try first, perhaps named by $XPOLL_AIO; NULL: unknown or unusable name.
 */
static const struct xp_aio_provider *aio_choose(void)
{
	const struct xp_aio_provider *best = xp_system.aio;
	const char *name = xp_sys_getenv("XPOLL_AIO");

	if (!name)
		return best ? best : &aio_threads;
	if (best && strcmp(name, best->name) == 0)
		return best->usable() ? best : NULL;
	return strcmp(name, aio_threads.name) == 0 ? &aio_threads : NULL;
}

int xp_aio_open(struct xp_aio_port *port)
{
	int rc = xp_wakefd_open(&port->done_fd);

	if (rc < 0)
		return rc;
	port->process = xp_process_number();
	atomic_init(&port->filled, 0);
	atomic_init(&port->signalling, 0);
	xp_list_init(&port->done);
	pthread_mutex_lock(&aio_work.lock);
	while (aio_work.ending)
		xp_sys_cond_wait(&aio_work.changed, &aio_work.lock, XP_NEVER);
	if (!aio_work.provider)
		aio_work.provider = aio_choose();
	rc = aio_work.provider ? 0 : -ENOTSUP;
	aio_work.ports += rc == 0;
	pthread_mutex_unlock(&aio_work.lock);
	if (rc < 0)
		xp_wakefd_close(&port->done_fd);
	return rc;
}

/*
 * The last port was closed: wait until all threads have exited.  Called with the lock, which is
 * released while this thread waits.
 */
static void aio_end(void)
{
	XP_ASSERT(xp_list_empty(&aio_work.unfinished));
	aio_work.ending = true;
	pthread_cond_broadcast(&aio_work.jobs);
	aio_interrupt_thread();
	for (int i = 0; i < XP_AIO_THREADS; i++) {
		if (aio_work.workers[i].stage == AIO_WORKER_NONE)
			continue;
		pthread_mutex_unlock(&aio_work.lock);
		xp_sys_thread_join(aio_work.workers[i].thread);
		pthread_mutex_lock(&aio_work.lock);
		aio_work.workers[i].stage = AIO_WORKER_NONE;
	}
	aio_work.provider = NULL;
	aio_work.ending = false;
	pthread_cond_broadcast(&aio_work.changed);
}

static void aio_close_forked(uint32_t process)
{
	if (xp_system.aio && xp_system.aio->close_forked)
		xp_system.aio->close_forked(process);
	xp_aio_hold_close_forked();
}

void xp_aio_close(struct xp_aio_port *port)
{
	struct xp_aio_hold *unused = NULL;

	if (port->process != xp_process_number()) {
		xp_wakefd_close(&port->done_fd);
		aio_close_forked(port->process);
		return;
	}
	pthread_mutex_lock(&aio_work.lock);
	while (aio_cancel_jobs(port, -1, &unused) > 0)
		xp_sys_cond_wait(&aio_work.changed, &aio_work.lock, XP_NEVER);
	/* A worker may still be writing to done_fd: wait for it before done_fd is closed. */
	while (atomic_load(&port->signalling) > 0)
		xp_sys_cond_wait(&aio_work.changed, &aio_work.lock, xp_sys_now() + XP_NS_PER_MS);
	XP_ASSERT(aio_work.ports > 0);
	if (--aio_work.ports == 0)
		aio_end();
	pthread_mutex_unlock(&aio_work.lock);
	xp_aio_hold_close(unused);
	xp_wakefd_close(&port->done_fd);
}

bool xp_aio_usable(void)
{
	return aio_choose() != NULL;
}
