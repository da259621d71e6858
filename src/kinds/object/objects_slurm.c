/*
 * objects_slurm.c - rules of SlurmJobs: numbers, user, requests that can never run, changes
 *
 * Errors have the words of Slurm, which its clients show and match on. A job runs as its submitting
 * user, as containers of the image `host` do; only that user and administrators change it.
 */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind/cause.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/tree_cache.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_accounts.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_container.h"
#include "kinds/slurm/slurm_het.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/slurm/slurm_license.h"
#include "kinds/slurm/slurm_pod.h"
#include "kinds/slurm/slurm_rules.h"
#include "model/index_set.h"
#include "model/slurm_dependency.h"

#define SUBMITTER_KEPT_NS (60 * NS_PER_SEC)

enum {
    ENVIRONMENT_MAX = 192 << 10 /* bytes: an annotation of the pod holds them */
};

bool is_slurm_job(const struct kind *k)
{
    return text_equal(k->group, "mete.dev") && text_equal(k->plural, "slurmjobs");
}

static struct err *slurm_denied(void)
{
    return err_new(ERR_FORBIDDEN, "Access/permission denied");
}

/* ---- numbers ---- */

/*
 * The status of a job that waits, as the controller (control/slurm/slurm_write.c) writes it: it has
 * nothing to write until the job starts, or waits for something else than its release.
 */
static void put_status(const struct change *c, const struct index_set *elements)
{
    json_t *status = json_object_at(c->after, "status");
    const char *hold = json_text_at(c->after, "spec", "hold", NULL);
    AUTO_FREE char *pending = index_set_format(elements);

    json_put_int(status, "jobId", c->job_id);
    json_put_text(status, "state", "PENDING");
    json_put_text(status, "pending", pending);
    if (text_equal(hold, "user") || text_equal(hold, "admin"))
        json_put_text(status, "reason", *hold == 'u' ? "JobHeldUser" : "JobHeldAdmin");
}

/* The number of the job, and one for each element of an array or further component after it. */
static struct err *put_numbers(struct change *c)
{
    const char *indexes = json_text_at(c->after, "spec", "array", "indexes", NULL);
    AUTO(index_set_done) struct index_set set = {0};

    if (indexes) {
        AUTO(err_freep) struct err *e = index_set_parse(str_of(indexes), SLURM_ARRAY_MAX, &set);

        if (e || set.count == 0)
            return err_new(ERR_INVALID, "Invalid job array specification");
        c->job_ids = (int64_t)set.count;
    } else {
        c->job_ids = slurm_het_size(json_object_get(c->after, "spec"));
    }
    TRY(put_job_id(c));
    if (!indexes)
        (void)index_set_add(&set, 0);
    put_status(c, &set);
    return NULL;
}

/* ---- the user ---- */

/* NULL: the uid has no user. */
static const struct object_user *find_submitter(struct objects *o, int64_t uid)
{
    struct known_submitter *known = &o->submitters[uid % SUBMITTERS_KEPT];
    int64_t now_ns = loop_now_ns(o->loop);

    if (known->until_ns <= now_ns || known->uid != uid) {
        *known = (struct known_submitter){.uid = uid, .user.gid = -1};
        if (!o->find_user || !o->find_user(o->find_user_arg, uid, &known->user))
            return NULL;
        known->until_ns = now_ns + SUBMITTER_KEPT_NS;
    }
    return &known->user;
}

static struct err *put_submitter(struct change *c)
{
    json_t *spec = json_object_at(c->after, "spec");
    const json_t *asked = json_at(spec, "user", "uid", NULL);
    int64_t uid = change_host_uid(c);
    const struct object_user *user;
    json_t *to;

    if (!asked && uid < 0)
        return forbidden(c,
                         "a job runs as the calling user, and %s has no uid on this system; an "
                         "administrator adds one to users.yaml",
                         c->who.user ? c->who.user : "this user");
    if (asked && !c->who.is_admin && !c->who.is_system && json_integer_value(asked) != uid)
        return slurm_denied();
    if (asked)
        uid = json_integer_value(asked);
    if (uid < 0 || uid > UINT32_MAX)
        return err_new(ERR_INVALID, "Invalid user id");
    json_put(spec, "user", json_object());
    to = json_object_at(spec, "user");
    json_put_int(to, "uid", uid);
    user = find_submitter(c->objects, uid);
    if (user) {
        json_put_text(to, "name", user->name);
        json_put_int(to, "gid", user->gid);
        json_put_text(to, "group", *user->group ? user->group : NULL);
    } else {
        json_put_text(to, "name", c->who.user);
    }
    return NULL;
}

