/*
 * The Python objects that are the udata of registrations.
 *
 * The library stores a number for each registration, the token.  It identifies a cell, which holds
 * the object.  Only the library knows what is registered: a cell is in use as long as xpoll_lookup
 * finds a registration with its token.
 *
 * Changes are made with the GIL, but the library may have returned an event to a thread that does
 * not have the GIL yet.  Such an event must never lead to an object that was released.  So each
 * token has a number, and the cell has that of its first token: an event with an older number is
 * dropped, because the cell was reused.
 */
#ifndef XPY_CELLS_H
#define XPY_CELLS_H

#include "xpy.h"

struct xpy_cell {
	PyObject *udata;     /* NULL: the cell is free */
	uint64_t ident;
	int16_t filter;
	bool fragile;        /* a delivery may end the registration */
	bool common;         /* shared by several directions, each of which may have an event */
	bool pinned;         /* xpoll_lookup does not show whether it is in use */
	uint32_t born;       /* the number of its first token */
	uint32_t newest;     /* the number of its last registered token */
	uint32_t next_free;
};

struct xpy_cells {
	struct xpy_cell *cells;
	uint32_t cap;
	uint32_t used;
	uint32_t first_free;
	uint32_t number; /* of the last token */
};

/* Returns the token for a registration without an object; 0 except for READ, WRITE and EXCEPT. */
uint64_t xpy_token_plain(uint64_t ident, int filter);
/* Returns the descriptor in a token of xpy_token_plain; -1: it has a cell, or is 0. */
int xpy_token_fd(uint64_t token);

/*
 * Make room for a cell.  This may release the objects of registrations that have ended, for example
 * by a close without a DELETE, and that may run any code: afterwards read the handle and the
 * registrations again.  Returns 0, or -1 with MemoryError or, if that code has closed the queue,
 * ValueError.
 */
int xpy_cells_reserve(struct xpy_cells *cells, const struct xpy_handle *handle);
/*
 * Store an object in a cell, in the room that was reserved, and return its token.  `common`:
 * several directions of a descriptor share it.  Runs no Python code.
 */
uint64_t xpy_cells_make(struct xpy_cells *cells, const struct xpoll_event *change, bool common,
                        PyObject *udata);
/*
 * Returns a token of the same cell with a new number, for a change of the registration.  After the
 * change has succeeded, call xpy_cells_renewed, which stores the new object in the cell.
 */
uint64_t xpy_cells_renew(struct xpy_cells *cells, uint64_t token);
void xpy_cells_renewed(struct xpy_cells *cells, uint64_t token,
                       const struct xpoll_event *change, PyObject *udata);
/* Free the cell of a registration that failed, or of an operation that has completed. */
void xpy_cells_drop(struct xpy_cells *cells, uint64_t token);

/* Returns true if both tokens belong to one cell. */
bool xpy_cells_same(uint64_t a, uint64_t b);

/* Returns the cell of a token; NULL: none, or it was reused. */
struct xpy_cell *xpy_cells_find(const struct xpy_cells *cells, uint64_t token);

/* Free the cell unless a registration still has it, or the queue is closed. */
void xpy_cells_settle(struct xpy_cells *cells, const struct xpy_handle *handle,
                      uint64_t token);
/*
 * Like xpy_cells_settle, after an event, for cells whose registration may have ended.  A cell of
 * several directions stays if another thread may have an event of it that is not converted yet.
 */
void xpy_cells_delivered(struct xpy_cells *cells, const struct xpy_handle *handle,
                         uint64_t token);

/* Free the cells of a filter that a forked child does not inherit. */
void xpy_cells_drop_filter(struct xpy_cells *cells, int filter);

int xpy_cells_visit(struct xpy_cells *cells, visitproc visit, void *arg);
/* Release every object. */
void xpy_cells_clear(struct xpy_cells *cells);

#endif
