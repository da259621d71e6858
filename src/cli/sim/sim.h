/* sim.h - what the subcommands of `mete sim` share */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "sim/openb.h"
#include "sim/value_table.h"

struct err *sim_jobs(struct cli *c) MUST_CHECK;
struct err *sim_openb(struct cli *c) MUST_CHECK;
struct err *sim_churn(struct cli *c) MUST_CHECK;
struct err *sim_learn(struct cli *c) MUST_CHECK;
struct err *sim_record(struct cli *c) MUST_CHECK;
struct err *sim_replay(struct cli *c) MUST_CHECK;

/* Reads the table of policy mete from a file, or learns the table from the trace, with a message.
 */
struct err *sim_values_read(const char *path, struct value_table **ret) MUST_CHECK;
struct err *sim_values_learn(struct cli *c, const struct openb *o,
                             struct value_table **ret) MUST_CHECK;

/* A column of a result: the key of JSON and CSV, the title of tables. */
struct sim_column {
    const char *key;
    const char *title; /* NULL: not in tables */
};

/* Prints `rows` (an array of objects with these keys) in the format of --output: a JSON list, CSV,
 * or a table with reals rounded to one digit. */
struct err *sim_print(struct cli *c, const struct sim_column *columns, size_t n,
                      const json_t *rows) MUST_CHECK;

/* The i-th word of a list "a,b,c"; false: past the end. */
bool sim_list_at(const char *list, size_t i, struct str *ret);

/* Progress of a long run, "mete: sim: WHAT 40 of 60". On a terminal: one line, rewritten every
 * tenth of a second after the first second; else one line every half minute. {0} initially. */
struct sim_progress {
    struct cli *cli;
    const char *what;
    size_t total;
    int64_t began_ns;
    int64_t said_ns;
};
void sim_progress_begin(struct sim_progress *p, struct cli *c, const char *what, size_t total);
void sim_progress_show(struct sim_progress *p, size_t done);
void sim_progress_end(struct sim_progress *p);
