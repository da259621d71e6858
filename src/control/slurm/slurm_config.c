/* slurm_config.c - writes what slurm.conf says as objects */

#include "control/slurm/slurm_config.h"

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/stamp.h"

struct slurm_config {
    struct slurm_config_options options;
    struct store_watch *watch; /* of SlurmConfigs */
    struct loop_timer *timer;  /* reads again */
};

static struct objects_request config_request(const char *plural, const char *name)
{
    return (struct objects_request){
        .kind = kind_find("mete.dev", plural),
        .ns = "",
        .name = name,
        .who = {.user = "system:slurm-conf", .is_system = true, .is_admin = true, .host_uid = -1}};
}

/* The applied object, as a new tree; NULL: none. */
static struct err *config_get(const struct slurm_config *c, const char *plural, const char *name,
                              json_t **ret)
{
    const struct store_object *o = store_get_applied(
        objects_store(c->options.objects), objects_key(kind_find("mete.dev", plural), "", name));

    return o ? objects_decode(o, ret) : NULL;
}

/* Creates the object, or replaces its spec. */
static struct err *config_put(const struct slurm_config *c, const char *plural, json_t *object)
{
    AUTO_FREE char *name = mem_strdup(json_text_at(object, "metadata", "name", NULL));
    struct objects_request r = config_request(plural, name);
    json_t *annotations = json_object_at(json_object_at(object, "metadata"), "annotations");
    AUTO(json_freep) json_t *present = NULL;
    AUTO(json_freep) json_t *result = NULL;

    json_put_text(annotations, SLURM_CONF_ANNOTATION, "yes");
    TRY(config_get(c, plural, name, &present));
    if (present)
        return objects_update(c->options.objects, &r, object, NULL, NULL, &result);
    r.name = NULL;
    return objects_create(c->options.objects, &r, object, NULL, NULL, &result);
}

static struct err *config_delete(const struct slurm_config *c, const char *plural, const char *name)
{
    const struct objects_request r = config_request(plural, name);
    const struct delete_options d = {.grace_seconds = -1};
    AUTO(json_freep) json_t *result = NULL;
    bool is_gone = false;

    return objects_delete(c->options.objects, &r, &d, NULL, NULL, &result, &is_gone);
}

static bool names_partition(const struct slurm_conf_objects *made, const char *name)
{
    const json_t *partition;
    size_t i;

    json_array_foreach (made->partitions, i, partition)
        if (text_equal(json_text_at(partition, "metadata", "name", NULL), name))
            return true;
    return false;
}

/* Deletes the partitions that came from the files and are no longer in them. */
static struct err *config_sweep(const struct slurm_config *c, const struct slurm_conf_objects *made)
{
    const struct store_range range = {.group = "mete.dev", .resource = "slurmpartitions"};
    AUTO(json_freep) json_t *old = json_array();
    const struct store_object *o = NULL;

