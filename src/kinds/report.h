/*
 * report.h - the seam between a door that is asked for a report and the room that makes it
 *
 * A report reads more than one turn of the loop should: it is made in small steps, and answered
 * later.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"

struct report_question {
    const json_t *parameters; /* an object of texts, as asked */
    const json_t *namespaces; /* what of may be told: an array of names; NULL: of all */
    const char *user;         /* who asks */
};

/* Exactly one of the two is not NULL; both are borrowed. */
typedef void (*report_done_fn)(void *arg, const struct err *e, const json_t *report);

struct report; /* one that is being made */

struct report_maker {
    const char *path; /* "/apis/mete.dev/v1/usage" */
    /*
     * Begins one; `done` comes once, from the loop, never from inside, and ends it. What is asked
     * for wrongly is refused at once.
     */
    struct err *(*begin)(void *arg, const struct report_question *q, report_done_fn done,
                         void *done_arg, struct report **ret);
    void (*cancel)(struct report *r); /* `done` is not called any more */
    void *arg;
};
