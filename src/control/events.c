#include "control/events.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"

enum {
    KNOWN_MAX = 4096,   /* events that can be counted on; older ones begin anew */
    MESSAGE_MAX = 1024, /* bytes, as in Kubernetes */
};

/* One Event that was written. */
struct known {
    struct map_handle handle;
    char *key; /* all that makes two the same */
    char *ns;
    char *name;
    int64_t count;
};

struct events {
    struct loop *loop;
    struct cluster *cluster;
    struct known *known; /* in order of their first use */
};

static void known_free(struct events *ev, struct known *k)
{
    map_remove(handle, ev->known, k);
    free(k->key);
    free(k->ns);
    free(k->name);
    free(k);
}

struct events *events_new(struct loop *l, struct cluster *c)
{
    struct events *ev = mem_alloc(sizeof(*ev));

    ev->loop = l;
    ev->cluster = c;
    return ev;
}

void events_free(struct events *ev)
{
    if (!ev)
        return;
    while (ev->known)
        known_free(ev, ev->known);
    free(ev);
}

/* FNV-1a, 64 bits: names an Event by what it says, so that two of them do not meet. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static json_t *event_tree(const struct event *what, const char *name, const char *message,
                          int64_t now_ns)
{
    const char *ns = *what->ns ? what->ns : "default";
    char stamp[STAMP_TEXT_SIZE];
    json_t *o = json_object();
    json_t *about;

    stamp_format(now_ns, stamp);
    json_put_text(o, "apiVersion", "v1");
    json_put_text(o, "kind", "Event");
    json_put_text(json_object_at(o, "metadata"), "name", name);
    json_put_text(json_object_at(o, "metadata"), "namespace", ns);
    about = json_object_at(o, "involvedObject");
    json_put_text(about, "apiVersion", what->api_version ? what->api_version : "v1");
    json_put_text(about, "kind", what->kind);
    if (*what->ns)
        json_put_text(about, "namespace", what->ns);
    json_put_text(about, "name", what->name);
    json_put_text(about, "uid", what->uid);
    json_put_text(o, "type", what->is_warning ? "Warning" : "Normal");
    json_put_text(o, "reason", what->reason);
    json_put_text(o, "message", message);
    json_put_text(o, "firstTimestamp", stamp);
    json_put_text(o, "lastTimestamp", stamp);
    json_put_int(o, "count", 1);
    json_put_text(json_object_at(o, "source"), "component", what->component);
    json_put_text(o, "reportingComponent", what->component);
    json_put_text(o, "reportingInstance", "");
    return o;
}

static struct err *count_again(struct events *ev, struct known *k)
{
    AUTO(json_freep) json_t *changes = json_object();
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(loop_wall_ns(ev->loop), stamp);
    json_put_int(changes, "count", k->count + 1);
    json_put_text(changes, "lastTimestamp", stamp);
    TRY(cluster_patch(ev->cluster, "events", k->ns, k->name, NULL, changes));
    k->count++;
    return NULL;
}

static struct known *known_new(struct events *ev, char *key, const struct event *what)
{
    struct known *k = mem_alloc(sizeof(*k));
    int64_t now_ns = loop_wall_ns(ev->loop);

    if (map_count(handle, ev->known) >= KNOWN_MAX)
        known_free(ev, ev->known);
    k->key = key;
    k->ns = mem_strdup(*what->ns ? what->ns : "default");
    k->name = mem_format("%.200s.%016" PRIx64, what->name, hash_of(key) ^ (uint64_t)now_ns);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; the one that was freed is out of it */
    map_add(handle, ev->known, k->key, strlen(k->key), k);
    return k;
}

static struct err *write_first(struct events *ev, struct known *k, const struct event *what,
                               const char *message)
{
    AUTO(json_freep) json_t *tree = event_tree(what, k->name, message, loop_wall_ns(ev->loop));

    TRY(cluster_create(ev->cluster, "events", k->ns, tree));
    k->count = 1;
    return NULL;
}

void events_record(struct events *ev, const struct event *what)
{
    AUTO_FREE char *message = mem_format("%.*s", MESSAGE_MAX, what->message);
    AUTO_FREE char *key = mem_format("%s\n%s\n%s\n%s\n%s\n%s", what->kind, what->ns, what->name,
                                     what->uid, what->reason, message);
    AUTO(err_freep) struct err *e = NULL;
    struct known *k = NULL;

    map_find_text(handle, ev->known, key, k);
    if (k) {
        e = count_again(ev, k);
        if (!e)
            return;
        if (err_code(e) == ERR_NOT_FOUND) { /* swept away: begin anew */
            known_free(ev, k);
            k = NULL;
            err_free(e);
            e = NULL;
        }
    }
    if (!k) {
        k = known_new(ev, TAKE(key), what);
        e = write_first(ev, k, what, message);
    }
    if (e) {
        LOG(WARN, "event is lost", S("object", what->name), S("reason", what->reason), E(e));
        known_free(ev, k);
    }
}
