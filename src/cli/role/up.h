/* up.h - what `mete up` is told: by flags, then by its configuration file, then by default */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "model/host_roots.h"

struct up_options {
    char *data;
    char *gpus; /* "auto", "none", "emulated:PROFILE" */
    char *host; /* of --listen */
    unsigned port;
    char *log_level;
    char *log_format;
    char *runtime;      /* "auto", "crun", "runc" */
    char *log_max_size; /* of containers; checked by log_limits_parse, as: */
    char *log_max_files;
    char *learn_every;            /* a duration; 0s: never */
    char *learn_after;            /* so many arrivals */
    char *network_tiers;          /* "rack,block": network_tiers.h */
    char *scheduler_names;        /* "volcano,mine": scheduler_names.h */
    struct host_roots host_roots; /* where hostPaths may be, whoever asks */
};

/* Those of flags that are given; NULL where not. */
struct up_given {
    const char *data;
    const char *gpus;
    const char *listen;
    const char *log_level;
    const char *log_format;
    const char *runtime;
    const char *log_max_size;
    const char *log_max_files;
    const char *const *host_path_roots; /* NULL-terminated; may be NULL or empty */
};

/*
 * `config` is the document of a file of apiVersion mete.dev/v1, kind Config, with the members data,
 * gpus, listen, logLevel, logFormat, runtime, containerLogMaxSize, containerLogMaxFiles,
 * learnEvery, learnAfter, networkTiers, schedulerNames and hostPathRoots (a list); NULL: none.
 * ERR_BAD_REQUEST names what is unknown or malformed, and refuses by name what is not there yet
 * (dashboard, metrics).
 */
struct err *up_options_make(const struct up_given *given, const json_t *config,
                            struct up_options *ret) MUST_CHECK;
void up_options_done(struct up_options *o);

/* "127.0.0.1:7443", "[::1]:0", ":7443" (every address). `*ret_host` is the caller's to free. */
struct err *listen_parse(const char *text, char **ret_host, unsigned *ret_port) MUST_CHECK;
