/*
 * step_plan.h - what the manager of a step does on its node: the first line that srun sends
 *
 * A JSON object:
 *   "env"      variables of all tasks, "NAME=VALUE"
 *   "argv"     the command of all tasks
 *   "cwd", "umask"
 *   "pty"      {"columns", "rows"}: the first task has a terminal; absent: none has
 *   "pmi"      {"size", "job", "mapping"}: the tasks have PMI (pmi_server.h) for "size" ranks, at
 *              STEP_PMI_FD; absent: they have none
 *   "pmix"     {"space", "job", "size", "nodes", "ranks", "node"}: the tasks have PMIx: the name of
 *              the step there, the text of its number, its count of ranks, the names of its nodes,
 *              the ranks of each as "0,1", and which of them is this node; absent: they have none
 *   "prologs", "epilogs"  programs that run before and after each task, in their order: absolute
 *              paths; absent: none
 *   "tasks"    [{"rank", "argv", "env", "gpus", "cpus", "stdin", "stdout", "stderr"}...]
 * Of a task, "argv" replaces that of all, "env" is added. "gpus" are places in the list of devices
 * that the manager has in CUDA_VISIBLE_DEVICES; absent: all of them. "cpus" are numbers of cpus
 * that the task is bound to; absent: not bound. "stdin", "stdout" and "stderr" are paths; "stdin"
 * absent: frames; "-": /dev/null.
 */
#pragma once

#include "base/json.h"
#include "base/vec.h"

enum {
    STEP_PLAN_MAX = 16 << 20, /* bytes of the line */
    STEP_NODE_TASKS_MAX = 4096,
    STEP_WORDS_MAX = 65536, /* words of a command, and variables */
    STEP_PMI_FD = 3         /* the descriptor of a task */
};

struct step_numbers { /* as VEC(int64_t) */
    int64_t *at;
    size_t n;
    size_t room;
};

/* Texts are borrowed from the document; the lists end with NULL. */
struct step_task_plan {
    uint32_t rank;
    const char **argv;
    const char **env;
    struct step_numbers gpus;
    struct step_numbers cpus;
    bool has_gpus;
    bool has_cpus;
    const char *input;
    const char *output;
    const char *errors;
};

struct step_plan {
    json_t *document; /* owned */
    const char *cwd;
    int64_t umask;
    bool has_terminal;
    uint16_t columns;
    uint16_t rows;
    int64_t pmi_size; /* 0: no PMI server */
    const char *pmi_job;
    const char *pmi_mapping; /* NULL: unknown */
    const json_t *pmix;      /* borrowed; NULL: no PMIx server */
    const char **prologs;    /* end with NULL */
    const char **epilogs;
    VEC(struct step_task_plan) tasks;
};

/* ERR_INVALID: the line is malformed; the message names the member. `*ret`, which must be empty,
 * changes on success only. */
struct err *step_plan_read(struct str line, struct step_plan *ret) MUST_CHECK;
void step_plan_done(struct step_plan *p);
