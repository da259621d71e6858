/* up_options.c - the options of `mete up` */

#include "base/mem.h"
#include "base/num.h"
#include "cli/role/log_limits.h"
#include "cli/role/roles.h"
#include "cli/role/slurm_files.h"
#include "cli/role/up.h"
#include "kinds/network_tiers.h"
#include "kinds/scheduler_names.h"
#include "kinds/service/service.h"
#include "node/cdi_writer.h"

enum {
    PORT_MAX = 65535
};

struct err *listen_parse(const char *what, const char *text, char **ret_host, unsigned *ret_port)
{
    const char *colon = strrchr(text, ':');
    AUTO(err_freep) struct err *e = NULL;
    struct str host;
    int64_t port = 0;

    if (!colon)
        return err_new(ERR_BAD_REQUEST, "%s \"%s\": want HOST:PORT", what, text);
    host = (struct str){.at = text, .size = (size_t)(colon - text)};
    e = num_parse_int64(str_of(colon + 1), 0, PORT_MAX, &port);
    if (e)
        return err_new(ERR_BAD_REQUEST, "%s \"%s\": \"%s\" is not a port: want 0 to %d", what, text,
                       colon + 1, PORT_MAX);
    if (host.size >= 2 && host.at[0] == '[' && host.at[host.size - 1] == ']')
        host = (struct str){.at = host.at + 1, .size = host.size - 2};
    else if (memchr(host.at, ':', host.size))
        return err_new(ERR_BAD_REQUEST, "%s \"%s\": an IPv6 address needs brackets: [::1]:7443",
                       what, text);
    *ret_host = host.size > 0 ? mem_strndup(host.at, host.size) : mem_strdup("0.0.0.0");
    *ret_port = (unsigned)port;
    return NULL;
}

enum {
    LEARN_AFTER_MAX = 1000000,
    CPUS_MAX = 65536
};

static const char *const config_keys[] = {"apiVersion",
                                          "kind",
                                          "data",
                                          "gpus",
                                          "gpuConfig",
                                          "migConfig",
                                          "slurmConf",
                                          "listen",
                                          "metrics",
                                          "metricsTls",
                                          "dashboard",
                                          "logLevel",
                                          "logFormat",
                                          "hostPathRoots",
                                          "cpus",
                                          "runtime",
                                          "driverRoot",
                                          "cdiFile",
                                          "containerLogMaxSize",
                                          "containerLogMaxFiles",
                                          "learnEvery",
                                          "learnAfter",
                                          "networkTiers",
                                          "schedulerNames",
                                          "podNetwork",
                                          "serviceNetwork",
                                          "auditReads",
                                          "auditKeep",
                                          NULL};

static bool is_among(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (text_equal(*words, word))
            return true;
    return false;
}

static struct err *check_texts(const char *key, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)))
            return err_new(ERR_BAD_REQUEST, "%s: want a list of strings", key);
    return json_is_array(list) ? NULL : err_new(ERR_BAD_REQUEST, "%s: want a list of strings", key);
}

static struct err *check_config(const json_t *config)
{
    const char *key;
    json_t *value;

    if (!json_is_object(config) || !text_equal(json_text(config, "apiVersion"), "mete.dev/v1") ||
        !text_equal(json_text(config, "kind"), "Config"))
        return err_new(ERR_BAD_REQUEST, "want apiVersion: mete.dev/v1, kind: Config");
    json_object_foreach ((json_t *)(uintptr_t)config, key, value) {
        if (!is_among(config_keys, key))
            return err_new(ERR_BAD_REQUEST, "unknown member \"%s\"", key);
        if (text_equal(key, "hostPathRoots"))
            TRY(check_texts(key, value));
        else if (!json_is_string(value))
            return err_new(ERR_BAD_REQUEST, "%s: want a string", key);
    }
    return NULL;
}

static char *option_choose(const char *given, const json_t *config, const char *key,
                           const char *fallback)
{
    const char *configured = json_text(config, key);

    return mem_strdup(given ? given : configured ? configured : fallback);
}

static struct err *check_gpus(const char *gpus)
{
    if (text_equal(gpus, "auto") || text_equal(gpus, "none"))
        return NULL;
    if (text_starts_with(gpus, "emulated:") && gpus[strlen("emulated:")])
        return NULL;
    return err_new(ERR_BAD_REQUEST,
                   "gpus \"%s\": want auto, none or emulated:PROFILE (emulated:8xH100)", gpus);
}

static struct err *check_learning(const struct up_options *o)
{
    int64_t every_ns = 0;
    int64_t after = 0;
    struct err *e = num_parse_duration(str_of(o->learn_every), &every_ns);

    if (e)
        return err_wrap(e, "learnEvery");
    e = num_parse_int64(str_of(o->learn_after), 1, LEARN_AFTER_MAX, &after);
    return e ? err_wrap(e, "learnAfter") : NULL;
}

