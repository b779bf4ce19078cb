/*
 * The Python objects behind the udata of registrations.
 *
 * The library stores a number for each registration, the token: it names a
 * cell, which holds the object.  What is registered only the library knows; a
 * cell is in use as long as xpoll_lookup finds a registration with its token.
 *
 * Changes are made with the GIL, but an event may be on its way, returned by
 * the library to a thread that does not have the GIL yet.  Such an event must
 * never lead to an object that was released, so a cell and its token carry a
 * number: an event of a cell that was given away since is dropped, as if it
 * had come after the DELETE.
 */
#ifndef XPY_CELLS_H
#define XPY_CELLS_H

#include "xpy.h"

struct xpy_cell {
	PyObject *udata;     /* NULL: the cell is free */
	uint64_t ident;
	int16_t filter;
	bool fragile;        /* a delivery may end the registration */
	bool common;         /* of several directions: as many events may come */
	bool pinned;         /* xpoll_lookup does not say whether it is in use */
	uint32_t born;       /* the number of its first token */
	uint32_t newest;     /* and of the last one that was registered */
	uint32_t next_free;
};

struct xpy_cells {
	struct xpy_cell *cells;
	uint32_t cap;
	uint32_t used;
	uint32_t first_free;
	uint32_t number; /* of the last token */
};

/* The token of a descriptor's registration without an object. */
uint64_t xpy_token_plain(uint64_t ident, int filter);
/* The descriptor in it, or -1. */
int xpy_token_fd(uint64_t token);

/*
 * Make room for a cell.  This releases the objects of descriptors that were closed without a
 * DELETE, which may run any code: afterwards read the handle and the registrations again.  0, or
 * -1 with MemoryError or, if that code has closed the queue, ValueError.
 */
int xpy_cells_reserve(struct xpy_cells *cells, const struct xpy_handle *handle);
/*
 * A cell for an object, in the room that was reserved; its token.  `common` says that several
 * directions of a descriptor share it.  Runs no code.
 */
uint64_t xpy_cells_make(struct xpy_cells *cells, const struct xpoll_event *change, bool common,
                        PyObject *udata);
/* The same cell under a new number; it counts once xpy_cells_renewed. */
uint64_t xpy_cells_renew(struct xpy_cells *cells, uint64_t token);
void xpy_cells_renewed(struct xpy_cells *cells, uint64_t token,
                       const struct xpoll_event *change, PyObject *udata);
/* The registration failed. */
void xpy_cells_drop(struct xpy_cells *cells, uint64_t token);

/* Are both tokens of one cell? */
bool xpy_cells_same(uint64_t a, uint64_t b);

/* The cell of a token; NULL if there is none or it was given away. */
struct xpy_cell *xpy_cells_find(const struct xpy_cells *cells, uint64_t token);

/* Free the cell unless a registration still has it, or the queue is closed. */
void xpy_cells_settle(struct xpy_cells *cells, const struct xpy_handle *handle,
                      uint64_t token);
/*
 * The same after an event, for cells whose registration may be over.  A cell of several
 * directions stays if another thread may have an event of it on its way.
 */
void xpy_cells_delivered(struct xpy_cells *cells, const struct xpy_handle *handle,
                         uint64_t token);

/* What a forked child does not have. */
void xpy_cells_drop_filter(struct xpy_cells *cells, int filter);

int xpy_cells_visit(struct xpy_cells *cells, visitproc visit, void *arg);
/* Release every object. */
void xpy_cells_clear(struct xpy_cells *cells);

#endif