/* ---- requests ---- */

static struct err *check_names(struct change *c)
{
    const json_t *spec = json_object_get(c->after, "spec");
    const char *reservation = json_text_filled(spec, "reservation");
    AUTO(json_freep) json_t *config = slurm_find_book(c, "slurmconfigs", "default");

    TRY(slurm_licenses_admit(json_at(config, "spec", "settings", NULL), spec));
    if (reservation &&
        !store_get_applied(c->objects->store,
                           objects_key(kind_find("mete.dev", "reservations"), "", reservation)))
        return err_new(ERR_INVALID, "Requested reservation is invalid");
    return NULL;
}

json_t *slurm_find_book(void *arg, const char *plural, const char *name)
{
    const struct change *c = arg;
    const struct kind *k = kind_find("mete.dev", plural);
    const struct store_object *o =
        k ? store_get_applied(c->objects->store, objects_key(k, "", name)) : NULL;
    json_t *tree = NULL;
    AUTO(err_freep) struct err *e = o ? tree_cache_get(c->objects->trees, o, &tree) : NULL;

    return e ? NULL : tree;
}

/* Is the object a queue right below `account`? Most are not, as their bytes tell without a tree. */
static struct err *is_below(const struct change *c, const struct store_object *o,
                            const char *account, bool *ret)
{
    AUTO(json_freep) json_t *queue = NULL;

    *ret = false;
    if (!strstr(o->bytes.at, account))
        return NULL;
    TRY(tree_cache_get(c->objects->trees, o, &queue));
    *ret = text_equal(json_text_at(queue, "spec", "parent", NULL), account);
    return NULL;
}

/* Jobs wait in queues without queues below them. */
static struct err *check_account(const struct change *c)
{
    const struct store_range range = {.group = "mete.dev", .resource = "queues"};
    const char *account = json_text_at(c->after, "spec", "account", NULL);
    const struct store_object *o = NULL;
    bool is_found = false;

    while (account && *account &&
           (o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL))) {
        TRY(is_below(c, o, account, &is_found));
        if (is_found)
            return err_new(ERR_INVALID,
                           "Account %s has accounts below it: name one of them, such as %s\n"
                           "Invalid account or account/partition combination specified",
                           account, o->key.name);
    }
    return NULL;
}

static size_t environment_size(const json_t *spec)
{
    const json_t *list = json_object_get(spec, "environment");
    size_t size = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        size += json_string_length(json_array_get(list, i)) + 1;
    return size;
}

/* Requests that restrict and that are not implemented are refused by their names. */
static struct err *check_known(const struct change *c)
{
    const json_t *spec = json_object_get(c->after, "spec");
    AUTO(causes_done) struct causes causes = {0};

    if (environment_size(spec) > ENVIRONMENT_MAX)
        cause_too_long(&causes, PATH(PATH(NULL, "spec"), "environment"), ENVIRONMENT_MAX);
    if (!json_text(spec, "script") && json_object_get(spec, "container"))
        cause_forbidden(&causes, PATH(PATH(NULL, "spec"), "container"),
                        "an allocation without a script has no container yet");
    return causes_err_of(&causes, c->kind,
                         text_or_empty(json_text_at(c->after, "metadata", "name", NULL)));
}

static struct err *check_dependency(const struct change *c)
{
    const char *text = json_text_filled(json_object_get(c->after, "spec"), "dependency");
    struct slurm_dependency d = {0};
    AUTO(err_freep) struct err *e = text ? slurm_dependency_parse(str_of(text), &d) : NULL;
    int64_t own = json_int_at(c->after, "status", "jobId", NULL);
    bool is_right = !e;

    VEC_EACH (&d.items, item)
        is_right = is_right && (item->type == SLURM_SINGLETON || item->id < own);
    slurm_dependency_done(&d);
    return is_right ? NULL : err_new(ERR_INVALID, "Job dependency problem");
}

/* The administrator's rules come first: they may choose the account and the partition. */
static struct err *apply_rules(struct change *c)
{
    AUTO(json_freep) json_t *config = slurm_find_book(c, "slurmconfigs", "default");

    return slurm_rules_apply(json_at(config, "spec", "submitRules", NULL),
                             json_object_get(c->after, "spec"));
}