static struct err *check_tiers(const struct up_options *o)
{
    struct network_tiers tiers = {0};
    struct err *e = network_tiers_parse(o->network_tiers, &tiers);

    network_tiers_done(&tiers);
    return e ? err_wrap(e, "networkTiers") : NULL;
}

static struct err *check_names(const struct up_options *o)
{
    struct scheduler_names names = {0};
    struct err *e = scheduler_names_parse(o->scheduler_names, false, &names);

    scheduler_names_done(&names);
    return e ? err_wrap(e, "schedulerNames") : NULL;
}

static struct err *check_audit(const struct up_options *o)
{
    static const char *const reads[] = {"sensitive", "all", NULL};
    int64_t keep_ns = 0;
    struct err *e = num_parse_duration(str_of(o->audit_keep), &keep_ns);

    if (e)
        return err_wrap(e, "auditKeep");
    if (!is_among(reads, o->audit_reads))
        return err_new(ERR_BAD_REQUEST, "auditReads \"%s\": want sensitive or all", o->audit_reads);
    return NULL;
}

/* Reads a network of pods or Services; "off": {0}. */
static struct err *network_parse(const char *what, const char *text, unsigned bits_max,
                                 struct ip4_net *ret)
{
    struct err *e = NULL;

    *ret = (struct ip4_net){0};
    if (text_equal(text, "off"))
        return NULL;
    e = ip4_net_parse(text, ret);
    if (!e && (ret->bits < 8 || ret->bits > bits_max))
        e = err_new(ERR_BAD_REQUEST, "network '%s': want 8 to %u bits", text, bits_max);
    return e ? err_wrap(e, "%s", what) : NULL;
}

struct err *pod_network_parse(const char *text, struct ip4_net *ret)
{
    return network_parse("podNetwork", text, 29, ret);
}

struct err *service_network_parse(const char *text, struct ip4_net *ret)
{
    return network_parse("serviceNetwork", text, 27, ret);
}

static struct err *check_networks(const struct up_options *o)
{
    struct ip4_net pods = {0};
    struct ip4_net services = {0};

    TRY(pod_network_parse(o->pod_network, &pods));
    TRY(service_network_parse(o->service_network, &services));
    if (services.bits == 0)
        return err_new(ERR_BAD_REQUEST, "serviceNetwork \"off\": want a network");
    if (ip4_nets_overlap(pods, services))
        return err_new(ERR_BAD_REQUEST, "podNetwork %s overlaps serviceNetwork %s", o->pod_network,
                       o->service_network);
    return NULL;
}

struct err *cpus_parse(const char *text, int64_t *ret)
{
    struct err *e = *text ? num_parse_int64(str_of(text), 1, CPUS_MAX, ret) : NULL;

    return e ? err_wrap(e, "cpus") : NULL;
}

static struct err *check_words(const struct up_options *o)
{
    static const char *const levels[] = {"error", "warn", "info", "debug", NULL};
    static const char *const formats[] = {"text", "json", NULL};
    static const char *const runtimes[] = {"auto", "crun", "runc", NULL};

    struct log_limits limits;

    TRY(check_gpus(o->gpus));
    TRY(log_limits_parse(o->log_max_size, o->log_max_files, &limits));
    TRY(check_learning(o));
    TRY(check_tiers(o));
    TRY(check_names(o));
    TRY(check_audit(o));
    TRY(check_networks(o));
    if (!text_equal(o->metrics_tls, "off") && !text_equal(o->metrics_tls, "own") &&
        o->metrics_tls[0] != '/')
        return err_new(ERR_BAD_REQUEST,
                       "metricsTls \"%s\": want off, own, or the absolute path of a directory with "
                       "server.crt, server.key and ca.crt",
                       o->metrics_tls);
    if (!is_among(levels, o->log_level))
        return err_new(ERR_BAD_REQUEST, "log level \"%s\": want error, warn, info or debug",
                       o->log_level);
    if (!is_among(runtimes, o->runtime))
        return err_new(ERR_BAD_REQUEST, "runtime \"%s\": want auto, crun or runc", o->runtime);
    TRY(cpus_parse(o->cpus, &(int64_t){0}));
    if (o->cdi_file[0])
        TRY(cdi_path_check(o->cdi_file));
    if (o->driver_root[0] && text_starts_with(o->gpus, "emulated:"))
        return err_new(ERR_BAD_REQUEST,
                       "driver root \"%s\": emulated gpus have a driver of their own",
                       o->driver_root);
    if (o->driver_root[0] && o->driver_root[0] != '/')
        return err_new(ERR_BAD_REQUEST, "driver root \"%s\": want an absolute path",
                       o->driver_root);
    if (!is_among(formats, o->log_format))
        return err_new(ERR_BAD_REQUEST, "log format \"%s\": want text or json", o->log_format);
    return NULL;
}

