/*
 * yaml.c - libyaml's events into jansson trees
 *
 * Aliases are copied, within bounds, so that trees share nothing.
 */

#include "base/yaml.h"

#include <assert.h>
#include <inttypes.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/yaml_scalar.h"

enum {
    ALIAS_USES_MAX = 1000,
    ALIAS_COST_MAX = 16 << 20
};

struct yaml_reader {
    const char *name;
    struct str text;
    yaml_parser_t parser;
    json_t *anchors; /* of the document: tree by name */
    unsigned depth;
    unsigned alias_uses;
    size_t alias_cost;
};

static void reader_done(struct yaml_reader *r)
{
    yaml_parser_delete(&r->parser);
    json_decref(r->anchors);
}

static struct err *yaml_fail(const struct yaml_reader *r, yaml_mark_t at, const char *fmt, ...)
    PRINTF(3, 4);

static struct err *yaml_fail(const struct yaml_reader *r, yaml_mark_t at, const char *fmt, ...)
{
    AUTO_FREE char *message = NULL;
    va_list ap;

    va_start(ap, fmt);
    message = mem_vformat(fmt, ap);
    va_end(ap);
    return err_new(ERR_BAD_REQUEST, "%s:%zu:%zu: %s", r->name, at.line + 1, at.column + 1, message);
}

static struct err *parser_failure(const struct yaml_reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "not YAML";
    yaml_mark_t at = p->problem_mark;

    if (p->error == YAML_READER_ERROR) { /* this error has an offset, no mark */
        at = (yaml_mark_t){0};
        for (size_t i = 0; i < p->problem_offset && i < r->text.size; i++) {
            at.line += r->text.at[i] == '\n';
            at.column = r->text.at[i] == '\n' ? 0 : at.column + 1;
        }
    }
    if (p->context && p->context_mark.line != at.line)
        return yaml_fail(r, at, "%s (%s at line %zu)", problem, p->context,
                         p->context_mark.line + 1);
    return yaml_fail(r, at, "%s", problem);
}

static struct err *next_event(struct yaml_reader *r, yaml_event_t *ret)
{
    yaml_event_delete(ret);
    *ret = (yaml_event_t){0};
    if (!yaml_parser_parse(&r->parser, ret))
        return parser_failure(r);
    return NULL;
}

static struct err *read_node(struct yaml_reader *r, const yaml_event_t *event, json_t **ret);

/* The meaning that a tag asks for; IS_TEXT also for tags of text. */
static bool find_tag(const char *tag, enum meaning *ret)
{
    static const struct {
        const char *tag;
        enum meaning meaning;
    } tags[] = {
        {"!", IS_TEXT},
        {YAML_STR_TAG, IS_TEXT},
        {YAML_TIMESTAMP_TAG, IS_TEXT},
        {YAML_NULL_TAG, IS_NULL},
        {YAML_BOOL_TAG, IS_BOOL},
        {YAML_INT_TAG, IS_INT},
        {YAML_FLOAT_TAG, IS_REAL},
    };

    for (size_t i = 0; i < COUNT(tags); i++) {
        if (!text_equal(tag, tags[i].tag))
            continue;
        *ret = tags[i].meaning;
        return true;
    }
    return false;
}

static struct err *scalar_meaning(const struct yaml_reader *r, const yaml_event_t *event,
                                  struct scalar *ret)
{
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    enum meaning want = IS_TEXT;

    *ret = (struct scalar){.meaning = IS_TEXT};
    if (!tag) {
        if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
            *ret = yaml_resolve(text);
        return NULL;
    }
    if (!find_tag(tag, &want))
        return yaml_fail(r, event->start_mark, "tag '%s' is not supported", tag);
    if (want == IS_TEXT)
        return NULL;
    *ret = yaml_resolve(text);
    if (want != ret->meaning && !(want == IS_REAL && ret->meaning == IS_INT))
        return yaml_fail(r, event->start_mark, "'%s' does not match its tag '%s'", text, tag);
    return NULL;
}

static struct err *read_scalar(const struct yaml_reader *r, const yaml_event_t *event, json_t **ret)
{
    const char *text = (const char *)event->data.scalar.value;
    struct scalar is = {0};

