/* The Python objects behind the udata of registrations; see cells.h. */
#include "cells.h"

#include <errno.h>

enum { CELLS_LEAST = 16 };

#define NO_CELL UINT32_MAX
#define PLAIN   (UINT64_C(1) << 63)

/* Returns a token: the cell's index plus one, and the number. */
static uint64_t token_make(uint32_t index, uint32_t number)
{
	return ((uint64_t)index + 1) << 32 | number;
}

static uint32_t token_index(uint64_t token)
{
	return (uint32_t)(token >> 32) - 1;
}

static bool is_descriptor(int filter)
{
	return filter == XPOLL_FILT_READ || filter == XPOLL_FILT_WRITE ||
		filter == XPOLL_FILT_EXCEPT;
}

uint64_t xpy_token_plain(uint64_t ident, int filter)
{
	return is_descriptor(filter) ? PLAIN | (uint32_t)ident : 0;
}

int xpy_token_fd(uint64_t token)
{
	return token & PLAIN ? (int)(uint32_t)token : -1;
}

bool xpy_cells_same(uint64_t a, uint64_t b)
{
	return !((a | b) & PLAIN) && a && b && token_index(a) == token_index(b);
}

struct xpy_cell *xpy_cells_find(const struct xpy_cells *cells, uint64_t token)
{
	uint32_t number = (uint32_t)token;
	struct xpy_cell *cell;

	if (!token || token & PLAIN || token_index(token) >= cells->cap)
		return NULL;
	cell = &cells->cells[token_index(token)];
	/* Compare differences, because numbers wrap around. */
	return cell->udata && (int32_t)(number - cell->born) >= 0 ? cell : NULL;
}

static void cell_free(struct xpy_cells *cells, struct xpy_cell *cell)
{
	PyObject *udata = cell->udata;

	cell->udata = NULL;
	cell->next_free = cells->first_free;
	cells->first_free = (uint32_t)(cell - cells->cells);
	cells->used--;
	/* Release the object last, because that may run any code. */
	Py_DECREF(udata);
}

/* Returns true if the registration of this filter has a token of the cell. */
static bool registered(const struct xpy_cells *cells, struct xpoll *queue,
                       const struct xpy_cell *cell, int filter)
{
	struct xpoll_event found;

	if (xpoll_lookup(queue, cell->ident, filter, &found) < 0)
		return errno != ENOENT;
	return xpy_cells_find(cells, found.udata64) == cell;
}

static bool in_use(const struct xpy_cells *cells, struct xpoll *queue,
                   const struct xpy_cell *cell)
{
	if (cell->pinned)
		return true;
	if (!is_descriptor(cell->filter))
		return registered(cells, queue, cell, cell->filter);
	/* xpoll_ctl gives one token to several directions. */
	return registered(cells, queue, cell, XPOLL_FILT_READ) ||
		registered(cells, queue, cell, XPOLL_FILT_WRITE) ||
		registered(cells, queue, cell, XPOLL_FILT_EXCEPT);
}

void xpy_cells_settle(struct xpy_cells *cells, const struct xpy_handle *handle,
                      uint64_t token)
{
	struct xpy_cell *cell = xpy_cells_find(cells, token);

	if (cell && handle->queue && !in_use(cells, handle->queue, cell))
		cell_free(cells, cell);
}

void xpy_cells_delivered(struct xpy_cells *cells, const struct xpy_handle *handle,
                         uint64_t token)
{
	struct xpy_cell *cell = xpy_cells_find(cells, token);

	/*
	 * Keep a cell with a newer token, and a common one of which another thread may have an
	 * event that it has not converted yet.
	 */
	if (cell && cell->fragile && (uint32_t)token == cell->newest &&
	    (xpy_handle_idle(handle) || !cell->common))
		xpy_cells_settle(cells, handle, token);
}

/*
 * Free the cells of registrations that have ended, for example by a close without a DELETE.  While
 * another thread may have events that it has not converted yet, cells that these may need stay.
 */
static void sweep(struct xpy_cells *cells, const struct xpy_handle *handle)
{
	uint32_t cap = cells->cap;

	/*
	 * Releasing an object may run code that closes the queue or moves the
	 * table.  Cells that this code adds to the table are left to the next sweep.
	 */
	for (uint32_t i = 0; i < cap && i < cells->cap && handle->queue; i++) {
		struct xpy_cell *cell = &cells->cells[i];

		if (cell->udata && (xpy_handle_idle(handle) || !cell->fragile) &&
		    !in_use(cells, handle->queue, cell))
			cell_free(cells, cell);
	}
}

