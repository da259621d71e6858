/*
 * top_run.h - runs commands of this program for `mete top`, one after the other
 *
 * An action of the screen is the same command that a user would type: it has the same checks, and
 * the same words.
 */
#pragma once

#include "base/loop.h"
#include "base/str.h"
#include "cli/cli.h"

struct top_run;

struct top_run_options {
    struct loop *loop;
    struct cli *cli; /* its flags that name the server are passed on */
    /* The end of a command; `output` is what it printed, borrowed. */
    void (*on_end)(void *arg, bool is_ok, struct str output);
    void *arg;
};

struct top_run *top_run_new(const struct top_run_options *o);
void top_run_free(struct top_run *r); /* accepts NULL; running commands go on */

/* Adds a command, `words` without the program's name, NULL at the end; `ns` NULL: the command has
 * no namespace. With `has_terminal` it uses the terminal, which the caller has given up. */
void top_run_add(struct top_run *r, const char *const *words, const char *ns, bool has_terminal);
/* Is a command running that uses the terminal? */
bool top_run_has_terminal(const struct top_run *r);