    if (memchr(text, '\0', event->data.scalar.length))
        return yaml_fail(r, event->start_mark, "a NUL byte in text");
    TRY(scalar_meaning(r, event, &is));
    switch (is.meaning) {
    case IS_NULL:
        *ret = json_null();
        break;
    case IS_BOOL:
        *ret = json_boolean(is.truth);
        break;
    case IS_INT:
        *ret = json_integer(is.number);
        break;
    case IS_REAL:
        *ret = json_real(is.real);
        break;
    case IS_BIG_INT:
        return yaml_fail(r, event->start_mark, "integer '%s' is over %" PRId64, text, INT64_MAX);
    case IS_NOT_FINITE:
        return yaml_fail(r, event->start_mark, "JSON cannot represent '%s'", text);
    case IS_TEXT:
    default:
        *ret = json_string(text);
        break;
    }
    assert(*ret); /* libyaml lets only UTF-8 through */
    return NULL;
}

/* The cost of a copy of `j`, about its bytes, and the depth of `j`. */
static size_t copy_cost(json_t *j, unsigned depth, unsigned *ret_depth)
{
    size_t cost = 64 + json_string_length(j);
    const char *key;
    json_t *value;
    size_t i;

    *ret_depth = depth > *ret_depth ? depth : *ret_depth;
    json_object_foreach (j, key, value)
        cost += strlen(key) + copy_cost(value, depth + 1, ret_depth);
    json_array_foreach (j, i, value)
        cost += copy_cost(value, depth + 1, ret_depth);
    return cost;
}

static struct err *read_alias(struct yaml_reader *r, const yaml_event_t *event, json_t **ret)
{
    const char *anchor = (const char *)event->data.alias.anchor;
    json_t *target = json_object_get(r->anchors, anchor);
    unsigned depth = 0;

    if (!target)
        return yaml_fail(r, event->start_mark, "unknown anchor '%s'", anchor);
    r->alias_cost += copy_cost(target, 0, &depth);
    if (++r->alias_uses > ALIAS_USES_MAX || r->alias_cost > ALIAS_COST_MAX)
        return yaml_fail(r, event->start_mark, "expanded aliases are too large");
    if (r->depth + depth > JSON_DEPTH_MAX)
        return yaml_fail(r, event->start_mark, "nested deeper than %u", JSON_DEPTH_MAX);
    *ret = json_deep_copy(target);
    assert(*ret);
    return NULL;
}

static struct err *read_sequence(struct yaml_reader *r, json_t **ret)
{
    AUTO(json_freep) json_t *array = json_array();
    AUTO(yaml_event_delete) yaml_event_t event = {0};

    TRY(next_event(r, &event));
    while (event.type != YAML_SEQUENCE_END_EVENT) {
        json_t *item = NULL;

        TRY(read_node(r, &event, &item));
        (void)json_array_append_new(array, item); /* a fresh array takes any value */
        TRY(next_event(r, &event));
    }
    *ret = TAKE(array);
    return NULL;
}

/* Keys are text in JSON: numbers and booleans become their JSON text. */
static struct err *read_key(struct yaml_reader *r, const yaml_event_t *event, char **ret)
{
    AUTO(json_freep) json_t *key = NULL;

    TRY(read_node(r, event, &key));
    if (json_is_object(key) || json_is_array(key) || json_is_null(key))
        return yaml_fail(r, event->start_mark, "a key must be text, a number or a boolean");
    *ret = json_is_string(key) ? mem_strdup(json_string_value(key)) : json_format(key);
    return NULL;
}

static bool is_merge_key(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT &&
           event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!event->data.scalar.tag ||
            text_equal((const char *)event->data.scalar.tag, "tag:yaml.org,2002:merge")) &&
           text_equal((const char *)event->data.scalar.value, "<<");
}

/* Reads the value of "<<", a mapping or a list of mappings, and appends it to `merges`. */
static struct err *read_merge(struct yaml_reader *r, json_t *merges)
{
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    AUTO(json_freep) json_t *value = NULL;
    json_t *item;
    size_t i;

