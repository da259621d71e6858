/* pod_nets.c - makes, adopts and takes down the networks of pods */

#include "node/net/pod_nets.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "node/net/cni.h"
#include "node/net/net_config.h"
#include "node/net/net_ns.h"

enum {
    NETS_BUSY_MAX = 8, /* plugins that run at the same time */
    RECORD_MAX = 1 << 20
};

static const int64_t RETRY_NS = NS_PER_SEC;
static const int64_t RETRY_MAX_NS = 30 * NS_PER_SEC;

/* The next step of a network. */
enum net_step {
    STEP_NONE,
    STEP_SPACE,  /* the record and the namespace, in the worker */
    STEP_ADD,    /* plugins */
    STEP_RECORD, /* the result, in the worker */
    STEP_DEL,    /* plugins */
    STEP_REMOVE  /* the namespace and the record, in the worker */
};

struct net {
    struct map_handle handle;
    struct pod_nets *set;
    char *uid;
    char *record; /* path */
    char *netns;  /* path */
    char *address;
    char *link;
    char *problem;
    json_t *ports;
    json_t *facts;  /* NULL: adopted, and the pod's object is not known yet */
    json_t *result; /* of ADD; NULL: unknown */
    enum net_step step;
    bool is_busy; /* in the worker, or plugins run */
    bool is_ready;
    bool is_ending; /* to be taken down */
    bool is_wanted; /* after that: to be made again */
    bool has_ports; /* its host ports are its own, until it is gone */
    struct cni *cni;
    struct loop_timer *timer;
    int64_t retry_ns;
};

struct pod_nets {
    struct pod_nets_options o;
    struct net *nets;
    json_t *plugins;
    char *dir; /* DATA/node/net */
    char *cni_dir;
    size_t n_busy; /* plugins */
};

static void net_next(struct net *n);

/* ---- one network ---- */

static void on_net_timer(void *arg)
{
    net_next(arg);
}

static struct net *net_new(struct pod_nets *set, const char *uid)
{
    struct net *n = mem_alloc(sizeof(*n));

    *n = (struct net){.set = set,
                      .uid = mem_strdup(uid),
                      .record = mem_format("%s/pods/%s", set->dir, uid),
                      .netns = mem_format("%s/ns/%s", set->dir, uid)};
    n->timer = loop_timer_new(set->o.loop, on_net_timer, n);
    map_add(handle, set->nets, n->uid, strlen(n->uid), n);
    return n;
}

static void net_free(struct net *n)
{
    map_remove(handle, n->set->nets, n);
    cni_abandon(n->cni);
    loop_timer_free(n->timer);
    json_decref(n->ports);
    json_decref(n->facts);
    json_decref(n->result);
    free(n->uid);
    free(n->record);
    free(n->netns);
    free(n->address);
    free(n->link);
    free(n->problem);
    free(n);
}

static struct net *net_find(const struct pod_nets *set, const char *uid)
{
    struct net *n = NULL;

    map_find_text(handle, set->nets, uid, n);
    return n;
}

static void net_tell(const struct net *n)
{
    const struct pod_nets_options *o = &n->set->o;

    o->changed(o->arg, n->uid);
}

/* ---- work for the worker ---- */

struct net_work {
    struct pod_nets *set;
    char *uid;
    enum net_step step;
    char *record;
    char *netns;
    char *text;     /* of the record */
    char *conflict; /* why it cannot have its host ports; NULL: no other pod has one */
    json_t *ports;
};

static void work_free(struct net_work *w)
{
    json_decref(w->ports);
    free(w->uid);
    free(w->record);
    free(w->netns);
    free(w->text);
    free(w->conflict);
    free(w);
}

static bool has_port(const struct net *n, const json_t *port)
{
    const json_t *own = NULL;
    size_t i = 0;

    json_array_foreach (n->ports, i, own)
        if (json_int(own, "hostPort", 0) == json_int(port, "hostPort", 0) &&
            text_equal(json_text(own, "protocol"), json_text(port, "protocol")))
            return true;
    return false;
}

/* The scheduler keeps pods with the same host port apart; a pod that its user bound to the node
 * waits here, because the rules of the node can lead a port to one pod alone. */
static char *find_conflict(const struct net *n)
{
    const json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (n->ports, i, port) {
        struct net *other = NULL;
        struct net *next = NULL;

        map_each (handle, n->set->nets, other, next)
            if (other != n && other->has_ports && has_port(other, port))
                return mem_format("hostPort %" PRId64 "/%s: another pod of this node has this port",
                                  json_int(port, "hostPort", 0), json_text(port, "protocol"));
    }
    return NULL;
}

