/* The names below a directory, as a program has them that takes in each change of a tree. */
#ifndef TREE_MODEL_H
#define TREE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <xpoll_tree.h>

struct model {
	char **paths; /* in no order */
	size_t len, cap;
};

/* Store the present entries below root, like find(1). */
bool model_read(struct model *model, const char *root);
/* Returns NULL, or why the change cannot be right after those before it. */
const char *model_apply(struct model *model, const struct xpoll_tree_change *change);
bool model_has(const struct model *model, const char *path);
/* A path that only one of the two has, or NULL. */
const char *model_difference(struct model *model, struct model *other);
void model_free(struct model *model);

#endif
