/* revisions.h - ControllerRevisions: the versions of the templates of StatefulSets and DaemonSets
 */
#pragma once

#include "control/apps/apps_loop.h"

struct revisions;

struct revisions *revisions_new(void);
void revisions_free(struct revisions *r); /* accepts NULL */

/* A source of the loop. */
void revisions_put(struct revisions *r, const json_t *object);
void revisions_remove(struct revisions *r, const char *ns, const char *name);
/* Forgets all. */
void revisions_clear(struct revisions *r);

/* The newest revision with the template of the app, which is created or renumbered. NULL: that
 * failed, and the app is looked at again. The name is valid until the app is looked at again. */
const char *revision_of_template(struct revisions *r, struct app *a);
/* The hash in the name of a revision of the app. */
const char *revision_hash(const struct app *a, const char *name);
/* The template of a revision, borrowed; NULL: there is no such revision. */
const json_t *revision_template(const struct revisions *r, const struct app *a, const char *name);
/* Deletes the oldest revisions beyond spec.revisionHistoryLimit, except those that pods or `kept`
 * name. */
void revisions_trim(struct revisions *r, struct app *a, const char *kept, const char *also_kept);
