/* step_private.h - the parts of the manager of a step on a node */
#pragma once

#include <sys/types.h>

#include "base/loop.h"
#include "slurm/pmi_server.h"
#include "slurm/step_frame.h"
#include "slurm/step_plan.h"

struct step;

/* A task of the step. Descriptors are -1 once they are closed. */
struct step_task {
    struct step *step;
    const struct step_task_plan *plan;
    pid_t pid; /* 0: not started */
    int pidfd;
    int input; /* of a task with a terminal, also its output */
    int output;
    int errors;
    struct loop_io *pid_io;
    struct loop_io *input_io;
    struct loop_io *output_io;
    struct loop_io *errors_io;
    struct buf bytes; /* for the input */
    size_t place;     /* among the tasks of the node */
    char *end;        /* the payload of its STEP_EXIT; NULL: it runs */
    int pmi;          /* a socket; -1: none */
    struct loop_io *pmi_io;
    struct buf answers;   /* for the socket */
    bool input_has_ended; /* no bytes follow those */
    bool has_ended;       /* its epilogs may still run */
    size_t n_epilogs;     /* that have run */
    bool is_over;
};

struct step {
    struct loop *loop;
    struct step_plan plan;
    bool has_plan;
    struct buf received; /* not read yet */
    struct buf sent;     /* not written yet */
    struct loop_io *in;
    struct loop_io *out;
    struct loop_timer *timer;
    VEC(struct step_task *) tasks;
    struct pmi_server *pmi; /* NULL: none */
    struct buf fence;       /* of srun, not whole yet */
    struct step_pmix *pmix; /* NULL: none */
    int listener;           /* for sattach; -1: none */
    struct loop_io *listener_io;
    VEC(struct step_attachment *) attachments;
    bool *failed_prologs; /* of each task; shared with the children */
    size_t n_over;
    bool is_ending;    /* the connection broke: the tasks get signals */
    bool is_finishing; /* all tasks are over: only `sent` is left */
    bool is_lost;      /* nothing can be written */
    bool is_paused;    /* outputs of tasks are not read: too much is not written yet */
    bool is_late;      /* attachments have had their time to read the rest */
    int code;
};

/* step_linux.c */
void step_say(struct step *s, char kind, uint32_t rank, struct str payload);
void step_task_ended(struct step_task *t);
/* The task has ended, and its epilogs have run. */
void step_task_over(struct step_task *t);
/* Tells srun why the step cannot go on, and ends it. */
void step_fail(struct step *s, struct err *taken);
/* The PMIx server is ready: starts the tasks. */
void step_begin(struct step *s);
/* The PMIx server is no longer needed. */
void step_finish_if_over(struct step *s);
/* Gives input to a task, or to all: STEP_ALL_RANKS. */
void step_feed(struct step *s, uint32_t rank, struct str bytes);
/* Does a task leave more input unread than is kept? Then nobody sends more. */
bool step_is_flooded(const struct step *s);
/* A task has read input: more is read. */
void step_resume_input(struct step *s);
/* An attachment has got bytes, or ended. */
void step_attachments_changed(struct step *s);

/* step_attachments_linux.c: connections of sattach to this manager. They get output from their
 * beginning on, and the ends of all tasks; they send input. */
void step_attachments_open(struct step *s);
void step_attachments_say(struct step *s, char kind, uint32_t rank, struct str payload);
void step_attachments_resume(struct step *s); /* reads their input again */
bool step_attachments_have_unsent(const struct step *s);
void step_attachments_close(struct step *s);
/* Passes frames between standard input and output and the manager of the step on this node, until
 * one of them ends. ERR_NOT_FOUND: no such manager runs. */
struct err *step_attach_run(const char *number) MUST_CHECK;

/* step_use_linux.c: prints {"tasks":[{"rank","cpuNs","rssBytes","peakBytes","pids"}]}, what the
 * tasks of the step use that run on this node. */