/* Warns of mail that nothing sends. */
static void warn_of_mail(const struct change *c, const json_t *spec)
{
    AUTO(json_freep)
    json_t *config = slurm_find_book((void *)(uintptr_t)c, "slurmconfigs", "default");

    if (!c->request->warnings || !json_text_filled(spec, "mailType") ||
        json_text_filled(json_at(config, "spec", "settings", NULL), "MailProg"))
        return;
    (void)json_array_append_new(c->request->warnings,
                                json_string("no mail is sent: slurm.conf has no MailProg"));
}

/* The launcher of processes of the machine runs prolog and epilog, the runtime of containers does
 * not. */
static struct err *check_programs(const struct change *c, const json_t *spec)
{
    AUTO(json_freep)
    json_t *config = slurm_find_book((void *)(uintptr_t)c, "slurmconfigs", "default");
    const json_t *settings = json_at(config, "spec", "settings", NULL);

    if (!json_object_get(spec, "container") ||
        (!json_text_filled(settings, "Prolog") && !json_text_filled(settings, "Epilog")))
        return NULL;
    return err_new(ERR_INVALID, "a job in a container runs no Prolog and no Epilog of slurm.conf "
                                "yet: leave out --container-image");
}

static struct err *check_component(struct change *c)
{
    json_t *spec = json_object_get(c->after, "spec");
    const struct slurm_books books = {slurm_find_book, (void *)(uintptr_t)c};
    AUTO(json_freep) json_t *terms = NULL;
    AUTO(json_freep) json_t *preferred = NULL;
    struct slurm_ask ask;

    TRY(apply_rules(c));
    TRY(check_names(c));
    TRY(slurm_partition_rules(c));
    TRY(slurm_ask_read(spec, &ask));
    TRY(slurm_node_terms(spec, 0, &terms));
    TRY(slurm_constraint_terms(json_text(spec, "prefer"), &preferred));
    TRY(slurm_names_check(c));
    TRY(slurm_container_check(spec));
    TRY(check_programs(c, spec));
    if (ask.nodes > 1 && json_object_get(spec, "container"))
        return err_new(ERR_INVALID, "a container on several nodes is not available yet");
    TRY(check_known(c));
    warn_of_mail(c, spec);
    TRY(slurm_accounts_admit(&books, spec));
    TRY(check_account(c));
    return slurm_fits_check(c, &ask);
}

/* ---- heterogeneous jobs ---- */

/* Refuses fields that are not available with components. */
static struct err *check_het(const json_t *spec)
{
    if (json_object_get(spec, "array"))
        return err_new(ERR_INVALID, "Invalid job array specification");
    if (json_object_get(spec, "container"))
        return err_new(ERR_INVALID, "a container in a heterogeneous job is not available yet");
    return NULL;
}

/* Checks one component as a job of its own, and keeps what the rules fill in of its request. */
static struct err *check_part(struct change *c, json_t *whole, int64_t component)
{
    json_t *request = json_array_get(json_object_get(whole, "components"), (size_t)component - 1);
    json_t *own = slurm_het_spec(whole, component);
    struct err *e;

    json_put(c->after, "spec", json_incref(own));
    e = check_component(c);
    json_put(c->after, "spec", json_incref(whole));
    if (!e && component == 0)
        (void)json_object_update(whole, own); /* two objects: cannot fail */
    for (size_t i = 0; !e && component > 0 && slurm_het_keys[i]; i++)
        if (json_object_get(own, slurm_het_keys[i]))
            json_put(request, slurm_het_keys[i],
                     json_incref(json_object_get(own, slurm_het_keys[i])));
    json_decref(own);
    return e;
}

struct err *slurm_request_check(struct change *c)
{
    AUTO(json_freep) json_t *whole = json_incref(json_object_get(c->after, "spec"));
    AUTO(slurm_het_done) struct slurm_het het = {0};
    int64_t n = slurm_het_size(whole);

    if (n == 1)
        return check_component(c);
    TRY(check_het(whole));
    for (int64_t i = 0; i < n; i++)
        TRY(check_part(c, whole, i));
    TRY(slurm_het_read(whole, &het));
    return het.nodes <= SLURM_NODES_MAX ? NULL
                                        : err_new(ERR_INVALID, "Node count specification invalid");
}

/* Users lower the priority of a job by its nice value, administrators also raise it, or set it. */
static struct err *check_nice(const struct change *c)
{
    int64_t was = json_int_at(c->before, "spec", "nice", NULL);
    int64_t is = json_int_at(c->after, "spec", "nice", NULL);
    int64_t priority = json_int_at(c->after, "spec", "priority", NULL);

    if (c->who.is_admin || c->who.is_system)
        return NULL;
    if (priority > 0 && priority != json_int_at(c->before, "spec", "priority", NULL))
        return slurm_denied();
    return is >= was ? NULL : slurm_denied();
}