static struct err *check_ports(const json_t *ports)
{
    const json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (ports, i, port)
        TRY(net_port_check(text_or_empty(json_text(port, "protocol")),
                           (uint16_t)json_int(port, "hostPort", 0)));
    return NULL;
}

static struct err *work_run(void *message)
{
    const struct net_work *w = message;

    if (w->step == STEP_REMOVE) {
        TRY(net_ns_remove(w->netns));
        return dir_remove(w->record);
    }
    if (w->conflict)
        return err_new(ERR_CONFLICT, "%s", w->conflict);
    if (w->step == STEP_SPACE)
        TRY(check_ports(w->ports));
    TRY(file_write(w->record, 0600, str_of(w->text)));
    return w->step == STEP_SPACE ? net_ns_make(w->netns) : NULL;
}

static char *record_text(const struct net *n)
{
    AUTO(json_freep) json_t *record = json_object();

    json_put(record, "ports", json_incref(n->ports));
    if (n->result)
        json_put(record, "result", json_incref(n->result));
    return json_format(record);
}

static void net_ended(struct net *n, enum net_step step, const struct err *e);

static void on_net_worked(void *message, const struct err *e)
{
    struct net_work *w = message;
    struct net *n = net_find(w->set, w->uid);
    enum net_step step = w->step;

    work_free(w);
    n->is_busy = false; /* a busy network stays in the map */
    net_ended(n, step, e);
}

static void net_work(struct net *n)
{
    struct net_work *w = mem_alloc(sizeof(*w));

    *w = (struct net_work){.set = n->set,
                           .uid = mem_strdup(n->uid),
                           .step = n->step,
                           .record = mem_strdup(n->record),
                           .netns = mem_strdup(n->netns),
                           .text = record_text(n),
                           .conflict = n->step == STEP_SPACE ? find_conflict(n) : NULL,
                           .ports = json_deep_copy(n->ports)};
    n->has_ports = n->has_ports || (n->step == STEP_SPACE && !w->conflict);
    n->is_busy = true;
    worker_give(n->set->o.worker, work_run, on_net_worked, w);
}

/* ---- plugins ---- */

static void wake_waiting(struct pod_nets *set)
{
    struct net *n = NULL;
    struct net *next = NULL;

    map_each (handle, set->nets, n, next)
        if (!n->is_busy && (n->step == STEP_ADD || n->step == STEP_DEL))
            loop_timer_set(n->timer, 0);
}

static struct err *read_result(struct net *n)
{
    free(n->link);
    n->link = NULL;
    TRY(net_result_link(n->result, &n->link));
    return net_result_address(n->result, &n->address);
}

static void on_cni_done(void *arg, const struct err *e, const json_t *result)
{
    struct net *n = arg;
    struct pod_nets *set = n->set;
    enum net_step step = n->step;
    AUTO(err_freep) struct err *bad = NULL;

    n->cni = NULL;
    n->is_busy = false;
    if (set->n_busy-- == NETS_BUSY_MAX)
        wake_waiting(set);
    if (!e && step == STEP_ADD) {
        json_decref(n->result);
        n->result = json_deep_copy(result);
        bad = read_result(n);
    }
    net_ended(n, step, e ? e : bad);
}

static void net_run_plugins(struct net *n)
{
    struct pod_nets *set = n->set;
    bool is_there = net_ns_is_there(n->netns);
    const struct cni_options o = {.loop = set->o.loop,
                                  .command = n->step == STEP_ADD ? CNI_ADD : CNI_DEL,
                                  .dir = set->cni_dir,
                                  .container = n->uid,
                                  .netns = is_there ? n->netns : "",
                                  .name = NET_NAME,
                                  .plugins = set->plugins,
                                  .result = n->step == STEP_DEL ? n->result : NULL,
                                  .done = on_cni_done,
                                  .arg = n};

    if (set->n_busy == NETS_BUSY_MAX)
        return; /* wake_waiting */
    set->n_busy++;
    n->is_busy = true;
    n->cni = cni_start(&o);
}

/* ---- steps ---- */

