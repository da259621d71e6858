/* custom_path.c - JSONPaths: a list of steps, and the walk along them */

#include "kinds/custom/custom_path.h"

#include <ctype.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"

enum {
    STEPS_MAX = 64,
    TEXT_MAX = 1024
};

enum step_type {
    STEP_NAME,
    STEP_INDEX,
    STEP_SLICE,
    STEP_ALL,
    STEP_FILTER /* items whose value at `below` is, or is not, `value` */
};

/* A number of "[begin:end:stride]" that may be left out. */
struct path_bound {
    bool is_there;
    int64_t at;
};

struct step {
    enum step_type type;
    char *name;
    int64_t index;
    struct path_bound slice[3];
    struct custom_path *below;
    json_t *value; /* NULL: the value is there */
    bool is_not;
};

struct custom_path {
    VEC(struct step) steps;
};

struct path_reader {
    const char *text;
    const char *at;
    struct custom_path *path;
};

/* Recursive: filters hold paths, without filters. */
static struct err *parse_steps(struct path_reader *r, const char *end, bool has_filters);

static struct err *path_fault(const struct path_reader *r, const char *what)
{
    return err_new(ERR_INVALID, "%s at byte %zu", what, (size_t)(r->at - r->text) + 1);
}

static void add_name(struct path_reader *r, struct buf *name)
{
    vec_add(&r->path->steps,
            (struct step){.type = STEP_NAME, .name = mem_strdup(name->at ? name->at : "")});
}

/* ".name", with "\." for a dot in it. */
static struct err *parse_name(struct path_reader *r, const char *end)
{
    AUTO(buf_done) struct buf name = {.cap = TEXT_MAX + 1};

    while (*r->at && r->at < end && *r->at != '.' && *r->at != '[') {
        if (*r->at == '\\' && r->at[1])
            r->at++;
        else if (isspace((unsigned char)*r->at) || strchr("{}()?@'\"", *r->at))
            return path_fault(r, "want a name");
        buf_add_char(&name, *r->at++);
    }
    if (name.size == 0)
        return path_fault(r, "want a name");
    add_name(r, &name);
    return NULL;
}

static struct err *parse_quoted(struct path_reader *r, char quote, struct buf *ret)
{
    while (*r->at && *r->at != quote) {
        if (*r->at == '\\' && r->at[1])
            r->at++;
        buf_add_char(ret, *r->at++);
    }
    if (*r->at != quote)
        return path_fault(r, "the text does not end");
    r->at++;
    return NULL;
}

