/* containerd_conf.c - Mete's drop-in for containerd, and its import */

#include "node/cri/containerd_conf.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "node/cri/toml_text.h"

/* The section of the CRI plugin that runs containers. */
static const char *section_of(int version)
{
    return version == 3 ? "\"plugins\".\"io.containerd.cri.v1.runtime\""
                        : "\"plugins\".\"io.containerd.grpc.v1.cri\"";
}

struct err *containerd_conf_version(struct str text, int *ret)
{
    struct toml_piece p = {0};
    int64_t version = 0;

    TRY(toml_find(text, "", "version", &p));
    if (p.kind == TOML_END) {
        *ret = 0;
        return NULL;
    }
    TRY(num_parse_int64(p.value, 0, INT32_MAX, &version));
    if (version != 2 && version != 3)
        return err_new(ERR_INVALID,
                       "version = %d: want 2 or 3: `containerd config migrate` writes an old file "
                       "anew",
                       (int)version);
    *ret = (int)version;
    return NULL;
}

struct err *containerd_conf_has_section(struct str text, int version, bool *ret)
{
    return toml_has(text, section_of(version), ret);
}

/* The name of the default handler. The caller frees it. */
static struct err *default_handler(const struct containerd_conf *c, char **ret)
{
    AUTO_FREE char *table = mem_format("%s.\"containerd\"", section_of(c->version));
    struct toml_piece p = {0};
    char *name = NULL;

    TRY(toml_find(c->base, table, "default_runtime_name", &p));
    if (p.kind != TOML_END)
        name = toml_text(p.value);
    *ret = name ? name : mem_strdup("runc");
    return NULL;
}

static struct err *add_handler(const struct containerd_conf *c, struct buf *out)
{
    AUTO_FREE char *to =
        mem_format("%s.\"containerd\".\"runtimes\".\"nvidia\"", section_of(c->version));
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *from = NULL;
    bool is_there = false;

    TRY(default_handler(c, &name));
    from = mem_format("%s.\"containerd\".\"runtimes\".\"%s\"", section_of(c->version), name);
    TRY(toml_has(c->base, from, &is_there));
    buf_printf(out, "\n# As %s: containers get their GPUs by CDI.\n[%s]\n", name, to);
    if (!is_there)
        buf_add_text(out, "runtime_type = \"io.containerd.runc.v2\"\n");
    TRY(toml_copy(c->base, &(struct toml_copy){.from = from, .to = to}, out));
    return toml_copy(c->base, &(struct toml_copy){.from = from, .to = to, .is_deep = true}, out);
}

struct err *containerd_conf_make(const struct containerd_conf *c, char **ret)
{
    const char *section = section_of(c->version);
    AUTO_FREE char *nvidia = mem_format("%s.\"containerd\".\"runtimes\".\"nvidia\"", section);
    AUTO(buf_done) struct buf out = {0};
    bool has_nvidia = false;

    buf_printf(&out,
               "# Made by `mete kube runtime configure containerd`; `mete kube runtime unconfigure "
               "containerd` takes it back.\n# It repeats the section of the files before it: "
               "containerd 1.x takes a section from one file alone.\nversion = %d\n\n[%s]\n",
               c->version, section);
    TRY(toml_copy(c->base,
                  &(struct toml_copy){.from = section, .to = section, .without = "enable_cdi"},
                  &out));
    buf_add_text(&out, "enable_cdi = true\n");
    TRY(toml_copy(c->base, &(struct toml_copy){.from = section, .to = section, .is_deep = true},
                  &out));
    TRY(toml_has(c->base, nvidia, &has_nvidia));
    if (c->has_handler && !has_nvidia)
        TRY(add_handler(c, &out));
    *ret = buf_steal(&out);
    return NULL;
}

/* ---- imports ---- */

/* Calls for each text of an array: "a", 'b'. */
struct array_reader {
    struct str rest;
};

static char *array_next(struct array_reader *r)
{
    while (r->rest.size > 0) {
        char c = r->rest.at[0];
        const char *end = NULL;
        char *text;

        if (c == '#')
            end = memchr(r->rest.at, '\n', r->rest.size);
        else if (c == '"' || c == '\'')
            end = memchr(r->rest.at + 1, c, r->rest.size - 1);
        else
            end = r->rest.at;
        if (!end)
            return NULL;
        text = c == '"' || c == '\'' ? mem_strndup(r->rest.at + 1, (size_t)(end - r->rest.at) - 1)
                                     : NULL;
        r->rest.size -= (size_t)(end - r->rest.at) + 1;
        r->rest.at = end + 1;
        if (text)
            return text;
    }
    return NULL;
}