    TRY(next_event(r, &event));
    TRY(read_node(r, &event, &value));
    if (json_is_object(value)) {
        (void)json_array_append(merges, value);
        return NULL;
    }
    if (!json_is_array(value))
        return yaml_fail(r, event.start_mark, "'<<' wants a mapping or a list of mappings");
    json_array_foreach (value, i, item) {
        if (!json_is_object(item))
            return yaml_fail(r, event.start_mark, "'<<' wants a mapping or a list of mappings");
        (void)json_array_append(merges, item);
    }
    return NULL;
}

static struct err *read_pair(struct yaml_reader *r, const yaml_event_t *key_event, json_t *object)
{
    AUTO_FREE char *key = NULL;
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    json_t *value = NULL;

    TRY(read_key(r, key_event, &key));
    if (json_object_get(object, key))
        return yaml_fail(r, key_event->start_mark, "duplicate key '%s'", key);
    TRY(next_event(r, &event));
    TRY(read_node(r, &event, &value));
    json_put(object, key, value);
    return NULL;
}

/* The mapping's own keys win over merged ones, earlier merged mappings over later ones. */
static struct err *read_mapping(struct yaml_reader *r, json_t **ret)
{
    AUTO(json_freep) json_t *object = json_object();
    AUTO(json_freep) json_t *merges = json_array();
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    json_t *merge;
    size_t i;

    TRY(next_event(r, &event));
    while (event.type != YAML_MAPPING_END_EVENT) {
        if (is_merge_key(&event))
            TRY(read_merge(r, merges));
        else
            TRY(read_pair(r, &event, object));
        TRY(next_event(r, &event));
    }
    json_array_foreach (merges, i, merge)
        (void)json_object_update_missing(object, merge); /* both are objects */
    *ret = TAKE(object);
    return NULL;
}

static struct err *read_collection(struct yaml_reader *r, const yaml_event_t *event, json_t **ret)
{
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    const char *tag =
        (const char *)(is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag);

    if (tag && !text_equal(tag, is_mapping ? YAML_MAP_TAG : YAML_SEQ_TAG))
        return yaml_fail(r, event->start_mark, "tag '%s' is not supported", tag);
    if (r->depth >= JSON_DEPTH_MAX)
        return yaml_fail(r, event->start_mark, "nested deeper than %u", JSON_DEPTH_MAX);
    r->depth++;
    TRY(is_mapping ? read_mapping(r, ret) : read_sequence(r, ret));
    r->depth--;
    return NULL;
}

/* `event` starts the node. An anchor is registered after its node is complete, so that no node
 * contains itself. */
static struct err *read_node(struct yaml_reader *r, const yaml_event_t *event, json_t **ret)
{
    const yaml_char_t *anchor = NULL;

    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(r, event, ret);
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        TRY(read_scalar(r, event, ret));
    } else {
        anchor = event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
                                                         : event->data.sequence_start.anchor;
        TRY(read_collection(r, event, ret));
    }
    if (anchor)
        (void)json_object_set(r->anchors, (const char *)anchor, *ret); /* alphanumeric */
    return NULL;
}

/* Reads from behind the start of a document to its end. */
static struct err *read_document(struct yaml_reader *r, json_t *documents)
{
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    json_t *root = NULL;

    (void)json_object_clear(r->anchors);
    TRY(next_event(r, &event));
    TRY(read_node(r, &event, &root));
    if (json_is_null(root))
        json_decref(root);
    else
        (void)json_array_append_new(documents, root); /* a fresh array takes any value */
    return next_event(r, &event);
}

struct err *yaml_parse(const char *name, struct str text, json_t **ret_documents)
{
    AUTO(reader_done) struct yaml_reader r = {.name = name, .text = text};
    AUTO(json_freep) json_t *documents = json_array();
    AUTO(yaml_event_delete) yaml_event_t event = {0};
    int initialized = yaml_parser_initialize(&r.parser);

    assert(initialized);
    (void)initialized;
    r.anchors = json_object();
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.at ? text.at : ""),
                                 text.size);
    while (event.type != YAML_STREAM_END_EVENT) {
        TRY(next_event(&r, &event));
        if (event.type == YAML_DOCUMENT_START_EVENT)
            TRY(read_document(&r, documents));
    }
    *ret_documents = TAKE(documents);
    return NULL;
}