static void net_failed(struct net *n, enum net_step step, const struct err *e)
{
    LOG(WARN, "network of a pod: will be tried again", S("pod", n->uid), E(e));
    free(n->problem);
    n->problem = mem_strdup(err_message(e));
    if (step == STEP_ADD || step == STEP_SPACE || step == STEP_RECORD)
        n->step = STEP_DEL; /* takes down the half that was made, then begins again */
    n->is_wanted = n->is_wanted || !n->is_ending;
    loop_timer_set(n->timer, retry_pause(&n->retry_ns, RETRY_NS, RETRY_MAX_NS));
    net_tell(n);
}

/* The network is gone: forgotten, or made anew. */
static void net_gone(struct net *n)
{
    AUTO_FREE char *uid = mem_strdup(n->uid);
    struct pod_nets *set = n->set;

    json_decref(n->result);
    n->result = NULL;
    free(n->address);
    n->address = NULL;
    n->is_ending = false;
    n->has_ports = false;
    if (n->is_wanted) {
        n->is_wanted = false;
        n->step = STEP_SPACE;
        net_next(n);
        return;
    }
    net_free(n);
    set->o.changed(set->o.arg, uid);
}

static void net_ended(struct net *n, enum net_step step, const struct err *e)
{
    if (e) {
        net_failed(n, step, e);
        return;
    }
    switch (step) {
    case STEP_SPACE:
        n->step = STEP_ADD;
        break;
    case STEP_ADD:
        n->step = STEP_RECORD;
        break;
    case STEP_RECORD:
        n->step = STEP_NONE;
        n->is_ready = true;
        n->retry_ns = 0;
        free(n->problem);
        n->problem = NULL;
        LOG(INFO, "pod has an address", S("pod", n->uid), S("address", n->address));
        net_tell(n);
        break;
    case STEP_DEL:
        n->step = STEP_REMOVE;
        break;
    case STEP_REMOVE:
        net_gone(n);
        return;
    case STEP_NONE:
        break;
    }
    net_next(n);
}

static void net_next(struct net *n)
{
    if (n->is_busy)
        return;
    if (n->is_ending && n->step != STEP_DEL && n->step != STEP_REMOVE) {
        n->is_ready = false;
        n->step = STEP_DEL;
    }
    if (n->step == STEP_ADD || n->step == STEP_DEL)
        net_run_plugins(n);
    else if (n->step != STEP_NONE)
        net_work(n);
}

/* ---- the set ---- */

void pod_nets_begin(struct pod_nets *set, const json_t *pod)
{
    const char *uid = json_text_at(pod, "metadata", "uid", NULL);
    struct net *n = net_find(set, uid);

    if (n) {
        n->is_wanted = n->is_wanted || n->is_ending;
        return;
    }
    n = net_new(set, uid);
    n->ports = net_host_ports(pod);
    n->facts = net_facts(pod);
    n->step = STEP_SPACE;
    net_next(n);
}

void pod_nets_describe(struct pod_nets *set, const json_t *pod)
{
    struct net *n = net_find(set, text_or_empty(json_text_at(pod, "metadata", "uid", NULL)));
    AUTO(json_freep) json_t *facts = n ? net_facts(pod) : NULL;

    if (!n || json_equal(n->facts, facts))
        return;
    json_decref(n->facts);
    n->facts = TAKE(facts);
    if (n->is_ready)
        net_tell(n);
}

bool pod_nets_find(const struct pod_nets *set, const char *uid, struct pod_net *ret)
{
    const struct net *n = net_find(set, uid);

    if (!n)
        return false;
    *ret = (struct pod_net){.state = n->is_ending  ? POD_NET_ENDING
                                     : n->is_ready ? POD_NET_READY
                                     : n->problem  ? POD_NET_FAILED
                                                   : POD_NET_MAKING,
                            .address = n->address,
                            .netns = n->netns,
                            .problem = n->problem,
                            .ports = n->ports,
                            .facts = n->facts,
                            .link = n->link};
    return true;
}

void pod_nets_end(struct pod_nets *set, const char *uid)
{
    struct net *n = net_find(set, uid);

    if (!n)
        return;
    n->is_wanted = false;
    if (n->is_ending)
        return;
    n->is_ending = true;
    n->is_ready = false;
    net_next(n);
}

void pod_nets_keep(struct pod_nets *set, bool (*is_known)(void *arg, const char *uid), void *arg)
{
    struct net *n = NULL;
    struct net *next = NULL;

    map_each (handle, set->nets, n, next)
        if (!is_known(arg, n->uid))
            pod_nets_end(set, n->uid);
}

