/* scontrol_partition.c - scontrol create, update and delete of partitions, and reconfigure */

#include <inttypes.h>
#include <strings.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "cli/slurm/scontrol.h"
#include "slurm/partition_update.h"

#define PARTITIONS_PATH "/apis/mete.dev/v1/slurmpartitions"
#define CONFIG_PATH     "/apis/mete.dev/v1/slurmconfigs/default"

enum {
    READ_TRIES = 100 /* every 100 ms */
};

/* The words of a command: the name, and all other pairs. Texts are owned or borrowed. */
struct partition_words {
    const char *name; /* NULL: no partition is named */
    VEC(struct slurm_update) updates;
    VEC(char *) keys;
};

static void partition_words_done(struct partition_words *w)
{
    VEC_EACH (&w->keys, key)
        free(*key);
    vec_done(&w->keys);
    vec_done(&w->updates);
}

/* "PartitionName", "partition" and what is between. */
static bool is_entity(const char *key)
{
    return strlen(key) >= 4 && strncasecmp(key, "PartitionName", strlen(key)) == 0;
}

static void partition_words_read(size_t n, const char *const *words, struct partition_words *ret)
{
    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(words[i], '=');
        size_t size = equals ? (size_t)(equals - words[i]) : strlen(words[i]);
        char *key = mem_strndup(words[i], size);

        vec_add(&ret->keys, key);
        if (is_entity(key) && equals)
            ret->name = equals + 1;
        else
            vec_add(&ret->updates, (struct slurm_update){key, equals ? equals + 1 : ""});
    }
}

bool scontrol_names_partition(size_t n, const char *const *words)
{
    static const char *const others[] = {"JobId", "Job", "JobName", "NodeName"};
    struct partition_words w = {0};
    bool is_named;

    partition_words_read(n, words, &w);
    is_named = w.name != NULL;
    VEC_EACH (&w.updates, u)
        for (size_t i = 0; i < COUNT(others); i++)
            is_named = is_named && strcasecmp(u->key, others[i]) != 0;
    partition_words_done(&w);
    return is_named;
}

static struct err *no_such_partition(struct err *e)
{
    if (!e || err_code(e) != ERR_NOT_FOUND)
        return e;
    err_free(e);
    return err_new(ERR_NOT_FOUND, "Invalid partition name specified");
}

static struct err *partition_send(struct scontrol *x, const char *method, const char *name,
                                  json_t *body)
{
    AUTO_FREE char *path = path_format(PARTITIONS_PATH "/%s", name);
    const struct call call = {.method = method,
                              .path = path,
                              .content_type = body ? "application/merge-patch+json" : NULL,
                              .body = body};

    return no_such_partition(slurm_call(&x->s, &call, NULL));
}

/* Only one partition is the default one. */
static struct err *take_default_from_others(struct scontrol *x, const char *name)
{
    AUTO(json_freep) json_t *list = NULL;
    AUTO(json_freep) json_t *patch = json_pack("{s:{s:n}}", "spec", "isDefault");
    const struct call get = {.path = PARTITIONS_PATH};
    const json_t *items;

    TRY(slurm_call(&x->s, &get, &list));
    items = json_object_get(list, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *other = json_text_at(item, "metadata", "name", NULL);

        if (json_bool_at(item, "spec", "isDefault", NULL) && !text_equal(other, name))
            TRY(partition_send(x, "PATCH", other, patch));
    }
    return NULL;
}

static struct err *partition_write(struct scontrol *x, const struct partition_words *w, bool is_new)
{
    AUTO(json_freep) json_t *patch = NULL;
    const struct call create = {.method = "POST", .path = PARTITIONS_PATH};
    struct call call = create;

    TRY(slurm_partition_patch(w->updates.at, w->updates.n, &patch));
    if (is_new) {
        json_put_text(json_object_at(patch, "metadata"), "name", w->name);
        call.body = patch;
        TRY(slurm_call(&x->s, &call, NULL));
    } else {
        TRY(partition_send(x, "PATCH", w->name, patch));
    }
    return json_bool_at(patch, "spec", "isDefault", NULL) ? take_default_from_others(x, w->name)
                                                          : NULL;
}

