/* kind_limits.c - core/v1 LimitRange; admit_limits.c applies it to pods */

#include <inttypes.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/quota/quota_names.h"
#include "model/names.h"

__extension__ typedef __int128 wide;

enum {
    AMOUNTS_MAX = 64
};

#define F_AMOUNTS(name, text) F_MAP(name, &quantity_item, text, .items_max = AMOUNTS_MAX)

static const struct field limit_fields[] = {
    F_STRING("type", "Container, Pod or PersistentVolumeClaim.", .is_required = true,
             .size_max = 253),
    F_AMOUNTS("max", "Maximum of a request or limit."),
    F_AMOUNTS("min", "Minimum of a request or limit."),
    F_AMOUNTS("default", "Default limits of containers."),
    F_AMOUNTS("defaultRequest", "Default requests of containers."),
    F_AMOUNTS("maxLimitRequestRatio", "Maximum of limit / request."),
    F_END,
};
static const struct field limit_item = F_OBJECT(NULL, limit_fields, "Bounds for one type.");

static const struct field spec_fields[] = {
    F_LIST("limits", &limit_item, "Bounds, one entry a type.", .is_required = true,
           .items_max = 16),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The bounds.", .is_required = true),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the limit range."},
    {"Created At", "string", "", 0, "The time of creation."},
    {0},
};

static json_t *limits_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void limits_fill_missing(json_t *item, const char *from, const char *into)
{
    const char *name;
    json_t *value;

    json_object_foreach (json_object_get(item, from), name, value) {
        json_t *target = json_object_at(item, into);

        if (!json_object_get(target, name))
            json_put(target, name, json_incref(value));
    }
}

/* As SetDefaults_LimitRangeItem. */
static void limits_set_defaults(json_t *object, const struct kind_context *c)
{
    const json_t *list = json_at(object, "spec", "limits", NULL);

    (void)c;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);

        if (!text_equal(json_text(item, "type"), "Container"))
            continue;
        limits_fill_missing(item, "max", "default");
        limits_fill_missing(item, "default", "defaultRequest");
        limits_fill_missing(item, "min", "defaultRequest");
    }
}

static const char *const maps[] = {"max", "min", "default", "defaultRequest",
                                   "maxLimitRequestRatio"};
enum map {
    MAP_MAX,
    MAP_MIN,
    MAP_DEFAULT,
    MAP_REQUEST,
    MAP_RATIO,
    MAPS
};

static bool is_of_container(const char *name)
{
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (text_equal(names[i], name))
            return true;
    return text_starts_with(name, "hugepages-");
}

static void limits_validate_name(const char *type, const char *name, const struct path *at,
                                 struct causes *causes)
{
    struct err *e = name_check_qualified(name);
    bool is_claim = text_equal(type, "PersistentVolumeClaim");

    if (e)
        cause_take(causes, at, name, e);
    else if (!strchr(name, '/') && !is_of_container(name) &&
             !(is_claim && text_equal(name, "storage")))
        cause_invalid(causes, at, name,
                      is_claim ? "must be a standard resource type or fully qualified"
                               : "must be a standard resource for containers");
}

struct amounts {
    bool is_set[MAPS];
    struct quantity at[MAPS];
    char text[MAPS][QUANTITY_TEXT_SIZE];
};

static struct amounts limits_read_amounts(const json_t *item, const char *name)
{
    struct amounts a = {0};

    for (size_t m = 0; m < MAPS; m++) {
        const json_t *value = json_at(item, maps[m], name, NULL);

        a.is_set[m] = value != NULL;
        a.at[m] = quota_amount(value);
        quantity_format(a.at[m], a.text[m]);
    }
    return a;
}

struct look {
    const char *name; /* the resource's name */
    const struct amounts *amounts;
    const struct path *at; /* path of the item */
    struct causes *causes;
};

/* A pair of maps in order: if `low` exceeds `high`, the cause names the map `told_at` and shows the
 * value of `shown`, as in Kubernetes. */
struct order {
    enum map low;
    enum map high;
    enum map told_at;
    enum map shown;
    const char *low_word;
    const char *high_word;
};

static void limits_check_order(const struct look *l, const struct order *o)
{
    const struct amounts *a = l->amounts;
    AUTO_FREE char *detail = NULL;

    if (!a->is_set[o->low] || !a->is_set[o->high] || a->at[o->low].milli <= a->at[o->high].milli)
        return;
    detail = mem_format("%s value %s is greater than %s value %s", o->low_word, a->text[o->low],
                        o->high_word, a->text[o->high]);
    cause_invalid(l->causes, PATH_KEY(PATH(l->at, maps[o->told_at]), l->name), a->text[o->shown],
                  detail);
}

static const struct order orders[] = {
    {MAP_MIN, MAP_MAX, MAP_MIN, MAP_MIN, "min", "max"},
    {MAP_MIN, MAP_REQUEST, MAP_REQUEST, MAP_REQUEST, "min", "default request"},
    {MAP_REQUEST, MAP_MAX, MAP_REQUEST, MAP_REQUEST, "default request", "max"},
    {MAP_REQUEST, MAP_DEFAULT, MAP_REQUEST, MAP_REQUEST, "default request", "default limit"},
    {MAP_MIN, MAP_DEFAULT, MAP_DEFAULT, MAP_MIN, "min", "default"},
    {MAP_DEFAULT, MAP_MAX, MAP_DEFAULT, MAP_MAX, "default", "max"},
};

/* max/min with six decimals, as %f prints it. Heap. */
static char *format_ratio(int64_t max_milli, int64_t min_milli)
{
    wide scaled = ((wide)max_milli * 1000000 + min_milli / 2) / min_milli;

    return mem_format("%" PRId64 ".%06d", (int64_t)(scaled / 1000000), (int)(scaled % 1000000));
}

