/* prices.c - reads a price table, and computes costs */

#include "meter/prices.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "base/yaml.h"

enum {
    PRICES_FILE_MAX = 1 << 16,
    MODELS_MAX = 256,
    CURRENCY_MAX = 16
};

static const int64_t NS_PER_HOUR = INT64_C(3600000000000);
static const int64_t KIB_SECONDS_PER_GIB_HOUR = INT64_C(1048576) * 3600;
static const int64_t PRICE_MAX = INT64_C(1000000000000); /* a million an hour */

struct model_price {
    char *model;
    int64_t micro;
};

struct prices {
    char *currency;
    VEC(struct model_price) models;
    int64_t gpu_micro; /* of all other models */
    int64_t cpu_micro;
    int64_t memory_micro;
};

void prices_free(struct prices *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->models.n; i++)
        free(p->models.at[i].model);
    vec_done(&p->models);
    free(p->currency);
    free(p);
}

/* ---- reading ---- */

struct reader {
    const char *name;
    struct str text;
};

/* The line of a key in the text: the tree has no line numbers; each key is written once. */
static size_t line_of(const struct reader *r, const char *key)
{
    size_t size = strlen(key);
    struct str rest = r->text;
    size_t line = 0;

    while (rest.at) {
        struct str one = str_cut(&rest, '\n');
        const char *at = memmem(one.at, one.size, key, size);

        line++;
        while (at) {
            size_t before = (size_t)(at - one.at);
            const char *after = at + size;
            bool begins = before == 0 || strchr(" \t{,\"'", at[-1]);

            if (begins && before + size < one.size && strchr(":\"' ", *after))
                return line;
            at = memmem(after, one.size - before - size, key, size);
        }
    }
    return 1;
}

static struct err *wrong(const struct reader *r, const char *key, const char *what)
{
    return err_new(ERR_INVALID, "%s:%zu: %s: %s", r->name, line_of(r, key), key, what);
}

/* Reads "2.50" in millionths. False: malformed. */
static bool read_micro(struct str text, int64_t *ret)
{
    int64_t value = 0;
    int digits_behind = -1; /* no point yet */
    bool has_digit = false;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];

        if (c == '.' && digits_behind < 0) {
            digits_behind = 0;
            continue;
        }
        if (c < '0' || c > '9' || digits_behind == 6 || value > PRICE_MAX)
            return false;
        has_digit = true;
        value = value * 10 + (c - '0');
        digits_behind += digits_behind >= 0;
    }
    for (int i = digits_behind < 0 ? 0 : digits_behind; i < 6; i++) {
        if (value > PRICE_MAX)
            return false;
        value *= 10;
    }
    *ret = value;
    return has_digit && value <= PRICE_MAX;
}

static struct err *read_price(const struct reader *r, const char *key, const json_t *value,
                              int64_t *ret)
{
    AUTO(buf_done) struct buf text = {0};

    if (json_is_string(value))
        buf_add_text(&text, json_string_value(value));
    else if (json_is_number(value))
        json_add(&text, value);
    if (text.size == 0 || !read_micro((struct str){text.at, text.size}, ret))
        return wrong(r, key, "want a price per hour from 0 to 1000000, such as 2.50");
    return NULL;
}

static struct err *read_models(const struct reader *r, json_t *table, struct prices *p)
{
    const char *model;
    json_t *value;

    if (!json_is_object(table))
        return wrong(r, "gpuHour", "want a price for each model, such as {h100: 2.50, default: 1}");
    if (json_object_size(table) > MODELS_MAX)
        return wrong(r, "gpuHour", "want at most 256 models");
    json_object_foreach (table, model, value) {
        int64_t micro = 0;

        TRY(read_price(r, model, value, &micro));
        if (text_equal(model, "default"))
            p->gpu_micro = micro;
        else
            vec_add(&p->models, (struct model_price){mem_strdup(model), micro});
    }
    return NULL;
}