/* Is the value an array of strings in single quotes or quotes without escapes, and no more? */
static bool is_paths(struct str value)
{
    if (value.size < 2 || value.at[0] != '[' || value.at[value.size - 1] != ']')
        return false;
    for (size_t i = 1; i + 1 < value.size; i++) {
        char c = value.at[i];
        const char *end = &value.at[i];

        if (c == '#')
            end = memchr(end, '\n', value.size - i);
        else if (c == '"' || c == '\'')
            end = memchr(end + 1, c, value.size - i - 1);
        else if (!strchr(" \t\r\n,", c))
            return false;
        if (!end)
            return false;
        i = (size_t)(end - value.at);
    }
    return !memchr(value.at, '\\', value.size);
}

static struct err *imports_find(struct str text, struct toml_piece *ret)
{
    TRY(toml_find(text, "", "imports", ret));
    if (ret->kind != TOML_END && !is_paths(ret->value))
        return err_new(ERR_INVALID, "imports: want an array of paths without backslashes");
    return NULL;
}

struct err *containerd_conf_imports(struct str text, char **ret)
{
    struct toml_piece p = {0};
    struct array_reader r = {0};
    struct buf out = {0};
    char *one;

    TRY(imports_find(text, &p));
    r.rest = p.value;
    while ((one = array_next(&r))) {
        buf_printf(&out, "%s\n", one);
        free(one);
    }
    *ret = buf_steal(&out);
    return NULL;
}

bool containerd_conf_matches(const char *pattern, const char *dir, const char *path)
{
    AUTO_FREE char *whole =
        pattern[0] == '/' ? mem_strdup(pattern) : mem_format("%s/%s", dir, pattern);
    const char *star = strchr(whole, '*');
    size_t head = star ? (size_t)(star - whole) : 0;

    if (!star)
        return text_equal(whole, path);
    return strlen(path) >= head + strlen(star + 1) && strncmp(path, whole, head) == 0 &&
           text_ends_with(path + head, star + 1) && !strchr(path + head, '/');
}

/* The position behind the last item of an array's text, and whether a comma stands there. */
static size_t array_end(struct str value, bool *ret_comma)
{
    size_t end = 1;

    *ret_comma = true; /* of an empty array */
    for (size_t i = 1; i + 1 < value.size; i++) {
        char c = value.at[i];

        if (c == '#') {
            const char *line = memchr(value.at + i, '\n', value.size - i);

            i = line ? (size_t)(line - value.at) : value.size;
        } else if (c == '"' || c == '\'') {
            const char *quote = memchr(value.at + i + 1, c, value.size - i - 1);

            i = quote ? (size_t)(quote - value.at) : value.size;
            end = i + 1;
            *ret_comma = false;
        } else if (c == ',') {
            end = i + 1;
            *ret_comma = true;
        }
    }
    return end;
}

struct err *containerd_conf_import(struct str text, const char *path, int version, char **ret)
{
    struct toml_piece p = {0};
    struct buf out = {0};
    size_t at = 0;
    bool has_comma = false;

    TRY(imports_find(text, &p));
    if (p.kind != TOML_END) {
        at = (size_t)(p.value.at - text.at) + array_end(p.value, &has_comma);
        buf_add(&out, text.at, at);
        buf_printf(&out, "%s\"%s\"", has_comma ? (p.value.at[1] == ']' ? "" : " ") : ", ", path);
    } else {
        TRY(toml_find(text, "", "version", &p));
        at = p.kind == TOML_END ? 0 : (size_t)(p.text.at - text.at) + p.text.size;
        buf_add(&out, text.at ? text.at : "", at);
        if (p.kind == TOML_END && version > 0)
            buf_printf(&out, "version = %d\n", version);
        else if (at > 0 && text.at[at - 1] != '\n')
            buf_add_char(&out, '\n');
        buf_printf(&out, "imports = [\"%s\"]\n", path);
    }
    buf_add(&out, text.at ? text.at + at : "", text.size - at);
    *ret = buf_steal(&out);
    return NULL;
}

struct err *containerd_conf_forget(struct str text, const char *path, char **ret)
{
    AUTO_FREE char *item = mem_format("\"%s\"", path);
    AUTO_FREE char *whole = mem_strndup(text.at ? text.at : "", text.size);
    AUTO_FREE char *value = NULL;
    struct toml_piece p = {0};
    struct buf out = {0};
    const char *there;
    size_t begin = 0;
    size_t end = 0;

    TRY(imports_find(text, &p));
    if (p.kind != TOML_END)
        value = mem_strndup(p.value.at, p.value.size);
    there = value ? strstr(value, item) : NULL;
    if (there) {
        begin = (size_t)(p.value.at - text.at) + (size_t)(there - value);
        end = begin + strlen(item);
        while (begin > 0 && (whole[begin - 1] == ' ' || whole[begin - 1] == ','))
            begin--;
        if (whole[begin - 1] == '[' && whole[end] == ',')
            end++;
    }
    buf_add(&out, whole, begin);
    buf_add_text(&out, whole + end);
    *ret = buf_steal(&out);
    return NULL;
}
