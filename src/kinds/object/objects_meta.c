/* objects_meta.c - the rules of ObjectMeta, as Kubernetes' rest.BeforeCreate and BeforeUpdate have
 * them */
#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/kind/cause.h"
#include "kinds/object/objects_private.h"

static const char *meta_text(const json_t *object, const char *key)
{
    const char *text = json_text_at(object, "metadata", key, NULL);

    return text ? text : "";
}

static struct err *check_body_namespace(const struct change *c, const json_t *object)
{
    const char *ns = meta_text(object, "namespace");

    if (!*ns)
        return NULL;
    if (!c->kind->is_namespaced)
        return field_forbidden(c, "metadata.namespace", "not allowed on this type");
    if (!text_equal(ns, c->request->ns))
        return err_new(ERR_BAD_REQUEST,
                       "the namespace of the provided object does not match the namespace sent on "
                       "the request");
    return NULL;
}

struct err *meta_check_body(const struct change *c, const json_t *object)
{
    const char *name = meta_text(object, "name");

    if (c->request->name && *name && !text_equal(name, c->request->name))
        return err_new(ERR_BAD_REQUEST,
                       "the name of the object (%.253s) does not match the name on the URL (%s)",
                       name, c->request->name);
    return check_body_namespace(c, object);
}

static bool reads_version(const char *text, int64_t *ret)
{
    AUTO(err_freep) struct err *e = num_parse_int64(str_of(text), 0, INT64_MAX, ret);

    return !e;
}

struct err *meta_check_preconditions(const struct change *c, const json_t *object)
{
    const char *version = meta_text(object, "resourceVersion");
    const char *uid = meta_text(object, "uid");
    const char *own = meta_text(c->before, "uid");
    int64_t wanted = 0;

    if (*uid && !text_equal(uid, own))
        return conflict(c,
                        "Precondition failed: UID in precondition: %.128s, UID in object meta: %s",
                        uid, own);
    if (!*version || text_equal(version, "0"))
        return NULL;
    if (!reads_version(version, &wanted))
        return err_new(ERR_BAD_REQUEST, "resourceVersion: Invalid value: \"%.64s\": want a number",
                       version);
    if (wanted != c->version)
        return conflict(c, "the object has been modified; please apply your changes to the latest "
                           "version and try again");
    return NULL;
}

/* Letters and digits that form no words, as in Kubernetes. */
static const char suffix_alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
enum {
    SUFFIX_SIZE = 5,
    GENERATED_BASE_MAX = 58
};

void meta_make_name(struct change *c)
{
    const char *base = meta_text(c->after, "generateName");
    uint8_t bytes[SUFFIX_SIZE];
    char suffix[SUFFIX_SIZE + 1] = "";
    AUTO_FREE char *name = NULL;

    if (*meta_text(c->after, "name") || !*base)
        return;
    change_random(c, bytes, sizeof(bytes));
    for (size_t i = 0; i < SUFFIX_SIZE; i++)
        suffix[i] = suffix_alphabet[bytes[i] % (sizeof(suffix_alphabet) - 1)];
    name = mem_format("%.*s%s", GENERATED_BASE_MAX, base, suffix);
    json_put_text(json_object_at(c->after, "metadata"), "name", name);
}

/* RFC 9562, version 4. */
static void put_uid(struct change *c, json_t *metadata)
{
    uint8_t b[16];
    AUTO_FREE char *uid = NULL;

    change_random(c, b, sizeof(b));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    uid = mem_format("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                     b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
                     b[13], b[14], b[15]);
    json_put_text(metadata, "uid", uid);
}

static void drop_unkept(json_t *metadata)
{
    static const char *const unkept[] = {"managedFields", "selfLink", "resourceVersion"};

    for (size_t i = 0; i < 3; i++)
        json_put_text(metadata, unkept[i], NULL);
}

/* Drops members that Kubernetes omits when they are empty. */
static void drop_empty(json_t *metadata)
{
    static const char *const members[] = {"labels", "annotations", "finalizers", "ownerReferences"};

    for (size_t i = 0; i < 4; i++) {
        const json_t *value = json_object_get(metadata, members[i]);

        if (json_array_size(value) == 0 && json_object_size(value) == 0)
            json_put_text(metadata, members[i], NULL);
    }
}

struct err *meta_create(struct change *c)
{
    json_t *metadata = json_object_at(c->after, "metadata");
    char now[STAMP_TEXT_SIZE];

    if (*meta_text(c->after, "resourceVersion"))
        return err_new(ERR_BAD_REQUEST,
                       "resourceVersion should not be set on objects to be created");
    drop_unkept(metadata);
    drop_empty(metadata);
    json_put_text(metadata, "deletionTimestamp", NULL);
    json_put_text(metadata, "deletionGracePeriodSeconds", NULL);
    json_put_text(metadata, "namespace", c->kind->is_namespaced ? c->request->ns : NULL);
    put_uid(c, metadata);
    stamp_format(c->who.now_ns, now);
    json_put_text(metadata, "creationTimestamp", now);
    json_put_text(metadata, "generation", NULL);
    if (c->kind->is_custom || json_object_get(c->after, "spec"))
        json_put_int(metadata, "generation", 1);
    return NULL;
}

