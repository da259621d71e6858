/* top_private.h - the state of `mete top`: top.c, its keys and its actions */
#pragma once

#include "cli/session.h"
#include "cli/top/top_draw.h"
#include "cli/top/top_estimate.h"
#include "cli/top/top_events.h"
#include "cli/top/top_feed.h"
#include "cli/top/top_job.h"
#include "cli/top/top_local.h"
#include "cli/top/top_run.h"

/* A job that the user has marked. Texts are owned. */
struct top_tag {
    char *ns;
    char *word; /* that names it: "12", or "pod/train" */
};

struct top {
    struct cli *cli;
    struct session *session; /* NULL with --local */
    struct loop *loop;
    struct top_feed *feed;
    struct top_local *local;       /* NULL: not --local */
    struct top_events *events;     /* NULL: the screen was not opened yet */
    struct top_estimate *estimate; /* NULL with --local */
    struct top_job *job;           /* NULL: the screen is not open */
    struct top_run *run;
    struct loop_timer *timer;
    struct loop_timer *clock; /* draws each second, also while the server is silent */
    struct loop_io *keys;
    struct top_view view;
    struct top_page page;
    struct top_page event_page; /* copies of pointers: the rows belong to `events` */
    struct top_row opened;      /* the job whose screen is open, or was */
    struct top_lines paper;
    struct top_look look;
    VEC(struct top_tag) tags;
    VEC(char *)
    words;       /* of the command that waits for the answer to the question; NULL at the end */
    char *queue; /* that the user wants to see; NULL: none */
    char *user;  /* of the jobs; NULL: all */
    char *word;  /* of the job that the output on its way is about */
    int64_t begun_cpu_ns;
    bool is_readonly;
    bool is_terminal_lent; /* to a command */
    bool wants_paper;      /* the output of the running command is to be shown */
};

/* top.c */
void top_show(struct top *t);
/* Asks for the present screen now. */
void top_ask_now(struct top *t);
/* Changes to a screen. */
void top_go(struct top *t, enum top_screen screen);
/* The selected row of the present list; NULL: none. */
const struct top_row *top_selected(struct top *t);
/* Opens the screen of a job. */
void top_open_job(struct top *t, const struct top_row *row);
void top_quit(struct top *t);
void top_say(struct top *t, const char *fmt, ...) PRINTF(2, 3);
/* Begins to draw again after another program used the terminal; or stops. */
void top_use_terminal(struct top *t, bool is_ours);

/* top_keys.c */
void top_press(struct top *t, int key);

/* top_act.c */
/* A command line behind ":". Borrowed, changed. */
void top_command(struct top *t, char *line);
/* Asks whether to run a verb of this program on the tagged jobs, else on the selected one. */
void top_act(struct top *t, const char *verb, const char *argument);
/* Answers the question. */
void top_answer(struct top *t, bool is_yes);
/* Shows what a command prints about the selected job. */
void top_print(struct top *t, const char *const *words);
void top_on_run_end(void *arg, bool is_ok, struct str output);
void top_toggle_tag(struct top *t);
bool top_is_tagged(void *arg, const struct top_row *row);
void top_act_done(struct top *t);