struct err *scontrol_update_partition(struct scontrol *x, size_t n, const char *const *words)
{
    struct partition_words w = {0};
    struct err *e;

    partition_words_read(n, words, &w);
    e = partition_write(x, &w, false);
    partition_words_done(&w);
    return e;
}

struct err *scontrol_create(struct scontrol *x, size_t n, const char *const *words)
{
    struct partition_words w = {0};
    struct err *e;

    if (scontrol_names_reservation(n, words))
        return scontrol_change_reservation(x, "create", n, words);
    partition_words_read(n, words, &w);
    if (n == 0)
        e = err_new(ERR_INVALID, "too few arguments for keyword:create");
    else if (!w.name)
        e = err_new(ERR_INVALID, "Invalid creation entity: %s", words[0]);
    else
        e = partition_write(x, &w, true);
    if (e && w.name && err_code(e) != ERR_INVALID)
        e = err_wrap(e, "Error creating the partition");
    partition_words_done(&w);
    return e;
}

struct err *scontrol_delete(struct scontrol *x, size_t n, const char *const *words)
{
    struct partition_words w = {0};
    struct err *e;

    if (scontrol_names_reservation(n, words))
        return scontrol_change_reservation(x, "delete", n, words);
    partition_words_read(n, words, &w);
    if (!w.name)
        e = err_new(ERR_INVALID, "Invalid deletion entity: %s", n > 0 ? words[0] : "");
    else
        e = partition_send(x, "DELETE", w.name, NULL);
    if (e && w.name)
        e = err_wrap(e, "delete_partition PartitionName=%s", w.name);
    partition_words_done(&w);
    return e;
}

/* ---- reconfigure ---- */

static void reconfigure_on_time(void *arg)
{
    session_stop(arg);
}

static struct err *reconfigure_pause(struct scontrol *x)
{
    struct loop_timer *timer =
        loop_timer_new(session_loop(x->s.session), reconfigure_on_time, x->s.session);
    struct err *e;

    loop_timer_set(timer, NS_PER_SEC / 10);
    e = session_run(x->s.session);
    loop_timer_free(timer);
    return e;
}

/* Asks for the reading number `reread`. */
static struct err *reconfigure_ask(struct scontrol *x, bool is_new, int64_t reread)
{
    AUTO(json_freep) json_t *body = json_pack("{s:{s:I}}", "spec", "reread", (json_int_t)reread);
    struct call call = {.method = is_new ? "POST" : "PATCH",
                        .path = is_new ? "/apis/mete.dev/v1/slurmconfigs" : CONFIG_PATH,
                        .content_type = is_new ? NULL : "application/merge-patch+json",
                        .body = body};

    if (is_new)
        json_put_text(json_object_at(body, "metadata"), "name", "default");
    return slurm_call(&x->s, &call, NULL);
}

struct err *scontrol_reconfigure(struct scontrol *x)
{
    const struct call get = {.path = CONFIG_PATH};
    AUTO(json_freep) json_t *config = NULL;
    AUTO(err_freep) struct err *missing = slurm_call(&x->s, &get, &config);
    int64_t reread = json_int_at(config, "spec", "reread", NULL) + 1;

    if (missing && err_code(missing) != ERR_NOT_FOUND)
        return TAKE(missing);
    TRY(reconfigure_ask(x, missing != NULL, reread));
    for (int i = 0; i < READ_TRIES; i++) {
        AUTO(json_freep) json_t *now = NULL;
        AUTO(err_freep) struct err *e = slurm_call(&x->s, &get, &now);
        const char *problem = json_text_at(now, "status", "problem", NULL);

        if (e && err_code(e) == ERR_NOT_FOUND)
            return NULL; /* the files are gone */
        if (e)
            return TAKE(e);
        if (json_int_at(now, "status", "read", NULL) >= reread)
            return problem ? err_new(ERR_INVALID, "%s", problem) : NULL;
        TRY(reconfigure_pause(x));
    }
    return err_new(ERR_TIMEOUT, "the server has not read its configuration in 10 s");
}