static void keep_member(const json_t *before, json_t *after, const char *key)
{
    json_t *value = json_object_get(before, key);

    if (value)
        json_put(after, key, json_incref(value));
    else
        json_put_text(after, key, NULL);
}

/* A deletion is final, as in Kubernetes: a write cannot begin, change or undo it. */
static struct err *check_deletion(const struct change *c, const json_t *was, const json_t *is)
{
    static const char *const fields[] = {"deletionTimestamp", "deletionGracePeriodSeconds"};
    static const char *const paths[] = {"metadata.deletionTimestamp",
                                        "metadata.deletionGracePeriodSeconds"};

    for (size_t i = 0; i < 2; i++) {
        const json_t *value = json_object_get(is, fields[i]);

        if (value && !json_object_get(was, "deletionTimestamp") &&
            !json_equal(value, json_object_get(was, fields[i])))
            return field_forbidden(c, paths[i], "field is immutable");
    }
    return NULL;
}

static struct err *check_finalizers(const struct change *c, const json_t *was, const json_t *is)
{
    const json_t *old = json_object_get(was, "finalizers");
    const json_t *list = json_object_get(is, "finalizers");
    AUTO(buf_done) struct buf added = {.cap = 1024};
    AUTO_FREE char *detail = NULL;

    if (!json_object_get(was, "deletionTimestamp"))
        return NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));

        if (!json_has_text(old, name))
            buf_printf(&added, "%s\"%s\"", added.size > 0 ? ", " : "", name);
    }
    if (added.size == 0)
        return NULL;
    detail = mem_format("no new finalizers can be added if the object is being deleted, found new "
                        "finalizers []string{%s}",
                        added.at);
    return field_forbidden(c, "metadata.finalizers", detail);
}

/* Keeps the names under mete.dev/ when a client PUTs a file without them. */
static void keep_reserved(const struct change *c, const json_t *was, json_t *is)
{
    static const char *const maps[] = {"labels", "annotations"};
    const char *key;
    json_t *value;

    if (!c->is_put || c->who.is_system)
        return;
    for (size_t i = 0; i < 2; i++) {
        json_object_foreach (json_object_get(was, maps[i]), key, value) {
            if (text_starts_with(key, "mete.dev/") &&
                !json_object_get(json_object_get(is, maps[i]), key))
                json_put(json_object_at(is, maps[i]), key, json_incref(value));
        }
    }
}

/* Are all members equal that the generation counts: the spec, or of a custom object all but the
 * metadata and a status of its own? */
static bool has_same_content(const struct change *c)
{
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *after = NULL;

    if (!c->kind->is_custom)
        return json_equal(json_object_get(c->before, "spec"), json_object_get(c->after, "spec"));
    before = json_copy(c->before);
    after = json_copy(c->after);
    json_put_text(before, "metadata", NULL);
    json_put_text(after, "metadata", NULL);
    if (c->kind->has_status) {
        json_put_text(before, "status", NULL);
        json_put_text(after, "status", NULL);
    }
    return json_equal(before, after);
}

static void count_generation(struct change *c, const json_t *was, json_t *is)
{
    int64_t generation = json_int(was, "generation", 0);

    if (generation > 0 && !has_same_content(c))
        json_put_int(is, "generation", generation + 1);
}

struct err *meta_update(struct change *c)
{
    static const char *const kept[] = {"name",
                                       "generateName",
                                       "namespace",
                                       "uid",
                                       "creationTimestamp",
                                       "deletionTimestamp",
                                       "generation",
                                       "deletionGracePeriodSeconds"};
    const json_t *was = json_object_get(c->before, "metadata");
    json_t *is = json_object_at(c->after, "metadata");

    TRY(check_deletion(c, was, is));
    drop_unkept(is);
    for (size_t i = 0; i < COUNT(kept); i++)
        keep_member(was, is, kept[i]);
    keep_reserved(c, was, is);
    drop_empty(is);
    TRY(kind_check_reserved(c->kind, c->before, c->after, &c->who));
    TRY(check_finalizers(c, was, is));
    count_generation(c, was, is);
    return NULL;
}

struct err *meta_check_owners(const struct change *c)
{
    const json_t *owners = json_at(c->after, "metadata", "ownerReferences", NULL);
    const json_t *controller = NULL;
    AUTO_FREE char *detail = NULL;

    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);

        if (!json_bool(owner, "controller", false))
            continue;
        if (!controller) {
            controller = owner;
            continue;
        }
        detail = mem_format("Only one reference can have Controller set to true. Found \"true\" in "
                            "references for %.253s and %.253s",
                            json_text(controller, "name"), json_text(owner, "name"));
        return field_forbidden(c, "metadata.ownerReferences", detail);
    }
    return NULL;
}

bool meta_has_finalizers(const struct change *c, const json_t *object)
{
    if (json_array_size(json_at(object, "metadata", "finalizers", NULL)) > 0)
        return true;
    return is_namespace(c->kind) &&
           json_array_size(json_at(object, "spec", "finalizers", NULL)) > 0;
}