struct err *slurm_create_rules(struct change *c)
{
    if (is_pod(c->kind))
        return slurm_revision_check(c);
    if (!is_slurm_job(c->kind))
        return NULL;
    (void)json_object_del(json_object_get(c->after, "spec"), "revision");    /* may be absent */
    (void)json_object_del(json_object_get(c->after, "spec"), "cancelledBy"); /* may be absent */
    TRY(put_submitter(c));
    put_user(c);
    TRY(check_nice(c));
    TRY(slurm_request_check(c));
    TRY(put_numbers(c));
    TRY(slurm_submit_check(c));
    return check_dependency(c);
}

/* ---- changes ---- */

static struct err *check_owner(const struct change *c)
{
    const char *owner = json_text_at(c->before, "metadata", "annotations", POD_USER, NULL);

    if (c->who.is_admin || c->who.is_system || text_equal(owner, c->who.user))
        return NULL;
    return slurm_denied();
}

static bool is_changeable(const char *key)
{
    static const char *const changeable[] = {
        "hold",     "heldIndexes", "cancelled",        "cancelledBy",
        "requeues", "suspended",   "requeue",          "killOnInvalidDependency",
        "mailUser", "mailType",    "beginTime",        "deadline",
        "comment",  "nice",        "dependency",       "name",
        "wckey",    "array",       "timeLimitMinutes", "end",
        "priority"};

    for (size_t i = 0; i < COUNT(changeable); i++)
        if (text_equal(key, changeable[i]))
            return true;
    return false;
}

static bool is_same(const json_t *a, const json_t *b)
{
    return a == b || (a && b && json_equal(a, b));
}

static void check_members(json_t *one, const json_t *other, struct causes *causes)
{
    const char *key;
    json_t *value;

    json_object_foreach (one, key, value)
        if (!is_changeable(key) && !slurm_job_is_request(key) &&
            !is_same(value, json_object_get(other, key)))
            cause_forbidden(causes, PATH(PATH(NULL, "spec"), key),
                            "does not change after the submission");
}

/* An administrator's hold is released by administrators. */
static struct err *check_hold(const struct change *c)
{
    const char *was = json_text_at(c->before, "spec", "hold", NULL);
    const char *is = json_text_at(c->after, "spec", "hold", NULL);

    if (text_equal(was, is) || c->who.is_admin || c->who.is_system)
        return NULL;
    return text_equal(was, "admin") || text_equal(is, "admin") ? slurm_denied() : NULL;
}

static struct err *check_suspended(const struct change *c)
{
    const char *was = json_text_at(c->before, "spec", "suspended", NULL);
    const char *is = json_text_at(c->after, "spec", "suspended", NULL);
    AUTO(index_set_done) struct index_set set = {0};

    if (text_equal(was, is))
        return NULL;
    if (!c->who.is_admin && !c->who.is_system)
        return slurm_denied();
    return !is || text_equal(is, "*") ? NULL : index_set_parse(str_of(is), SLURM_ARRAY_MAX, &set);
}

/* Users shorten the time limit of a job, administrators also extend it. A limit stays one. */
static struct err *check_limit(const struct change *c)
{
    int64_t was = json_int_at(c->before, "spec", "timeLimitMinutes", NULL);
    int64_t is = json_int_at(c->after, "spec", "timeLimitMinutes", NULL);

    if (was == is)
        return NULL;
    if (is == 0)
        return err_new(ERR_INVALID,
                       "Requested time limit is invalid (missing or exceeds some limit)");
    if (was == 0 || is < was || c->who.is_admin || c->who.is_system)
        return NULL;
    return slurm_denied();
}

/* ---- accounting ---- */

/* The elements of `records.unstarted`: the job's, or those of its array. */
static void read_unstarted(const json_t *job, struct index_set *ret)
{
    const char *text = json_text_at(job, "status", "records", "unstarted", NULL);

    if (text) /* the controller's own text */
        err_free(index_set_parse(str_of(text), SLURM_ARRAY_MAX, ret));
}