void pod_nets_each(const struct pod_nets *set,
                   void (*fn)(void *arg, const char *uid, const struct pod_net *net), void *arg)
{
    struct net *n = NULL;
    struct net *next = NULL;

    map_each (handle, set->nets, n, next) {
        struct pod_net net = {0};

        if (n->is_ready && pod_nets_find(set, n->uid, &net))
            fn(arg, n->uid, &net);
    }
}

/* ---- adoption ---- */

static struct err *read_record(const struct net *n, json_t **ret)
{
    AUTO(buf_done) struct buf text = {0};

    TRY(file_read(n->record, RECORD_MAX, &text));
    return json_parse((struct str){text.at, text.size}, ret);
}

static void net_adopt(struct pod_nets *set, const char *uid)
{
    struct net *n = net_new(set, uid);
    AUTO(json_freep) json_t *record = NULL;
    AUTO(err_freep) struct err *e = read_record(n, &record);
    json_t *ports = json_object_get(record, "ports");
    json_t *result = json_object_get(record, "result");

    n->ports = ports ? json_incref(ports) : json_array();
    n->has_ports = true;
    if (!e && result && net_ns_is_there(n->netns)) {
        n->result = json_incref(result);
        e = read_result(n);
    }
    n->is_ready = !e && n->address;
    n->is_ending = !n->is_ready;
    if (e)
        LOG(WARN, "network of a pod cannot be adopted", S("pod", uid), E(e));
    if (n->is_ending) {
        n->step = STEP_DEL;
        loop_timer_set(n->timer, 0);
    }
}

/* After a restart of the machine, namespaces and addresses are gone. */
static struct err *drop_old_boot(const struct pod_nets *set)
{
    static const char *const parts[] = {"pods", "ns", "ipam"};
    AUTO_FREE char *path = mem_format("%s/boot", set->dir);
    AUTO(buf_done) struct buf text = {.cap = 4096};
    AUTO(err_freep) struct err *e = file_read(path, 4096, &text);
    bool is_same = !e && text_equal(text.at, set->o.boot_id);

    for (size_t i = 0; i < COUNT(parts); i++) {
        AUTO_FREE char *part = mem_format("%s/%s", set->dir, parts[i]);

        if (!is_same)
            TRY(dir_remove(part));
        TRY(dir_make(part, 0700));
    }
    return is_same ? NULL : file_write(path, 0600, str_of(set->o.boot_id));
}

static struct err *adopt_all(struct pod_nets *set)
{
    AUTO_FREE char *dir = mem_format("%s/pods", set->dir);
    char **names = NULL;
    size_t n = 0;

    TRY(dir_make(set->dir, 0711));
    TRY(drop_old_boot(set));
    TRY(dir_list(dir, &names, &n));
    for (size_t i = 0; i < n; i++)
        net_adopt(set, names[i]);
    names_free(names, n);
    return NULL;
}

static struct err *check_plugins(const struct pod_nets *set)
{
    static const char *const needed[] = {"ptp", "host-local"};

    for (size_t i = 0; i < COUNT(needed); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", set->cni_dir, needed[i]);

        if (!file_exists(path))
            return err_new(ERR_NOT_FOUND,
                           "the pod network needs the CNI plugin %s: install the package "
                           "containernetworking-plugins",
                           path);
    }
    return NULL;
}

struct err *pod_nets_new(const struct pod_nets_options *o, struct pod_nets **ret)
{
    struct pod_nets *set = mem_alloc(sizeof(*set));
    AUTO_FREE char *ipam = mem_format("%s/net/ipam", o->dir);
    struct err *e;

    set->o = *o;
    set->dir = mem_format("%s/net", o->dir);
    set->cni_dir = mem_strdup(o->cni_dir ? o->cni_dir : CNI_DIR);
    set->plugins = net_plugins(o->network, ipam);
    e = check_plugins(set);
    if (!e)
        e = net_gateway_make(net_gateway(o->network));
    if (!e)
        e = adopt_all(set);
    if (e) {
        pod_nets_free(set);
        return err_wrap(e, "pod network");
    }
    *ret = set;
    return NULL;
}

void pod_nets_free(struct pod_nets *set)
{
    struct net *n = NULL;
    struct net *next = NULL;

    if (!set)
        return;
    map_each (handle, set->nets, n, next)
        net_free(n);
    json_decref(set->plugins);
    free(set->dir);
    free(set->cni_dir);
    free(set);
}
