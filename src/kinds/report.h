/*
 * report.h - the seam between a door that asks for a report and the room that makes it
 *
 * A report reads too much for one turn of the loop: it is made in small steps, and answered later.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"

struct report_question {
    const json_t *parameters; /* the request's parameters: an object of texts */
    const json_t *namespaces; /* namespaces that the caller may see (array of names); NULL: all */
    const char *user;         /* the caller */
    bool is_admin;            /* the caller sees what only a job's user may see */
};

/* May the caller see what is in the namespace? `namespaces` as in a question. */
static inline bool report_may_show(const json_t *namespaces, const char *ns)
{
    return !namespaces || json_has_text(namespaces, ns);
}

/* Reads a number of 0 .. max; `fallback`: the parameter is absent. `*ret` changes on success only.
 */
struct err *report_number(const json_t *parameters, const char *key, int64_t fallback, int64_t max,
                          size_t *ret) MUST_CHECK;
/* ERR_BAD_REQUEST: a parameter is none of the `n` in `known`. */
struct err *report_check_known(const json_t *parameters, const char *const *known,
                               size_t n) MUST_CHECK;

/* Exactly one of `e` and `report` is not NULL; both are borrowed. */
typedef void (*report_done_fn)(void *arg, const struct err *e, const json_t *report);

struct report; /* a report in the making */

struct report_maker {
    const char *path; /* "/apis/mete.dev/v1/usage" */
    /* Begins a report. `done` is called once, from the loop, never from inside, and ends the
     * report. A malformed question is an error at once. */
    struct err *(*begin)(void *arg, const struct report_question *q, report_done_fn done,
                         void *done_arg, struct report **ret);
    void (*cancel)(struct report *r); /* `done` is not called after this */
    /* While it is the same, so is the answer; 0: ask anew. NULL: always 0. */
    uint64_t (*stamp)(void *arg, const struct report_question *q);
    void *arg;
};