static struct err *read_currency(const struct reader *r, const json_t *value, struct prices *p)
{
    const char *text = json_string_value(value);

    if (!text || !*text || strlen(text) > CURRENCY_MAX)
        return wrong(r, "currency", "want a word such as EUR");
    free(p->currency);
    p->currency = mem_strdup(text);
    return NULL;
}

static struct err *read_member(const struct reader *r, const char *key, json_t *value,
                               struct prices *p)
{
    if (text_equal(key, "apiVersion"))
        return text_equal(json_string_value(value), "mete.dev/v1")
                   ? NULL
                   : wrong(r, key, "want mete.dev/v1");
    if (text_equal(key, "kind"))
        return text_equal(json_string_value(value), "PriceTable")
                   ? NULL
                   : wrong(r, key, "want PriceTable");
    if (text_equal(key, "currency"))
        return read_currency(r, value, p);
    if (text_equal(key, "gpuHour"))
        return read_models(r, value, p);
    if (text_equal(key, "cpuHour"))
        return read_price(r, key, value, &p->cpu_micro);
    if (text_equal(key, "memoryGibHour"))
        return read_price(r, key, value, &p->memory_micro);
    return wrong(r, key, "unknown: want currency, gpuHour, cpuHour and memoryGibHour");
}

static struct err *read_table(const struct reader *r, json_t *table, struct prices *p)
{
    const char *key;
    json_t *value;

    if (!json_is_object(table))
        return err_new(ERR_INVALID, "%s:1: want one PriceTable", r->name);
    json_object_foreach (table, key, value)
        TRY(read_member(r, key, value, p));
    if (!p->currency)
        return err_new(ERR_INVALID, "%s:1: currency is missing, for example currency: EUR",
                       r->name);
    return NULL;
}

struct err *prices_parse(const char *name, struct str text, struct prices **ret)
{
    const struct reader r = {.name = name, .text = text};
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(prices_freep) struct prices *p = NULL;

    TRY(yaml_parse(name, text, &documents));
    if (json_array_size(documents) != 1)
        return err_new(ERR_INVALID, "%s:1: want one PriceTable", name);
    p = mem_alloc(sizeof(*p));
    TRY(read_table(&r, json_array_get(documents, 0), p));
    *ret = TAKE(p);
    return NULL;
}

struct err *prices_load(const char *const *paths, struct prices **ret)
{
    for (; *paths; paths++) {
        AUTO(buf_done) struct buf text = {0};
        AUTO(err_freep) struct err *e = file_read(*paths, PRICES_FILE_MAX, &text);

        if (!e)
            return prices_parse(*paths, (struct str){text.at, text.size}, ret);
        if (err_code(e) != ERR_NOT_FOUND)
            return TAKE(e);
    }
    *ret = NULL;
    return NULL;
}

/* ---- asking ---- */

const char *prices_currency(const struct prices *p)
{
    return p->currency;
}

/* amount × price / per, rounded down. */
static int64_t cost_of(int64_t amount, int64_t micro, int64_t per)
{
    __int128 cost = amount > 0 ? (__int128)amount * micro / per : 0;

    return cost > INT64_MAX ? INT64_MAX : (int64_t)cost;
}

int64_t prices_gpu(const struct prices *p, const char *model, int64_t ns)
{
    int64_t micro = p->gpu_micro;

    for (size_t i = 0; i < p->models.n; i++) {
        if (text_equal(p->models.at[i].model, model))
            micro = p->models.at[i].micro;
    }
    return cost_of(ns, micro, NS_PER_HOUR);
}

int64_t prices_cpu(const struct prices *p, int64_t ns)
{
    return cost_of(ns, p->cpu_micro, NS_PER_HOUR);
}

int64_t prices_memory(const struct prices *p, int64_t kib_seconds)
{
    return cost_of(kib_seconds, p->memory_micro, KIB_SECONDS_PER_GIB_HOUR);
}
