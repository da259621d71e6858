/* up.h - the options of `mete up`: from flags, else the configuration file, else defaults */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "model/host_roots.h"
#include "model/ip4.h"

struct up_options {
    char *data;
    char *gpus;       /* "auto", "none", "emulated:PROFILE" */
    char *gpu_config; /* path of the device plugin's configuration; "": none */
    char *mig_config; /* path of a mig-parted file; "": none */
    char *slurm_conf; /* path; "": none */
    char *host;       /* of --listen */
    unsigned port;
    char *metrics_host; /* of --metrics; NULL: off */
    unsigned metrics_port;
    char *metrics_tls; /* "off"; "own": with the server's certificate; a directory */
    char *page_host;   /* of --dashboard; NULL: off */
    unsigned page_port;
    bool is_page_default; /* nobody chose the port */
    char *log_level;
    char *log_format;
    char *runtime;     /* "auto", "crun", "runc" */
    char *driver_root; /* directory; "": to be found */
    char *pod_network; /* "off", or a network: 10.244.0.0/16 */
    char *service_network;
    char *cpus;         /* number that the node offers; "": all of the machine */
    char *cdi_file;     /* CDI file to be kept up to date; "": none */
    char *log_max_size; /* of containers; both checked by log_limits_parse */
    char *log_max_files;
    char *learn_every;            /* a duration; 0s: never */
    char *learn_after;            /* number of arrivals */
    char *network_tiers;          /* "rack,block": network_tiers.h */
    char *scheduler_names;        /* "volcano,mine": scheduler_names.h */
    char *audit_reads;            /* "sensitive", "all" */
    char *audit_keep;             /* a duration; 0s: for ever */
    struct host_roots host_roots; /* allowed for all users */
};

/* Values of flags; NULL: not given. */
struct up_given {
    const char *data;
    const char *gpus;
    const char *gpu_config;
    const char *mig_config;
    const char *slurm_conf;
    const char *listen;
    const char *metrics;
    const char *dashboard;
    const char *log_level;
    const char *log_format;
    const char *runtime;
    const char *driver_root;
    const char *cpus;
    const char *pod_network;
    const char *service_network;
    const char *cdi_file;
    const char *log_max_size;
    const char *log_max_files;
    const char *const *host_path_roots; /* NULL-terminated; may be NULL or empty */
};

/*
 * Makes the options. `config` is the document of a file with apiVersion mete.dev/v1, kind Config
 * and the members data, gpus, gpuConfig, migConfig, slurmConf, listen, metrics, metricsTls,
 * dashboard, logLevel, logFormat, runtime, driverRoot, cpus, cdiFile, containerLogMaxSize,
 * containerLogMaxFiles, learnEvery, learnAfter, networkTiers, schedulerNames, auditReads,
 * auditKeep, podNetwork, serviceNetwork and hostPathRoots (a list); NULL: none. ERR_BAD_REQUEST
 * names an unknown or malformed member.
 */
struct err *up_options_make(const struct up_given *given, const json_t *config,
                            struct up_options *ret) MUST_CHECK;
void up_options_done(struct up_options *o);

/* Reads the number of cpus that a node offers. "": `*ret` stays. */
struct err *cpus_parse(const char *text, int64_t *ret) MUST_CHECK;

/* Read networks; "off": {0}. */
struct err *pod_network_parse(const char *text, struct ip4_net *ret) MUST_CHECK;
struct err *service_network_parse(const char *text, struct ip4_net *ret) MUST_CHECK;

/* Reads "127.0.0.1:7443", "[::1]:0", ":7443" (all addresses). Messages begin with `what`. The
 * caller frees `*ret_host`. */
struct err *listen_parse(const char *what, const char *text, char **ret_host,
                         unsigned *ret_port) MUST_CHECK;