    while (
        (o = store_next_applied(objects_store(c->options.objects), &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *partition = NULL;

        TRY(objects_decode(o, &partition));
        if (json_text_at(partition, "metadata", "annotations", SLURM_CONF_ANNOTATION, NULL) &&
            !names_partition(made, o->key.name))
            (void)json_array_append_new(old, json_string(o->key.name));
    }
    for (size_t i = 0; i < json_array_size(old); i++)
        TRY(config_delete(c, "slurmpartitions", json_string_value(json_array_get(old, i))));
    return NULL;
}

static struct err *config_apply(const struct slurm_config *c, struct slurm_conf_objects *made,
                                int64_t reread)
{
    AUTO(json_freep) json_t *present = NULL;
    json_t *rules;
    json_t *partition;
    size_t i;

    TRY(config_get(c, "slurmconfigs", "default", &present));
    rules = json_at(present, "spec", "submitRules", NULL);
    if (made->config) {
        json_put_int(json_object_at(made->config, "spec"), "reread", reread);
        if (rules) /* no file has them */
            json_put(json_object_at(made->config, "spec"), "submitRules", json_incref(rules));
        TRY(config_put(c, "slurmconfigs", made->config));
    } else if (json_text_at(present, "metadata", "annotations", SLURM_CONF_ANNOTATION, NULL)) {
        TRY(config_delete(c, "slurmconfigs", "default"));
    }
    json_array_foreach (made->partitions, i, partition)
        TRY(config_put(c, "slurmpartitions", partition));
    return config_sweep(c, made);
}

static void config_log_notes(const struct slurm_conf_objects *made)
{
    const json_t *note;
    size_t i;

    json_array_foreach (made->notes, i, note)
        LOG(INFO, "key of slurm.conf has no effect", S("key", json_text(note, "key")),
            S("where", json_text(note, "where")), S("why", json_text(note, "why")));
}

static struct err *config_read_and_apply(const struct slurm_config *c, int64_t reread)
{
    struct slurm_conf_objects made = {0};
    struct err *e = c->options.read(c->options.arg, &made);

    if (!e)
        config_log_notes(&made);
    if (!e)
        e = config_apply(c, &made, reread);
    slurm_conf_objects_done(&made);
    return e;
}

/* ---- reading again ---- */

/* Tells of the reading number `reread`. */
static struct err *config_tell(const struct slurm_config *c, int64_t reread, const char *problem)
{
    struct objects_request r = config_request("slurmconfigs", "default");
    char now[STAMP_TEXT_SIZE];
    AUTO(json_freep) json_t *patch = json_object();
    AUTO(json_freep) json_t *result = NULL;
    json_t *status = json_object_at(patch, "status");

    r.subresource = "status";
    stamp_format(loop_wall_ns(c->options.loop), now);
    json_put_int(status, "read", reread);
    json_put_text(status, "readTime", now);
    json_put(status, "problem", problem ? json_text_new(problem) : json_null());
    return objects_patch(c->options.objects, &r, PATCH_MERGE, patch, NULL, NULL, &result);
}

static void config_on_time(void *arg)
{
    struct slurm_config *c = arg;
    AUTO(json_freep) json_t *present = NULL;
    AUTO(err_freep) struct err *e = config_get(c, "slurmconfigs", "default", &present);
    AUTO(err_freep) struct err *unsaid = NULL;
    int64_t reread = json_int_at(present, "spec", "reread", NULL);

    if (e || !present || reread <= json_int_at(present, "status", "read", NULL))
        return;
    e = config_read_and_apply(c, reread);
    if (e)
        LOG(WARN, "slurm.conf was not read again, what held before holds", E(e));
    unsaid = config_tell(c, reread, e ? err_message(e) : NULL);
    if (unsaid)
        LOG(WARN, "the status of the SlurmConfig was not written", E(unsaid));
}

static void config_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct slurm_config *c = arg;

    (void)revision;
    if (change)
        loop_timer_set(c->timer, 0);
}

struct err *slurm_config_new(const struct slurm_config_options *o, struct slurm_config **ret)
{
    const struct store_range range = {.group = "mete.dev", .resource = "slurmconfigs"};
    struct slurm_config *c = mem_alloc(sizeof(*c));
    struct store *s = objects_store(o->objects);
    AUTO(json_freep) json_t *present = NULL;
    struct err *e;

    c->options = *o;
    c->timer = loop_timer_new(o->loop, config_on_time, c);
    e = config_get(c, "slurmconfigs", "default", &present);
    if (!e)
        e = config_read_and_apply(c, json_int_at(present, "spec", "reread", NULL));
    if (!e)
        e = store_watch_new(s, &range, store_revision(s), config_on_change, c, &c->watch);
    if (e) {
        slurm_config_free(c);
        return e;
    }
    *ret = c;
    return NULL;
}

void slurm_config_free(struct slurm_config *c)
{
    if (!c)
        return;
    store_watch_free(c->watch);
    loop_timer_free(c->timer);
    free(c);
}
