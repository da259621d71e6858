/* apps_loop_private.h - what the files of the loop share */
#pragma once

#include "control/apps/apps_loop.h"

/* A namespace: a free part is told to the apps that select it. */
struct apps_place {
    struct map_handle handle;
    char *ns;
    struct app *apps;
    struct app_part *free_parts;
};

struct apps_loop {
    struct apps_options options;
    struct turns *turns;
    struct app *apps;
    struct app *by_uid;
    struct app_part *parts;
    struct apps_place *places;
};

int64_t apps_version_of(const json_t *object);
bool app_selects(const struct app *a, const json_t *part);
void apps_part_move(struct app_part *p, struct app *a); /* NULL: free */
void apps_part_free(struct apps_loop *l, struct app_part *p);