static void limits_check_ratio(const struct look *l)
{
    const struct amounts *a = l->amounts;
    const struct path *at = PATH_KEY(PATH(l->at, maps[MAP_RATIO]), l->name);
    int64_t ratio_milli = a->at[MAP_RATIO].milli;
    int64_t min_milli = a->at[MAP_MIN].milli;
    int64_t max_milli = a->at[MAP_MAX].milli;
    AUTO_FREE char *quotient = NULL;
    AUTO_FREE char *detail = NULL;

    if (!a->is_set[MAP_RATIO])
        return;
    if (ratio_milli < 1000) {
        detail = mem_format("ratio %s is less than 1", a->text[MAP_RATIO]);
        cause_invalid(l->causes, at, a->text[MAP_RATIO], detail);
        return;
    }
    if (!a->is_set[MAP_MIN] || !a->is_set[MAP_MAX] || min_milli <= 0 ||
        (wide)ratio_milli * min_milli <= (wide)max_milli * 1000)
        return;
    quotient = format_ratio(max_milli, min_milli);
    detail = mem_format("ratio %s is greater than max/min = %s", a->text[MAP_RATIO], quotient);
    cause_invalid(l->causes, at, a->text[MAP_RATIO], detail);
}

/* An extended resource, which cannot be overcommitted, has equal defaults for request and limit. */
static void limits_check_extended(const struct look *l)
{
    const struct amounts *a = l->amounts;
    AUTO_FREE char *detail = NULL;

    if (!strchr(l->name, '/') || !a->is_set[MAP_DEFAULT] || !a->is_set[MAP_REQUEST] ||
        a->at[MAP_DEFAULT].milli == a->at[MAP_REQUEST].milli)
        return;
    detail = mem_format("default value %s must equal to defaultRequest value %s in %s",
                        a->text[MAP_DEFAULT], a->text[MAP_REQUEST], l->name);
    cause_invalid(l->causes, PATH_KEY(PATH(l->at, maps[MAP_REQUEST]), l->name),
                  a->text[MAP_REQUEST], detail);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_amounts(const json_t *item, const struct path *at, struct causes *causes)
{
    VEC(const char *) names = {0};
    const char *name;
    json_t *value;

    for (size_t m = 0; m < MAPS; m++) {
        json_object_foreach (json_object_get(item, maps[m]), name, value)
            vec_add(&names, name);
    }
    if (names.n > 1)
        qsort(names.at, names.n, sizeof(names.at[0]), compare_texts);
    for (size_t i = 0; i < names.n; i++) {
        struct amounts amounts = limits_read_amounts(item, names.at[i]);
        struct look l = {names.at[i], &amounts, at, causes};

        if (i > 0 && text_equal(names.at[i - 1], names.at[i]))
            continue;
        for (size_t o = 0; o < COUNT(orders); o++)
            limits_check_order(&l, &orders[o]);
        limits_check_ratio(&l);
        limits_check_extended(&l);
    }
    vec_done(&names);
}

static void validate_type(const json_t *list, size_t i, const struct path *at,
                          struct causes *causes)
{
    static const char *const types[] = {"Container", "Pod", "PersistentVolumeClaim"};
    const char *type = json_text(json_array_get(list, i), "type");
    bool is_known = strchr(type, '/') != NULL;

    for (size_t t = 0; t < COUNT(types); t++)
        is_known |= text_equal(types[t], type);
    if (!is_known)
        cause_invalid(causes, at, type, "must be a standard limit type or fully qualified");
    for (size_t j = 0; j < i; j++) {
        if (text_equal(json_text(json_array_get(list, j), "type"), type)) {
            cause_duplicate(causes, at, type);
            break;
        }
    }
}

static void validate_maps(const json_t *item, const struct path *at, struct causes *causes)
{
    const char *type = json_text(item, "type");
    bool is_pod = text_equal(type, "Pod");
    const char *name;
    json_t *value;

    for (size_t m = 0; m < MAPS; m++) {
        json_t *map = json_object_get(item, maps[m]);
        const struct path *here = PATH(at, maps[m]);

        if (is_pod && (m == MAP_DEFAULT || m == MAP_REQUEST)) {
            if (json_object_size(map) > 0)
                cause_forbidden(causes, here, "may not be specified when `type` is 'Pod'");
            continue;
        }
        json_object_foreach (map, name, value)
            limits_validate_name(type, name, PATH_KEY(here, name), causes);
    }
    if (text_equal(type, "PersistentVolumeClaim") && !json_at(item, "min", "storage", NULL) &&
        !json_at(item, "max", "storage", NULL))
        cause_required(causes, PATH(at, "limits"),
                       "either minimum or maximum storage value is required, but neither was "
                       "provided");
}

static void limits_validate(const json_t *object, struct causes *causes)
{
    const json_t *list = json_at(object, "spec", "limits", NULL);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *type = json_text(item, "type");
        const struct path *at = PATH_INDEX(PATH(PATH(NULL, "spec"), "limits"), i);

        if (!type || !*type)
            continue; /* the schema reports it */
        validate_type(list, i, PATH(at, "type"), causes);
        validate_maps(item, at, causes);
        check_amounts(item, at, causes);
    }
}

const struct kind kind_limits = {
    .zero = "{\"spec\":{\"limits\":null}}",
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "LimitRange",
    .plural = "limitranges",
    .singular = "limitrange",
    .short_names = {"limits"},
    .is_namespaced = true,
    .fields = fields,
    .columns = columns,
    .cells = limits_cells,
    .validate = limits_validate,
    .set_defaults = limits_set_defaults,
    .doc = "Bounds and defaults for requests and limits of each pod and container in a namespace.",
};
