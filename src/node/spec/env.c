/* env.c - variables of containers from all their sources */

#include "node/spec/env.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/slurm/slurm_env.h"
#include "kinds/slurm/slurm_het.h"
#include "kinds/slurm/slurm_job.h"
#include "model/names.h"
#include "model/quantity.h"
#include "node/pod/refs.h"

/* ---- $(NAME) ---- */

/* Expands the text after a '$' into `out`, from `env`, else from `more`; returns the number of
 * bytes read. */
static size_t expand_one(const char *at, const json_t *env, const json_t *more, struct buf *out)
{
    const char *end = NULL;
    AUTO_FREE char *name = NULL;
    const char *value = NULL;

    if (at[0] == '$') {
        buf_add_char(out, '$');
        return 1;
    }
    end = at[0] == '(' ? strchr(at, ')') : NULL;
    if (!end) {
        buf_add_char(out, '$');
        return 0;
    }
    name = mem_strndup(at + 1, (size_t)(end - at) - 1);
    value = json_text(env, name);
    value = value ? value : json_text(more, name);
    if (value)
        buf_add_text(out, value);
    else
        buf_printf(out, "$(%s)", name);
    return (size_t)(end - at) + 1;
}

static char *expand(const char *text, const json_t *env, const json_t *more)
{
    struct buf out = {.cap = ENV_VALUE_MAX};

    for (const char *at = text; *at; at++) {
        if (*at == '$')
            at += expand_one(at + 1, env, more, &out);
        else
            buf_add_char(&out, *at);
    }
    return buf_steal(&out);
}

char *env_expand(const char *text, const json_t *env)
{
    return expand(text, env, NULL);
}

/* ---- sources ---- */

static bool is_utf8(struct str bytes)
{
    AUTO(json_freep) json_t *text = json_stringn(bytes.at ? bytes.at : "", bytes.size);

    return text && !memchr(bytes.at ? bytes.at : "", '\0', bytes.size);
}

static struct err *put(json_t *env, const char *name, struct str value)
{
    if (value.size > ENV_VALUE_MAX || !is_utf8(value))
        return err_new(ERR_INVALID, "variable %s: the value is not text of at most %d bytes", name,
                       ENV_VALUE_MAX);
    (void)json_object_set_new(env, name, json_stringn(value.at ? value.at : "", value.size));
    return NULL;
}

/* The value of a/b for "metadata.labels['a/b']"; NULL: another path. */
static const char *mapped_field(const json_t *pod, const char *path, const char *map)
{
    AUTO_FREE char *prefix = mem_format("metadata.%s['", map);
    AUTO_FREE char *key = NULL;
    const char *value = NULL;

    if (!text_starts_with(path, prefix) || !text_ends_with(path, "']") ||
        strlen(path) < strlen(prefix) + 2)
        return NULL;
    key = mem_strndup(path + strlen(prefix), strlen(path) - strlen(prefix) - 2);
    value = json_text_at(pod, "metadata", map, key, NULL);
    return value ? value : "";
}

struct err *env_field(const struct env_input *in, const char *path, const char **ret)
{
    const struct {
        const char *path;
        const char *value;
    } known[] = {
        {"metadata.name", json_text_at(in->pod, "metadata", "name", NULL)},
        {"metadata.namespace", json_text_at(in->pod, "metadata", "namespace", NULL)},
        {"metadata.uid", json_text_at(in->pod, "metadata", "uid", NULL)},
        {"spec.nodeName", in->node},
        {"spec.serviceAccountName", json_text_at(in->pod, "spec", "serviceAccountName", NULL)},
        {"status.hostIP", in->host_ip},
        {"status.hostIPs", in->host_ip},
        {"status.podIP", in->pod_ip},
        {"status.podIPs", in->pod_ip},
        {path, mapped_field(in->pod, path, "labels")},
        {path, mapped_field(in->pod, path, "annotations")},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        if (text_equal(known[i].path, path) && (i < 9 || known[i].value)) {
            *ret = known[i].value ? known[i].value : "";
            return NULL;
        }
    return err_new(ERR_INVALID, "fieldPath '%s' is not supported", path);
}

static const json_t *find_container(const struct env_input *in, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const json_t *item = NULL;
    size_t i = 0;

    if (!name || !name[0])
        return in->container;
    for (size_t k = 0; k < 2; k++)
        json_array_foreach (json_at(in->pod, "spec", lists[k], NULL), i, item)
            if (text_equal(json_text(item, "name"), name))
                return item;
    return NULL;
}

static struct err *read_quantity(const json_t *value, int64_t fallback_milli, int64_t *ret_milli)
{
    char number[32];
    const char *text = json_string_value(value);
    struct quantity q = {0};

