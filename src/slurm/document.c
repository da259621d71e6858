/* document.c - documents around rows, and the forms of their members */

#include "slurm/document.h"

#include "base/mem.h"
#include "base/yaml.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/slurm_tres.h"

json_t *slurm_number(bool is_set, int64_t n)
{
    json_t *j = json_object();

    json_put_bool(j, "set", is_set && n >= 0);
    json_put_bool(j, "infinite", is_set && n < 0);
    json_put_int(j, "number", is_set && n >= 0 ? n : 0);
    return j;
}

/* "0.5" as {"set", "infinite", "number"}. */
static json_t *factor_new(const char *text)
{
    json_t *j = slurm_number(false, 0);
    int64_t micro = 0;
    AUTO(err_freep) struct err *e = text ? slurm_factor_parse(text, &micro) : NULL;

    if (!text || e)
        return j;
    json_put_bool(j, "set", true);
    json_put(j, "number", json_real((double)micro / 1e6));
    return j;
}

json_t *slurm_words_array(const char *text)
{
    json_t *words = json_array();
    struct str rest = str_of(text);

    while (rest.at) {
        struct str word = str_cut(&rest, ',');

        if (word.size > 0)
            (void)json_array_append_new(words, json_stringn(word.at, word.size));
    }
    return words;
}

/* ---- resources ---- */

int64_t slurm_tres_id(const char *name)
{
    static const char *const names[] = {"cpu",     "mem",     "energy", "node",
                                        "billing", "fs/disk", "vmem",   "pages"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (text_equal(names[i], name))
            return (int64_t)i + 1;
    return text_equal(name, "gres/gpu") ? 1001 : 1002;
}

static json_t *tres_new(const struct slurm_tres_item *item)
{
    const char *slash = strchr(item->name, '/');
    AUTO_FREE char *type =
        mem_strndup(item->name, slash ? (size_t)(slash - item->name) : strlen(item->name));
    json_t *tres = json_object();

    json_put_text(tres, "type", type);
    json_put_text(tres, "name", slash ? slash + 1 : "");
    json_put_int(tres, "id", slurm_tres_id(item->name));
    json_put_int(tres, "count", item->count);
    return tres;
}

json_t *slurm_tres_array(const char *text)
{
    json_t *all = json_array();
    struct slurm_tres list = {0};
    AUTO(err_freep) struct err *e = slurm_tres_parse(str_of(text_or_empty(text)), &list);

    for (size_t i = 0; !e && i < list.items.n; i++)
        (void)json_array_append_new(all, tres_new(&list.items.at[i]));
    slurm_tres_done(&list);
    return all;
}

/* ---- members ---- */

void member_put(json_t *to, const char *path, json_t *value)
{
    struct str rest = str_of(path);

    for (;;) {
        struct str part = str_cut(&rest, '/');
        AUTO_FREE char *name = mem_strndup(part.at, part.size);

        if (!rest.at) {
            json_put(to, name, value);
            return;
        }
        to = json_object_at(to, name);
    }
}

static json_t *member_new(const json_t *row, const struct member *m)
{
    const json_t *value = m->key ? json_object_get(row, m->key) : NULL;
    const char *text = json_string_value(value);

    switch (m->form) {
    case MEMBER_TEXT:
        return json_string(text_or_empty(text));
    case MEMBER_CONSTANT:
        return json_string(m->key);
    case MEMBER_NUMBER:
        return json_integer(json_integer_value(value));
    case MEMBER_VALUE:
        return slurm_number(json_is_integer(value), json_integer_value(value));
    case MEMBER_FACTOR:
        return factor_new(text);
    case MEMBER_BOOL:
        return json_boolean(json_is_true(value));
    case MEMBER_WORDS:
        return json_is_array(value) ? json_deep_copy(value) : slurm_words_array(text);
    case MEMBER_LIST:
        return json_is_array(value) ? json_deep_copy(value) : json_array();
    case MEMBER_TRES:
        break;
    }
    return slurm_tres_array(text);
}

void members_put(json_t *to, const json_t *row, const struct member *members)
{
    for (const struct member *m = members; m->path; m++)
        member_put(to, m->path, member_new(row, m));
}

/* ---- documents ---- */

static json_t *meta_new(void)
{
    json_t *meta = json_object();
    json_t *slurm = json_object_at(meta, "slurm");
    json_t *version = json_object_at(slurm, "version");
    struct str rest = STR(SLURM_VERSION);
    static const char *const parts[] = {"major", "minor", "micro"};

    for (size_t i = 0; i < COUNT(parts); i++) {
        struct str part = str_cut(&rest, '.');

        json_put(version, parts[i], json_stringn(part.at, part.size));
    }
    json_put_text(slurm, "release", SLURM_VERSION);
    json_put_text(slurm, "cluster", "mete");
    return meta;
}

json_t *slurm_document_new(const char *member, json_t *value)
{
    json_t *document = json_object();

    json_put(document, member, value);
    json_put(document, "meta", meta_new());
    json_put(document, "errors", json_array());
    json_put(document, "warnings", json_array());
    return document;
}

void slurm_document_add(const json_t *document, bool is_yaml, struct buf *out)
{
    AUTO_FREE char *text = is_yaml ? yaml_format(document) : json_format_pretty(document);

    buf_add_text(out, text);
    if (!text_ends_with(text, "\n"))
        buf_add_char(out, '\n');
}
