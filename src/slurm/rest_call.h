/* rest_call.h - a request to slurmrestd's paths: its questions to the API, and its answer */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "http/target.h"
#include "model/index_set.h"
#include "slurm/columns.h"
#include "slurm/rest.h"
#include "slurm/sacct.h"

enum rest_status {
    STATUS_OK = 200,
    STATUS_WRONG = 400,
    STATUS_ABSENT = 404,
    STATUS_METHOD = 405,
    STATUS_CONFLICT = 409,
    STATUS_LARGE = 413,
    STATUS_REFUSED = 501,
    STATUS_BROKEN = 502
};

struct rest_call;
typedef void (*rest_fn)(struct rest_call *c);
typedef void (*rest_then_fn)(struct rest_call *c, const json_t *answer);

struct rest_route {
    const char *method;
    const char *path; /* "slurm/job/ID": the version is left out; "ID" is a part of any text */
    rest_fn begin;
    const char *parameters; /* of the query, with commas; NULL: none */
};

/* A request. It ends with its answer, or with its connection. */
struct rest_call {
    const struct slurm_rest *rest;
    struct exchange *x;
    const struct rest_route *route;
    struct arena *arena;
    struct query *query;
    const char *id;           /* the part ID of the path; "": none */
    int64_t number;           /* the same as the number of a job, with: */
    struct index_set indexes; /* its elements */
    char *path;               /* of the question under way, as are: */
    char *body;
    char *bearer; /* the header Authorization; NULL: none */
    VEC(struct http_header) headers;
    struct api_request request;
    struct ask *ask;
    int status;        /* of the answer, as is: */
    struct buf answer; /* its body */
    bool is_answered;
    bool is_inside;    /* rest_ask is on the stack */
    rest_then_fn then; /* takes the answer, which is 200 or 201 */
    rest_fn again;     /* after a conflict; NULL: it is an error */
    int tries;
    /* Makes the patch of the job; of a route that changes one. */
    struct err *(*change)(struct rest_call *c, const json_t *job, const char *elements,
                          json_t **ret);
    rest_fn done;
    /* The results of earlier answers: */
    json_t *row;  /* of the job to change */
    json_t *held; /* an object: "jobs", "queues"... */
    struct slurm_words words;
    struct sacct sacct;
};

void rest_free(struct rest_call *c);

/* The end: answers with the document, which is taken, or with an error. `c` is dead after it. */
void rest_end(struct rest_call *c, int status, json_t *document);
void rest_fail(struct rest_call *c, int status, const char *message);

/* An empty document. New reference. */
json_t *rest_document(void);

/* The moment and the zone of the answer. */
struct slurm_view rest_view(const struct rest_call *c);

/* Asks the API; takes `path` and `body` (NULL: none). c->then takes the answer; an error ends the
 * call. `c` may be dead after it. */
void rest_ask(struct rest_call *c, const char *method, const char *type, char *path, char *body);

/* Asks for a report of rows (kinds/slurm/slurm_rows.h); `more` may be NULL. */
void rest_ask_rows(struct rest_call *c, const char *what, const char *more, rest_then_fn then);

/* rest_jobs.c */
void rest_jobs(struct rest_call *c);
void rest_job(struct rest_call *c);
void rest_submit(struct rest_call *c);
void rest_update_job(struct rest_call *c);
void rest_cancel(struct rest_call *c);

/* rest_books.c: the accounting and the accounts. */
void rest_account_jobs(struct rest_call *c);
void rest_books(struct rest_call *c);