static int grow(struct xpy_cells *cells)
{
	uint32_t cap = cells->cap ? cells->cap * 2 : CELLS_LEAST;
	struct xpy_cell *larger = cap > INT32_MAX ? NULL
		: PyMem_Realloc(cells->cells, cap * sizeof *larger);

	if (!larger) {
		PyErr_NoMemory();
		return -1;
	}
	for (uint32_t i = cap; i-- > cells->cap;) {
		larger[i] = (struct xpy_cell){.next_free = cells->first_free};
		cells->first_free = i;
	}
	cells->cells = larger;
	cells->cap = cap;
	return 0;
}

static void describe(struct xpy_cell *cell, const struct xpoll_event *change)
{
	if (change->flags & XPOLL_ONESHOT)
		cell->fragile = true;
	/*
	 * xpoll_lookup does not find all registrations of the cell: tracked children share it.  The
	 * cell of an operation is freed by its event.
	 */
	if ((change->filter == XPOLL_FILT_PROC &&
	     change->fflags & XPOLL_NOTE_TRACK) ||
	    change->filter == XPOLL_FILT_AIO)
		cell->pinned = true;
}

int xpy_cells_reserve(struct xpy_cells *cells, const struct xpy_handle *handle)
{
	if (cells->first_free != NO_CELL && cells->cap)
		return 0;
	sweep(cells, handle);
	if (xpy_handle_check(handle) < 0)
		return -1;
	if (!cells->cap)
		cells->first_free = NO_CELL;
	/* Have half of the cells free, or the next sweep would follow too soon. */
	return cells->used >= cells->cap / 2 ? grow(cells) : 0;
}

uint64_t xpy_cells_make(struct xpy_cells *cells, const struct xpoll_event *change, bool common,
                        PyObject *udata)
{
	struct xpy_cell *cell = &cells->cells[cells->first_free];
	uint32_t next = cell->next_free;

	*cell = (struct xpy_cell){
		.udata = Py_NewRef(udata),
		.ident = change->ident,
		.filter = change->filter,
		.common = common,
		.born = ++cells->number,
		.newest = cells->number,
	};
	/* Registrations that end by themselves: one-shot timers, processes, operations. */
	cell->fragile = !is_descriptor(change->filter) &&
		change->filter != XPOLL_FILT_USER &&
		change->filter != XPOLL_FILT_SIGNAL;
	describe(cell, change);
	cells->first_free = next;
	cells->used++;
	return token_make((uint32_t)(cell - cells->cells), cell->newest);
}

uint64_t xpy_cells_renew(struct xpy_cells *cells, uint64_t token)
{
	return token_make(token_index(token), ++cells->number);
}

void xpy_cells_renewed(struct xpy_cells *cells, uint64_t token,
                       const struct xpoll_event *change, PyObject *udata)
{
	struct xpy_cell *cell = &cells->cells[token_index(token)];
	PyObject *before = cell->udata;

	cell->newest = (uint32_t)token;
	describe(cell, change);
	cell->udata = Py_NewRef(udata);
	Py_DECREF(before);
}

void xpy_cells_drop(struct xpy_cells *cells, uint64_t token)
{
	struct xpy_cell *cell = xpy_cells_find(cells, token);

	if (cell)
		cell_free(cells, cell);
}

int xpy_cells_visit(struct xpy_cells *cells, visitproc visit, void *arg)
{
	for (uint32_t i = 0; i < cells->cap; i++)
		Py_VISIT(cells->cells[i].udata);
	return 0;
}

void xpy_cells_drop_filter(struct xpy_cells *cells, int filter)
{
	for (uint32_t i = 0; i < cells->cap; i++)
		if (cells->cells[i].udata && cells->cells[i].filter == filter)
			cell_free(cells, &cells->cells[i]);
}

void xpy_cells_clear(struct xpy_cells *cells)
{
	struct xpy_cells before = *cells;

	*cells = (struct xpy_cells){.number = before.number};
	for (uint32_t i = 0; i < before.cap; i++)
		Py_XDECREF(before.cells[i].udata);
	PyMem_Free(before.cells);
}
