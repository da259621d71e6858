/*
 * container_image.c - the image of a container's next attempt: present, or pulled by
 * imagePullPolicy, with the kubelet's reasons, Events and back-off
 */

#include <inttypes.h>

#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "node/image/pull_secrets.h"
#include "node/pod/pod.h"

static const int64_t BACKOFF_NS = 10 * NS_PER_SEC;
static const int64_t BACKOFF_MAX_NS = 300 * NS_PER_SEC;
/* The time that an error shows before it becomes a back-off, as between two kubelet syncs. */
static const int64_t SHOWN_NS = 2 * NS_PER_SEC;
static const int64_t LOOK_AGAIN_NS = 10 * NS_PER_SEC;

/* The container of a pull, by name: the pod or container may be gone at the answer. */
struct container_pull {
    struct pods *set;
    char *uid;
    char *container;
    char *name;
    int64_t begun_ns;
    void *handle; /* from image_source.pull */
};

static void add_event(struct pod *p, const struct container *c, const char *type,
                      const char *reason, const char *message)
{
    pod_events_add(p->set->events, p->object, c->name, type, reason, message);
}

static void add_failure(struct pod *p, const struct container *c, const char *reason)
{
    AUTO_FREE char *text = mem_format("Error: %s", reason);

    add_event(p, c, "Warning", "Failed", text);
}

/* ---- a present image ---- */

/* The imageID in the pod's status: the digest in a registry, or else the image's own id. */
static const char *reference_of(const struct image *image)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (image->names, i, item)
        if (strchr(json_string_value(item), '@'))
            return json_string_value(item);
    return image->id;
}

static void take_image(struct pod *p, struct container *c, const struct image *image)
{
    const struct image_source *s = p->set->o.images;

    free(c->image_ref);
    free(c->image_id);
    c->image_ref = mem_strdup(reference_of(image));
    c->image_id = mem_strdup(image->id);
    c->image_attempt = c->attempt;
    c->pull_backoff_ns = 0;
    c->pull_at_ns = 0;
    container_wait(c, NULL, NULL);
    s->use(s->arg, image->id, p->uid);
}

/* ---- a missing image ---- */

static void wait_for(struct pod *p, struct container *c, const char *reason, const char *message,
                     int64_t delay_ns)
{
    container_wait(c, reason, message);
    c->not_before_ns = pod_now_ns(p) + delay_ns;
}

static void refuse_name(struct pod *p, struct container *c, const char *name, const struct err *e)
{
    AUTO_FREE char *text =
        mem_format("Failed to apply default image tag \"%s\": %s", name, err_message(e));

    if (!text_equal(c->wait_reason, "InvalidImageName")) {
        add_event(p, c, "Warning", "InspectFailed", text);
        add_failure(p, c, "InvalidImageName");
    }
    wait_for(p, c, "InvalidImageName", text, LOOK_AGAIN_NS);
}

static void refuse_absent(struct pod *p, struct container *c, const char *name)
{
    AUTO_FREE char *text =
        mem_format("Container image \"%s\" is not present with pull policy of Never", name);

    if (!text_equal(c->wait_reason, "ErrImageNeverPull")) {
        add_event(p, c, "Warning", "ErrImageNeverPull", text);
        add_failure(p, c, "ErrImageNeverPull");
    }
    wait_for(p, c, "ErrImageNeverPull", text, LOOK_AGAIN_NS);
}

/* Sends the kubelet's Event; the waiting message also has the last error and the time of the next
 * pull. */
static void back_off(struct pod *p, struct container *c, const char *name)
{
    AUTO_FREE char *text = mem_format("Back-off pulling image \"%s\"", name);
    AUTO_FREE char *whole = NULL;
    int64_t delay_ns = c->pull_at_ns - pod_now_ns(p);
    char next[STAMP_TEXT_SIZE];

    if (text_equal(c->wait_reason, "ImagePullBackOff")) {
        c->not_before_ns = c->pull_at_ns; /* the message has that second already */
        return;
    }
    add_event(p, c, "Normal", "BackOff", text);
    add_failure(p, c, "ImagePullBackOff");
    stamp_format(loop_wall_ns(p->set->o.loop) + delay_ns, next);
    whole = mem_format("%s: ErrImagePull: %s; next try at %s", text,
                       c->pull_error ? c->pull_error : "the last pull failed", next);
    wait_for(p, c, "ImagePullBackOff", whole, delay_ns);
}

static void pull_failed(struct pod *p, struct container *c, const char *name, const struct err *e)
{
    AUTO_FREE char *text = mem_format("Failed to pull image \"%s\": %s", name, err_message(e));

    add_event(p, c, "Warning", "Failed", text);
    add_failure(p, c, "ErrImagePull");
    c->pull_at_ns = pod_now_ns(p) + retry_pause(&c->pull_backoff_ns, BACKOFF_NS, BACKOFF_MAX_NS);
    free(c->pull_error);
    c->pull_error = mem_strdup(err_message(e));
    wait_for(p, c, "ErrImagePull", err_message(e), SHOWN_NS);
}

/* ---- the pull ---- */

static void pull_free(struct container_pull *w)
{
    free(w->uid);
    free(w->container);
    free(w->name);
    free(w);
}