/* Reads the roots of flags; without flags, the roots of the configuration. */
static struct err *read_roots(const struct up_given *given, const json_t *config,
                              struct host_roots *ret)
{
    const char *const *texts = given->host_path_roots;
    const json_t *list = json_object_get(config, "hostPathRoots");

    for (size_t i = 0; texts && texts[i]; i++)
        TRY(host_roots_add(ret, texts[i]));
    for (size_t i = 0; !(texts && texts[0]) && i < json_array_size(list); i++)
        TRY(host_roots_add(ret, json_string_value(json_array_get(list, i))));
    return NULL;
}

struct err *up_options_make(const struct up_given *given, const json_t *config,
                            struct up_options *ret)
{
    struct up_options o = {0};
    AUTO_FREE char *listen = NULL;
    AUTO_FREE char *metrics = NULL;
    AUTO_FREE char *dashboard = NULL;
    struct err *e;

    if (config)
        TRY(check_config(config));
    listen = option_choose(given->listen, config, "listen", "127.0.0.1:7443");
    metrics = option_choose(given->metrics, config, "metrics", "127.0.0.1:9400");
    TRY(listen_parse("listen", listen, &o.host, &o.port));
    dashboard = option_choose(given->dashboard, config, "dashboard", "127.0.0.1:7480");
    o.is_page_default = !given->dashboard && !json_text(config, "dashboard");
    o.data = option_choose(given->data, config, "data", "/var/lib/mete");
    o.gpus = option_choose(given->gpus, config, "gpus", "auto");
    o.mig_config = option_choose(given->mig_config, config, "migConfig", "");
    o.slurm_conf = option_choose(given->slurm_conf, config, "slurmConf", SLURM_CONF_DEFAULT);
    o.gpu_config = option_choose(given->gpu_config, config, "gpuConfig", "");
    o.log_level = option_choose(given->log_level, config, "logLevel", "info");
    o.runtime = option_choose(given->runtime, config, "runtime", "auto");
    o.cpus = option_choose(given->cpus, config, "cpus", "");
    o.cdi_file = option_choose(given->cdi_file, config, "cdiFile", "");
    o.driver_root = option_choose(given->driver_root, config, "driverRoot", "");
    o.pod_network = option_choose(given->pod_network, config, "podNetwork", "off");
    o.service_network =
        option_choose(given->service_network, config, "serviceNetwork", SERVICE_NETWORK);
    o.log_format = option_choose(given->log_format, config, "logFormat", "text");
    o.log_max_size =
        option_choose(given->log_max_size, config, "containerLogMaxSize", LOG_LIMIT_SIZE);
    o.log_max_files =
        option_choose(given->log_max_files, config, "containerLogMaxFiles", LOG_LIMIT_FILES);
    o.learn_every = option_choose(NULL, config, "learnEvery", LEARN_EVERY);
    o.learn_after = option_choose(NULL, config, "learnAfter", LEARN_AFTER);
    o.network_tiers = option_choose(NULL, config, "networkTiers", "");
    o.audit_reads = option_choose(NULL, config, "auditReads", AUDIT_READS);
    o.metrics_tls = option_choose(NULL, config, "metricsTls", "off");
    o.audit_keep = option_choose(NULL, config, "auditKeep", AUDIT_KEEP);
    o.scheduler_names = option_choose(NULL, config, "schedulerNames", SCHEDULER_NAMES);
    e = check_words(&o);
    if (!e && !text_equal(metrics, "off"))
        e = listen_parse("metrics", metrics, &o.metrics_host, &o.metrics_port);
    if (!e && !text_equal(dashboard, "off"))
        e = listen_parse("dashboard", dashboard, &o.page_host, &o.page_port);
    if (!e)
        e = read_roots(given, config, &o.host_roots);
    if (e) {
        up_options_done(&o);
        return e;
    }
    *ret = o;
    return NULL;
}

void up_options_done(struct up_options *o)
{
    free(o->data);
    free(o->gpus);
    free(o->gpu_config);
    free(o->mig_config);
    free(o->slurm_conf);
    free(o->host);
    free(o->metrics_host);
    free(o->metrics_tls);
    free(o->page_host);
    free(o->log_level);
    free(o->log_format);
    free(o->runtime);
    free(o->driver_root);
    free(o->cpus);
    free(o->pod_network);
    free(o->service_network);
    free(o->cdi_file);
    free(o->log_max_size);
    free(o->log_max_files);
    free(o->learn_every);
    free(o->learn_after);
    free(o->network_tiers);
    free(o->scheduler_names);
    free(o->audit_reads);
    free(o->audit_keep);
    host_roots_done(&o->host_roots);
    *o = (struct up_options){0};
}