    *ret_milli = fallback_milli;
    if (json_is_integer(value)) {
        (void)snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(value));
        text = number;
    }
    if (!text)
        return NULL;
    TRY(quantity_parse(str_of(text), &q));
    *ret_milli = q.milli;
    return NULL;
}

/* "limits.cpu" and the like, divided by the divisor and rounded up. */
struct err *env_resource(const struct env_input *in, const json_t *ref, int64_t *ret)
{
    const char *resource = json_text(ref, "resource");
    const json_t *container = find_container(in, json_text(ref, "containerName"));
    struct str rest = str_of(resource ? resource : "");
    struct str list = str_cut(&rest, '.');
    AUTO_FREE char *list_name = mem_strndup(list.at ? list.at : "", list.size);
    bool is_cpu = rest.at && str_equal(rest, STR("cpu"));
    bool is_memory = rest.at && str_equal(rest, STR("memory"));
    int64_t fallback = 0;
    int64_t milli = 0;
    int64_t divisor = 0;

    if (!container || !rest.at ||
        (!str_equal(list, STR("limits")) && !str_equal(list, STR("requests"))))
        return err_new(ERR_INVALID, "resourceFieldRef '%s' is not supported",
                       resource ? resource : "");
    if (str_equal(list, STR("limits")) && is_cpu)
        fallback = in->cpu_milli;
    else if (str_equal(list, STR("limits")) && is_memory &&
             __builtin_mul_overflow(in->memory_bytes, 1000, &fallback))
        fallback = INT64_MAX;
    TRY(read_quantity(json_at(container, "resources", list_name, rest.at, NULL), fallback, &milli));
    TRY(read_quantity(json_object_get(ref, "divisor"), 1000, &divisor));
    if (divisor <= 0)
        divisor = 1000;
    *ret = milli / divisor + (milli % divisor > 0);
    return NULL;
}

static struct err *read_key(const struct env_input *in, const json_t *ref, const char *plural,
                            struct buf *ret, bool *ret_is_there)
{
    struct err *e =
        refs_value(in->refs, plural, json_text(ref, "name"), json_text(ref, "key"), ret);

    *ret_is_there = !e;
    if (e && err_code(e) == ERR_NOT_FOUND && json_bool(ref, "optional", false)) {
        err_free(e);
        return NULL;
    }
    return e;
}

static struct err *add_from(const struct env_input *in, const json_t *from, const char *name,
                            json_t *env)
{
    AUTO(buf_done) struct buf bytes = {.cap = ENV_VALUE_MAX};
    const json_t *ref = NULL;
    const char *text = NULL;
    bool is_there = false;
    int64_t number = 0;

    if ((ref = json_object_get(from, "fieldRef"))) {
        const char *path = json_text(ref, "fieldPath");

        TRY(env_field(in, path ? path : "", &text));
        return put(env, name, str_of(text));
    }
    if ((ref = json_object_get(from, "resourceFieldRef"))) {
        TRY(env_resource(in, ref, &number));
        buf_printf(&bytes, "%" PRId64, number);
        is_there = true;
    } else if ((ref = json_object_get(from, "configMapKeyRef"))) {
        TRY(read_key(in, ref, "configmaps", &bytes, &is_there));
    } else if ((ref = json_object_get(from, "secretKeyRef"))) {
        TRY(read_key(in, ref, "secrets", &bytes, &is_there));
    } else {
        return err_new(ERR_INVALID, "valueFrom has no source that is supported");
    }
    return is_there ? put(env, name, (struct str){bytes.at, bytes.size}) : NULL;
}

struct bulk {
    json_t *env;
    const char *prefix;
    const json_t *binary; /* binaryData of a ConfigMap: for files, not for variables */
};

static bool is_env_name(const char *name)
{
    AUTO(err_freep) struct err *e = name_check_env(name);

    return !e;
}

static struct err *put_bulk(void *arg, const char *key, struct str bytes)
{
    struct bulk *b = arg;
    AUTO_FREE char *name = mem_format("%s%s", b->prefix, key);

    if (!is_env_name(name) || json_object_get(b->binary, key))
        return NULL; /* skipped, as in the kubelet */
    return put(b->env, name, bytes);
}

static struct err *add_bulk(const struct env_input *in, const json_t *source, json_t *env)
{
    static const char *const keys[] = {"configMapRef", "secretRef"};
    static const char *const plurals[] = {"configmaps", "secrets"};
    const char *prefix = json_text(source, "prefix");
    struct bulk b = {.env = env, .prefix = prefix ? prefix : ""};