static void pull_succeeded(struct pod *p, struct container *c, const struct container_pull *w,
                           const struct image *image)
{
    int64_t took_ms = (pod_now_ns(p) - w->begun_ns) / NS_PER_MS;
    AUTO_FREE char *took = mem_format("%" PRId64 ".%03ds", took_ms / 1000, (int)(took_ms % 1000));
    AUTO_FREE char *text = mem_format("Successfully pulled image \"%s\" in %s (%s including "
                                      "waiting). Image size: %" PRId64 " bytes.",
                                      w->name, took, took, image->size_bytes);

    add_event(p, c, "Normal", "Pulled", text);
    take_image(p, c, image);
}

static void on_pulled(void *arg, const struct err *e, const char *id)
{
    struct container_pull *w = arg;
    struct pod *p = pods_find(w->set, w->uid);
    struct container *c = p ? pod_container(p, w->container) : NULL;
    const struct image_source *s = w->set->o.images;
    const struct image *image = id ? s->find(s->arg, id) : NULL;

    if (c && c->pull == w) {
        c->pull = NULL;
        if (image)
            pull_succeeded(p, c, w, image);
        else if (e)
            pull_failed(p, c, w->name, e);
    }
    pull_free(w);
    if (p)
        pod_step(p);
}

static void begin_pull(struct pod *p, struct container *c, const char *name,
                       const struct image_name *parsed)
{
    const struct image_source *s = p->set->o.images;
    AUTO_FREE char *text = mem_format("Pulling image \"%s\"", name);
    struct container_pull *w = mem_alloc(sizeof(*w));
    struct pull_login login = {0};
    struct image_pull pull = {.name = name, .done = on_pulled, .arg = w};

    *w = (struct container_pull){.set = p->set,
                                 .uid = mem_strdup(p->uid),
                                 .container = mem_strdup(c->name),
                                 .name = mem_strdup(name),
                                 .begun_ns = pod_now_ns(p)};
    c->pull = w;
    p->has_pulled = true;
    container_wait(c, NULL, NULL);
    add_event(p, c, "Normal", "Pulling", text);
    pull_secrets_find(p->object, p->refs, parsed, &login);
    pull.username = login.username;
    pull.password = login.password;
    w->handle = s->pull(s->arg, &pull);
    pull_login_done(&login);
}

static void container_pull_cancel(struct container *c)
{
    struct container_pull *w = c->pull;

    if (!w)
        return;
    w->set->o.images->forget(w->handle);
    c->pull = NULL;
    pull_free(w);
}

void container_image_done(struct container *c)
{
    container_pull_cancel(c);
    free(c->image_id);
    free(c->image_ref);
    free(c->pull_error);
    c->pull_error = NULL;
    c->image_id = NULL;
    c->image_ref = NULL;
}

/* A container found on the machine keeps its image. */
void container_image_adopt(struct pod *p, struct container *c, const json_t *intent)
{
    const struct image_source *s = p->set->o.images;
    const char *id = json_text(intent, "imageId");
    const char *ref = json_text(intent, "imageRef");

    container_image_done(c);
    if (!s || !id)
        return;
    c->image_id = mem_strdup(id);
    c->image_ref = mem_strdup(ref ? ref : id);
    c->image_attempt = c->attempt;
    s->use(s->arg, id, p->uid);
}

/* ---- the decision ---- */

static bool is_ready(const struct pod *p, const struct container *c)
{
    const struct image_source *s = p->set->o.images;

    return c->image_id && c->image_attempt == c->attempt && s->find(s->arg, c->image_id);
}

static void find_or_pull(struct pod *p, struct container *c, const json_t *spec,
                         const struct image_name *parsed)
{
    const struct image_source *s = p->set->o.images;
    const char *name = container_image(spec);
    const char *policy = json_text(spec, "imagePullPolicy");
    const struct image *image = s->find(s->arg, name);

    if (image && !text_equal(policy, "Always")) {
        AUTO_FREE char *text =
            mem_format("Container image \"%s\" already present on machine", name);

        add_event(p, c, "Normal", "Pulled", text);
        take_image(p, c, image);
    } else if (text_equal(policy, "Never")) {
        refuse_absent(p, c, name);
    } else if (pod_now_ns(p) < c->pull_at_ns) {
        back_off(p, c, name);
    } else {
        begin_pull(p, c, name, parsed);
    }
}

bool container_image_ready(struct pod *p, struct container *c)
{
    const json_t *spec = pod_container_spec(p, c);
    const char *name = container_image(spec);
    struct image_name parsed = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (!name || !p->set->o.images || is_ready(p, c))
        return true;
    if (c->pull)
        return false;
    e = image_name_parse(name, &parsed);
    if (e && !image_digest_is_valid(name))
        refuse_name(p, c, name, e);
    else
        find_or_pull(p, c, spec, &parsed);
    return is_ready(p, c);
}

void pods_images_changed(struct pods *set)
{
    struct pod *p = NULL;
    struct pod *next = NULL;

    map_each (handle, set->pods, p, next) {
        bool is_due = false;

        for (size_t i = 0; i < p->n_containers; i++) {
            struct container *c = &p->containers[i];

            if (c->state != CONTAINER_WAITING || !text_equal(c->wait_reason, "ErrImageNeverPull"))
                continue;
            c->not_before_ns = 0;
            is_due = true;
        }
        if (is_due)
            pod_step(p);
    }
}