struct cli;
struct err *step_use_print(struct cli *c, const char *number) MUST_CHECK;
/* Adds the processes of the step on this node whose parent is not of the step, but for those of
 * this command: its manager, and other commands that look at the step. */
struct err *step_managers_find(int64_t step, struct step_numbers *ret) MUST_CHECK;
/* The start of a process, in ticks of the clock since the machine's. */
struct err *step_process_begun(int64_t pid, int64_t *ret_ticks) MUST_CHECK;

/* step_task_linux.c: starts the task; its pipes are read from then on. */
struct err *step_task_start(struct step_task *t) MUST_CHECK;
/* Adds bytes for the task's input; no bytes: its end. */
void step_task_feed(struct step_task *t, struct str bytes);
void step_task_signal(const struct step_task *t, int signal);
void step_task_resize(const struct step_task *t, uint16_t columns, uint16_t rows);
/* Reads outputs, or no longer does. */
void step_task_pause(struct step_task *t, bool is_paused);
/* Reads what is in the pipes now, and closes them. */
void step_task_drain(struct step_task *t);
void step_task_free(struct step_task *t);

/* step_pmi_linux.c: the server of the step, if its plan has one. */
void step_pmi_open(struct step *s);
/* The socket of a task; `*ret_child` is that of its process, unchanged where the step has no PMI.
 */
struct err *step_pmi_make(struct step_task *t, int *ret_child) MUST_CHECK;
void step_pmi_close(struct step_task *t);
/* Takes the data of a fence: the next part, or with an empty one its end. */
struct err *step_pmi_take(struct step *s, struct str payload) MUST_CHECK;

/*
 * step_pmix_linux.c: the PMIx server of the step, if its plan has one. It is started before the
 * tasks, which begin (step_begin) when it is ready.
 */
#define STEP_PMIX_WORD  "pmix"              /* mete step pmix: the server's program */
#define STEP_PMIX_STORE "PMIX_MCA_gds=hash" /* of its tasks, too: no memory shared by files */

struct err *step_pmix_open(struct step *s) MUST_CHECK;
bool step_pmix_is_starting(const struct step *s);
/* May tasks of other nodes still ask for what those here have put? */
bool step_pmix_is_needed(const struct step *s);
pid_t step_pmix_pid(const struct step *s); /* 0: none */
void step_pmix_put_variables(const struct step *s, uint32_t rank, char ***env);
/* A task that ends between PMIx_Init and PMIx_Finalize ends the step: others would wait for it. */
void step_pmix_task_ended(const struct step_task *t);
/* Takes bytes of srun. */
struct err *step_pmix_take(struct step *s, struct str payload) MUST_CHECK;
void step_pmix_kill(struct step *s);
void step_pmix_close(struct step *s);

/* step_child_linux.c: what the child does before the program; does not return. */
struct step_child {
    const struct step_plan *plan;
    const struct step_task_plan *task;
    char **env;              /* owned by the child */
    bool *has_failed_prolog; /* shared with the manager */
    int input;               /* become descriptors 0, 1 and 2; -1: by the plan */
    int output;
    int errors;
    int pmi;           /* becomes STEP_PMI_FD; -1: none */
    bool has_terminal; /* `input` is the terminal of the task */
};
_Noreturn void step_child_run(struct step_child *c);

/* step_env_linux.c: the variables of the task: those of this process, the plan's, the devices. The
 * caller frees the list, which ends with NULL, and the texts: step_env_free. */
char **step_env_make(const struct step_task_plan *task);
void step_env_set(char ***env, char *taken); /* "NAME=VALUE" */
void step_env_unset(char **env, struct str name);
void step_env_free(char **env);

/*
 * step_programs_linux.c: the programs of the plan around tasks. In the child, before the task: each
 * prolog may change the variables by its output. False: one failed, which the task's stderr tells.
 */
bool step_prologs_run(const struct step_plan *plan, char ***env);
/* In the manager, after the end of the task: runs the epilogs, and then step_task_over. */
void step_epilogs_run(struct step_task *t);
