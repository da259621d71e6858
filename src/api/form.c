/* form.c - objects, tables and metadata in replies */

#include "api/form.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/object/objects.h"
#include "kinds/slurm/slurm_hide.h"
#include "kinds/slurm/slurm_job.h"

static bool form_may_be_slurm(const struct kind *k)
{
    return text_equal(k->plural, "pods") || text_equal(k->plural, "slurmjobs");
}

struct err *form_parse(const struct call *c, struct form *ret)
{
    const char *include = query_get(&c->query, "includeObject");
    struct form f = {.as = c->as, .kind = c->kind, .include = "Metadata"};

    if (include && *include) {
        if (!text_equal(include, "None") && !text_equal(include, "Metadata") &&
            !text_equal(include, "Object"))
            return err_new(
                ERR_BAD_REQUEST,
                "includeObject: unsupported value '%.32s': want None, Metadata or Object", include);
        (void)memcpy(f.include, include, strlen(include) + 1);
    }
    if (!c->who.is_admin && !c->who.node && form_may_be_slurm(c->kind))
        f.reader = mem_strdup(c->who.user);
    *ret = f;
    return NULL;
}

void form_done(struct form *f)
{
    free(f->reader);
    *f = (struct form){0};
}

static void add_json(const json_t *json, struct buf *b)
{
    AUTO_FREE char *text = json_format(json);

    buf_add_text(b, text);
}

/* The object in the API version of the form, without what the reader may not read. New reference.
 */
static json_t *in_version(const struct form *f, const json_t *tree)
{
    json_t *own;

    if (f->reader && slurm_is_of_another(tree, f->reader))
        return slurm_hide(tree);
    if (kind_reads_tree(f->kind, tree))
        return json_incref((json_t *)(uintptr_t)tree);
    own = json_deep_copy(tree);
    kind_from_kept(f->kind, own);
    return own;
}

static json_t *table_of(const struct form *f, struct core *core, const json_t *trees,
                        int64_t revision)
{
    AUTO(json_freep) json_t *own = json_array();

    for (size_t i = 0; i < json_array_size(trees); i++)
        (void)json_array_append_new(own, in_version(f, json_array_get(trees, i))); /* not NULL */
    return table_format(f->kind, own, revision, f->include, loop_wall_ns(core_loop(core)));
}

json_t *form_metadata(const json_t *tree)
{
    json_t *out = json_object();

    json_put_text(out, "kind", "PartialObjectMetadata");
    json_put_text(out, "apiVersion", "meta.k8s.io/v1");
    json_object_set(out, "metadata", json_object_get(tree, "metadata"));
    return out;
}

static int64_t version_of(const json_t *tree)
{
    const char *text = json_text_at(tree, "metadata", "resourceVersion", NULL);
    int64_t version = 0;

    for (; text && *text >= '0' && *text <= '9' && version < INT64_MAX / 10; text++)
        version = version * 10 + (*text - '0');
    return version;
}

void form_add_tree(const struct form *f, struct core *core, const json_t *tree, struct buf *b)
{
    AUTO(json_freep) json_t *out = NULL;

    if (f->as == AS_TABLE) {
        AUTO(json_freep) json_t *trees = json_array();

        json_array_append(trees, (json_t *)(uintptr_t)tree);
        out = table_of(f, core, trees, version_of(tree));
    } else if (f->as == AS_METADATA) {
        AUTO(json_freep) json_t *own = in_version(f, tree);

        out = form_metadata(own);
    } else {
        out = in_version(f, tree);
    }
    add_json(out, b);
}

/* May the stored text go out as it is? Only the pods of Slurm jobs have the label. */
static bool form_is_text(const struct form *f, const struct store_object *o)
{
    static const char label[] = "\"" SLURM_JOB_LABEL "\"";

    if (f->as != AS_OBJECT || !kind_reads_as_stored(f->kind, o->bytes, o->version))
        return false;
    return !f->reader || (text_equal(f->kind->plural, "pods") &&
                          !memmem(o->bytes.at, o->bytes.size, label, sizeof(label) - 1));
}

void form_add_object(const struct form *f, struct core *core, const struct store_object *o,
                     int64_t version, struct buf *b)
{
    AUTO(json_freep) json_t *tree = NULL;
    struct store_object as = *o;

    if (version > 0)
        as.version = version;
    if (form_is_text(f, o)) {
        objects_format(&as, b);
        return;
    }
    tree = core_tree(core, o);
    if (as.version != o->version) {
        json_t *own = json_deep_copy(tree);
        AUTO_FREE char *text = mem_format("%" PRId64, as.version);

        json_decref(tree);
        tree = own;
        json_put_text(json_object_at(tree, "metadata"), "resourceVersion", text);
    }
    form_add_tree(f, core, tree, b);
}

json_t *form_rows(const struct form *f, struct core *core, const json_t *trees)
{
    AUTO(json_freep) json_t *table = table_of(f, core, trees, 0);

    return json_incref(json_array_at(table, "rows"));
}

json_t *form_columns(const struct form *f, struct core *core)
{
    AUTO(json_freep) json_t *none = json_array();
    AUTO(json_freep) json_t *table = table_of(f, core, none, 0);

    return json_incref(json_array_at(table, "columnDefinitions"));
}
