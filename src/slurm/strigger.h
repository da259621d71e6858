/* strigger.h - strigger: its words, the jobs that it makes, and its table */
#pragma once

#include "base/json.h"
#include "slurm/words.h"

/* Ends with a NULL name. */
extern const struct slurm_option strigger_options[];
extern const char strigger_help[];

enum strigger_action {
    STRIGGER_SET,
    STRIGGER_GET,
    STRIGGER_CLEAR
};

/* Texts are borrowed from the words. */
struct strigger {
    enum strigger_action action;
    const char *event;   /* "fini", "time", "down", "up"; NULL: none */
    const char *nodes;   /* a hostlist, "*": any; NULL: none */
    const char *program; /* with arguments; NULL: none */
    const char *user;    /* a name or a uid; NULL: all */
    int64_t job;         /* 0: none */
    int64_t id;          /* of the trigger; 0: none */
    int64_t offset_s;
    bool has_header;
};

/* Reads the words. ERR_INVALID has the words of strigger, or names what is not available. */
struct err *strigger_read(const struct slurm_words *words, struct strigger *ret) MUST_CHECK;

/* The SlurmJob that runs the program once the event has come. New reference. */
json_t *strigger_object(const struct strigger *t);

/* Is the row of a trigger among those that the words want? */
bool strigger_wants(const struct strigger *t, const json_t *row);

/* Adds the table of the rows. */
void strigger_print(const struct strigger *t, const json_t *rows, struct buf *out);