    for (size_t i = 0; i < 2; i++) {
        const json_t *ref = json_object_get(source, keys[i]);
        const char *name = json_text(ref, "name");

        if (!ref || (!refs_find(in->refs, plurals[i], name) && json_bool(ref, "optional", false)))
            continue;
        b.binary = json_object_get(refs_find(in->refs, plurals[i], name), "binaryData");
        TRY(refs_each(in->refs, plurals[i], name, put_bulk, &b));
    }
    return NULL;
}

static void put_seconds(json_t *env, const char *name, int64_t ns)
{
    AUTO_FREE char *text = mem_format("%" PRId64, ns / NS_PER_SEC);

    json_put_text(env, name, text);
}

/* Adds variables "NAME=VALUE". A variable that is not text is left out, as everywhere. */
static void add_pairs(const json_t *list, json_t *env)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = text_or_empty(json_string_value(json_array_get(list, i)));
        const char *equals = strchr(one, '=');
        AUTO_FREE char *name = equals ? mem_strndup(one, (size_t)(equals - one)) : NULL;

        if (name && *name)
            err_free(put(env, name, str_of(equals + 1)));
    }
}

/* Adds the nodes of the components of a heterogeneous job; those of the pod's component are the
 * job's. */
static void add_components(const json_t *metadata, const char *all, json_t *env)
{
    static const char *const names[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST"};
    const char *counts = json_text_at(metadata, "annotations", SLURM_HET_ANNOTATION, NULL);
    const char *own = json_text_at(metadata, "labels", SLURM_HET_LABEL, NULL);

    for (int64_t i = 0; counts && i < SLURM_HET_MAX; i++) {
        AUTO_FREE char *nodes = slurm_het_nodes(all, counts, i);
        AUTO_FREE char *number = mem_format("%" PRId64, i);

        if (!nodes)
            return;
        for (size_t k = 0; k < COUNT(names); k++) {
            AUTO_FREE char *grouped = mem_format("%s_HET_GROUP_%s", names[k], number);

            json_put_text(env, grouped, nodes);
            if (text_equal(own, number))
                json_put_text(env, names[k], nodes);
        }
    }
}

/* Adds the variables of a Slurm job: those of the submission, those of the server, then ours. */
static void add_slurm(const struct env_input *in, json_t *env)
{
    const json_t *annotations = json_at(in->pod, "metadata", "annotations", NULL);
    const char *text = json_text(annotations, SLURM_ENVIRONMENT_ANNOTATION);
    const char *all = json_text(annotations, SLURM_NODES_ANNOTATION);
    const struct {
        const char *name;
        const char *value;
    } nodes[] = {{"SLURM_JOB_NODELIST", all ? all : in->node},
                 {"SLURM_NODELIST", all ? all : in->node},
                 {"SLURMD_NODENAME", in->node}};
    AUTO_FREE char *switches = slurm_switches_text(in->labels);
    int64_t limit_s = json_int_at(in->pod, "spec", "activeDeadlineSeconds", NULL);
    AUTO(json_freep) json_t *list = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &list) : NULL;

    if (!text || e)
        return;
    add_pairs(json_object_get(refs_slurm_spec(in->refs, in->pod), "environment"), env);
    add_pairs(list, env);
    for (size_t i = 0; i < COUNT(nodes); i++)
        json_put_text(env, nodes[i].name, nodes[i].value);
    slurm_topology_put(switches, in->node, env);
    add_components(json_object_get(in->pod, "metadata"), all, env);
    if (in->data) /* the submission's variable may name the directory of another machine */
        json_put_text(env, "METE_DATA", in->data);
    if (in->start_ns > 0)
        put_seconds(env, "SLURM_JOB_START_TIME", in->start_ns);
    if (in->start_ns > 0 && limit_s > 0)
        put_seconds(env, "SLURM_JOB_END_TIME", in->start_ns + limit_s * NS_PER_SEC);
}

struct err *env_add(const struct env_input *in, json_t *env)
{
    AUTO(json_freep) json_t *own = json_object(); /* the variables so far, for $(NAME) */
    const json_t *item = NULL;
    size_t i = 0;

    (void)json_object_update(env, (json_t *)(uintptr_t)in->services);
    add_slurm(in, env);
    json_array_foreach (json_object_get(in->container, "envFrom"), i, item)
        TRY(add_bulk(in, item, env));
    json_array_foreach (json_object_get(in->container, "env"), i, item) {
        const char *name = json_text(item, "name");
        const json_t *from = json_object_get(item, "valueFrom");
        const char *value = json_text(item, "value");
        struct err *e = NULL;

        if (!name)
            continue;
        if (from) {
            e = add_from(in, from, name, own);
        } else {
            AUTO_FREE char *expanded = expand(value ? value : "", own, in->services);

            e = put(own, name, str_of(expanded));
        }
        if (e)
            return err_wrap(e, "env %s", name);
    }
    (void)json_object_update(env, own);
    return NULL;
}