static void skip_space(struct path_reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

/* The literal behind == or !=. */
static struct err *parse_literal(struct path_reader *r, json_t **ret)
{
    AUTO(buf_done) struct buf text = {.cap = TEXT_MAX + 1};
    struct err *e;

    if (*r->at == '"' || *r->at == '\'') {
        char quote = *r->at++;

        TRY(parse_quoted(r, quote, &text));
        *ret = json_text_new(text.at ? text.at : "");
        if (json_is_null(*ret)) {
            json_decref(*ret);
            *ret = json_string("");
        }
        return NULL;
    }
    while (*r->at && !strchr(") ", *r->at))
        buf_add_char(&text, *r->at++);
    e = json_parse(str_of(text.at ? text.at : ""), ret);
    if (!e)
        return NULL;
    err_free(e);
    return path_fault(r, "want a text or a number");
}

/* Behind "[?(". */
static struct err *parse_filter(struct path_reader *r)
{
    struct step step = {.type = STEP_FILTER, .below = mem_alloc(sizeof(*step.below))};
    struct custom_path *outer = r->path;
    const char *end;
    struct err *e = NULL;

    vec_add(&outer->steps, step);
    skip_space(r);
    if (*r->at != '@')
        return path_fault(r, "want \"@\"");
    r->at++;
    end = r->at + strcspn(r->at, "=! )");
    r->path = step.below;
    e = parse_steps(r, end, false);
    r->path = outer;
    if (e)
        return e;
    skip_space(r);
    if (*r->at == '=' || *r->at == '!') {
        step.is_not = *r->at == '!';
        if (r->at[1] != '=')
            return path_fault(r, "want == or !=");
        r->at += 2;
        skip_space(r);
        TRY(parse_literal(r, &step.value));
    }
    outer->steps.at[outer->steps.n - 1] = step;
    skip_space(r);
    if (strncmp(r->at, ")]", 2) != 0)
        return path_fault(r, "want \")]\"");
    r->at += 2;
    return NULL;
}

static struct err *parse_number(struct path_reader *r, int64_t *ret)
{
    const char *begin = r->at;
    AUTO(err_freep) struct err *e = NULL;

    while (*r->at == '-' || isdigit((unsigned char)*r->at))
        r->at++;
    e = num_parse_int64((struct str){begin, (size_t)(r->at - begin)}, INT32_MIN, INT32_MAX, ret);
    return e ? path_fault(r, "want an index, a slice, \"*\", a quoted name or a filter") : NULL;
}

/* "2", or "begin:end" or "begin:end:stride" with any of the numbers left out. */
static struct err *parse_index(struct path_reader *r)
{
    struct step step = {.type = STEP_INDEX};
    size_t n = 0;

    for (;; n++) {
        if (*r->at != ':' && !(n > 0 && *r->at == ']')) {
            TRY(parse_number(r, &step.slice[n].at));
            step.slice[n].is_there = true;
        }
        if (n == 2 && step.slice[2].at < 0)
            return path_fault(r, "want a stride above 0");
        if (n == 2 || *r->at != ':')
            break;
        r->at++;
        step.type = STEP_SLICE;
    }
    step.index = step.slice[0].at;
    vec_add(&r->path->steps, step);
    return NULL;
}

/* Behind "[". */
static struct err *parse_bracket(struct path_reader *r, bool has_filters)
{
    AUTO(buf_done) struct buf name = {.cap = TEXT_MAX + 1};

    if (has_filters && strncmp(r->at, "?(", 2) == 0) {
        r->at += 2;
        return parse_filter(r);
    }
    if (*r->at == '\'' || *r->at == '"') {
        char quote = *r->at++;

        TRY(parse_quoted(r, quote, &name));
        add_name(r, &name);
    } else if (*r->at == '*') {
        r->at++;
        vec_add(&r->path->steps, (struct step){.type = STEP_ALL});
    } else {
        TRY(parse_index(r));
    }
    if (*r->at != ']')
        return path_fault(r, "want \"]\"");
    r->at++;
    return NULL;
}

static struct err *parse_steps(struct path_reader *r, const char *end, bool has_filters)
{
    while (*r->at && r->at < end) {
        if (r->path->steps.n == STEPS_MAX)
            return path_fault(r, "the path has more than 64 parts");
        if (*r->at == '[') {
            r->at++;
            TRY(parse_bracket(r, has_filters));
        } else if (*r->at == '.') {
            r->at++;
            if (*r->at == '.')
                return path_fault(r, "\"..\" is not implemented by mete");
            if (*r->at != '[')
                TRY(parse_name(r, end));
        } else {
            return path_fault(r, "want \".\" or \"[\"");
        }
    }
    return NULL;
}

struct err *custom_path_parse(const char *text, struct custom_path **ret)
{
    struct path_reader r = {.text = text, .at = text};
    struct err *e;

    if (strlen(text) > TEXT_MAX)
        return err_new(ERR_INVALID, "the path has %zu bytes, at most %d", strlen(text), TEXT_MAX);
    r.path = mem_alloc(sizeof(*r.path));
    e = parse_steps(&r, text + strlen(text), true);
    if (e) {
        custom_path_free(r.path);
        return e;
    }
    *ret = r.path;
    return NULL;
}

void custom_path_free(struct custom_path *p)
{
    if (!p)
        return;
    VEC_EACH (&p->steps, step) {
        free(step->name);
        custom_path_free(step->below);
        json_decref(step->value);
    }
    vec_done(&p->steps);
    free(p);
}

bool custom_path_is_plain(const struct custom_path *p)
{
    VEC_EACH (&p->steps, step)
        if (step->type != STEP_NAME)
            return false;
    return p->steps.n > 0;
}

/* ---- the walk ---- */

/* As kubectl: a bound outside of the list, and a stride of 0, give nothing. */
static bool slice_bounds(const struct path_bound slice[3], int64_t n, int64_t ret[3])
{
    ret[0] = slice[0].at + (slice[0].at < 0 ? n : 0);
    ret[1] = slice[1].is_there ? slice[1].at + (slice[1].at < 0 ? n : 0) : n;
    ret[2] = slice[2].is_there ? slice[2].at : 1;
    return ret[0] >= 0 && ret[0] < ret[1] && ret[1] <= n && ret[2] > 0;
}

/* Recursive along the steps; of several values the first one. */
static json_t *find(const struct custom_path *p, size_t i, json_t *at);

static json_t *find_in_slice(const struct custom_path *p, size_t i, json_t *at)
{
    int64_t bounds[3];
    json_t *found = NULL;

    if (!slice_bounds(p->steps.at[i].slice, (int64_t)json_array_size(at), bounds))
        return NULL;
    for (int64_t j = bounds[0]; j < bounds[1] && !found; j += bounds[2])
        found = find(p, i + 1, json_array_get(at, (size_t)j));
    return found;
}

static json_t *find(const struct custom_path *p, size_t i, json_t *at)
{
    const struct step *step;
    json_t *found = NULL;
    size_t n = json_array_size(at);

    if (!at || i == p->steps.n)
        return at;
    step = &p->steps.at[i];
    switch (step->type) {
    case STEP_NAME:
        return find(p, i + 1, json_object_get(at, step->name));
    case STEP_INDEX:
        if (step->index < 0 && (size_t)-step->index > n)
            return NULL;
        return find(
            p, i + 1,
            json_array_get(at, step->index < 0 ? n - (size_t)-step->index : (size_t)step->index));
    case STEP_SLICE:
        return find_in_slice(p, i, at);
    case STEP_ALL:
        for (size_t j = 0; j < n && !found; j++)
            found = find(p, i + 1, json_array_get(at, j));
        return found;
    case STEP_FILTER:
        for (size_t j = 0; j < n && !found; j++) {
            json_t *item = json_array_get(at, j);
            const json_t *value = find(step->below, 0, item);
            bool is_equal = step->value ? value && json_equal(value, step->value) : value != NULL;

            if (is_equal != step->is_not)
                found = find(p, i + 1, item);
        }
        return found;
    }
    return NULL;
}

json_t *custom_path_find(const struct custom_path *p, const json_t *object)
{
    return find(p, 0, (json_t *)(uintptr_t)object);
}

void custom_path_put(const struct custom_path *p, json_t *object, json_t *value)
{
    json_t *at = object;

    for (size_t i = 0; i + 1 < p->steps.n; i++)
        at = json_object_at(at, p->steps.at[i].name);
    json_put(at, p->steps.at[p->steps.n - 1].name, value);
}