/* Adds the row of the elements, or of one component (0: the first, or all of the job). */
static void account_part(struct change *c, const struct index_set *indexes, int64_t attempt,
                         int64_t component)
{
    const json_t *metadata = json_object_get(c->after, "metadata");
    const json_t *whole = json_object_get(c->after, "spec");
    AUTO(json_freep) json_t *spec = slurm_het_spec(whole, component);
    AUTO(json_freep) json_t *job = json_copy(c->after);
    struct slurm_ask ask = {.nodes = 1, .tasks = 1, .cpus = 1};
    int64_t id = json_int_at(c->after, "status", "jobId", NULL);
    const struct slurm_element element = {.job = job,
                                          .index = -1,
                                          .raw_id = id,
                                          .whole = slurm_het_size(whole) > 1 ? c->after : NULL,
                                          .component = component};
    AUTO_FREE char *number = mem_format("%" PRId64, id + component);
    AUTO_FREE char *elements = index_set_format(indexes);
    AUTO_FREE char *text = NULL;
    AUTO(json_freep) json_t *facts = NULL;
    struct account_unstarted row = {
        .ns = json_text(metadata, "namespace"),
        .name = json_text(metadata, "name"),
        .uid = json_text(metadata, "uid"),
        .user = json_text_at(metadata, "annotations", POD_USER, NULL),
        .job_id = number,
        .attempt = attempt + component,
        .cancelled_by = -1,
        .now_ns = objects_now_ns(c->objects),
    };

    json_put(job, "spec", json_incref(spec));
    err_free(slurm_ask_read(spec, &ask)); /* does not change */
    facts = slurm_account_facts(&element, &ask);
    if (json_object_get(whole, "cancelledBy"))
        row.cancelled_by = json_int(whole, "cancelledBy", -1);
    if (json_object_get(whole, "array")) {
        json_put_int(facts, "arrayJobId", id);
        json_put_text(facts, "arrayTaskId", elements);
    }
    text = json_format(facts);
    row.slurm = text;
    account_unstarted_in(&c->txn, &row);
}

/* Adds rows for elements that the controller cancelled before they started. */
static void account_cancelled(struct change *c)
{
    AUTO(index_set_done) struct index_set was = {0};
    AUTO(index_set_done) struct index_set is = {0};
    int64_t n = slurm_het_size(json_object_get(c->after, "spec"));

    read_unstarted(c->before, &was);
    read_unstarted(c->after, &is);
    if (is.count <= was.count)
        return;
    for (size_t i = 0; i < was.n_words * 64; i++)
        if (index_set_has(&was, i))
            index_set_remove(&is, i);
    for (int64_t i = 0; i < n; i++)
        account_part(c, &is, (int64_t)was.count, i);
}

/* Notes who cancels; nobody else writes the member. */
static void put_canceller(const struct change *c)
{
    json_t *was = json_object_get(c->before, "spec");
    json_t *is = json_object_get(c->after, "spec");
    int64_t uid = change_host_uid(c);

    if (is_same(json_object_get(was, "cancelled"), json_object_get(is, "cancelled"))) {
        if (json_object_get(was, "cancelledBy"))
            json_put_int(is, "cancelledBy", json_int(was, "cancelledBy", 0));
        else
            (void)json_object_del(is, "cancelledBy"); /* may be absent */
    } else if (uid >= 0) {
        json_put_int(is, "cancelledBy", uid);
    }
}

static bool is_slurm_pod(const struct change *c)
{
    return is_pod(c->kind) && json_text_at(c->before, "metadata", "labels", SLURM_JOB_LABEL, NULL);
}

struct err *slurm_update_rules(struct change *c)
{
    json_t *was = json_object_get(c->before, "spec");
    json_t *is = json_object_get(c->after, "spec");
    AUTO(causes_done) struct causes causes = {0};

    if (is_slurm_pod(c))
        return check_owner(c);
    if (!is_slurm_job(c->kind))
        return NULL;
    TRY(check_owner(c));
    put_canceller(c);
    if (text_equal(c->request->subresource, "status"))
        account_cancelled(c);
    check_members(is, was, &causes);
    check_members(was, is, &causes);
    if (!is_same(json_at(was, "array", "indexes", NULL), json_at(is, "array", "indexes", NULL)))
        cause_forbidden(&causes, PATH(PATH(PATH(NULL, "spec"), "array"), "indexes"),
                        "does not change after the submission");
    TRY(causes_err_of(&causes, c->kind,
                      text_or_empty(json_text_at(c->after, "metadata", "name", NULL))));
    TRY(check_hold(c));
    TRY(check_suspended(c));
    TRY(check_limit(c));
    TRY(check_nice(c));
    TRY(slurm_revise(c));
    return is_same(json_object_get(was, "dependency"), json_object_get(is, "dependency"))
               ? NULL
               : check_dependency(c);
}

struct err *slurm_delete_rules(const struct change *c)
{
    return is_slurm_job(c->kind) || is_slurm_pod(c) ? check_owner(c) : NULL;
}
