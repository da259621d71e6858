/*
 * native_plan.h - what the waiter of a native attempt is to do, read from the attempt's document
 *
 * The document is {"intent", "config", "host"}: `config` is the config.json that an OCI runtime
 * would get, `host` the value of HOST_PROCESS_ANNOTATION (kinds/slurm/slurm_job.h). What needs a
 * mount, a filter of system calls or a terminal is refused by name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"

/* Texts and lists live as long as the document; native_plan_done frees the arrays. */
struct native_plan {
    const char *cgroup; /* absolute, "/mete/ID" */
    const char **args;  /* NULL-terminated, as is `env`; empty: only the script */
    const char **env;
    const char *cwd;
    const char *script; /* text; NULL: none */
    const char *input;  /* path, as are the outputs; NULL: /dev/null */
    const char *output;
    const char *errors; /* NULL: as `output` */
    const char *prolog; /* of Slurm, as root before the job: a pattern of paths; NULL: none */
    const char *epilog; /* the same behind it */
    int64_t program_timeout_s; /* 0: none */
    const json_t *variables;   /* "NAME=VALUE" for both, made by Mete alone */
    bool has_gpus;             /* `env` says which the node gave */
    bool is_hold;              /* no program: the attempt lasts until a signal ends it */
    bool is_append;
    mode_t umask;
    uid_t uid;
    gid_t gid;
    gid_t *groups;
    size_t n_groups;
    uint64_t bounding;  /* capabilities, a bit each */
    uint64_t permitted; /* also effective */
    bool has_no_new_privileges;
    int64_t cpu_shares;   /* of v1; 0: none, as below */
    int64_t cpu_quota_us; /* in each period */
    int64_t cpu_period_us;
    int64_t memory_bytes;
    int64_t pids;
    const json_t *devices; /* rules of the device cgroup, the last match decides */
};

/* ERR_INVALID: the document asks for what this runtime does not do; the message names it. `*ret` is
 * {0} before. */
struct err *native_plan_read(const json_t *document, struct native_plan *ret) MUST_CHECK;
void native_plan_done(struct native_plan *p);
