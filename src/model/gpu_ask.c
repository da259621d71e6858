/* gpu_ask.c - the text form of devices that a pod asks for */

#include "model/gpu_ask.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "model/quantity.h"

static struct err *bad_ask(const char *text)
{
    return err_new(ERR_INVALID,
                   "\"%s\": want a number of gpus or a part of one: 2, 0.5, 20Gi, 0.3,20Gi, "
                   "mig-1g.10gb, 2xmig-1g.10gb, shared, amd, 2xamd",
                   text);
}

/* The words for gpus of other vendors. */
static const char *const vendor_words[GPU_VENDORS] = {
    [GPU_AMD] = "amd", [GPU_INTEL_I915] = "i915", [GPU_INTEL_XE] = "xe"};

bool gpu_ask_read_part(struct str text, uint32_t *ret_milli)
{
    uint32_t milli = 0;
    size_t digits = text.size >= 2 ? text.size - 2 : 0;

    if (digits < 1 || digits > 3 || text.at[0] != '0' || text.at[1] != '.')
        return false;
    for (size_t i = 0; i < 3; i++) {
        unsigned char c = i < digits ? (unsigned char)text.at[2 + i] : '0';

        if (!isdigit(c))
            return false;
        milli = milli * 10 + (uint32_t)(c - '0');
    }
    if (milli == 0)
        return false;
    *ret_milli = milli;
    return true;
}

/* Reads an amount of memory with a unit, rounded up to MiB: a bare number is a count. */
static bool read_memory(struct str text, int64_t *ret)
{
    const int64_t mib = INT64_C(1) << 20;
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (text.size == 0 || isdigit((unsigned char)text.at[text.size - 1]))
        return false;
    e = quantity_parse(text, &q);
    if (e || q.milli <= 0)
        return false;
    *ret = (q.milli / 1000 + mib - 1) / mib * mib;
    return *ret > 0;
}

/* Reads "0.5", "20Gi" or "0.3,20Gi". */
static bool read_share(struct str text, struct gpu_ask *ret)
{
    struct str rest = text;
    struct str first = str_cut(&rest, ',');

    ret->kind = DEVICE_SHARE;
    if (!rest.at && read_memory(first, &ret->bytes))
        return true;
    if (!gpu_ask_read_part(first, &ret->milli))
        return false;
    return !rest.at || (ret->milli % 10 == 0 && read_memory(rest, &ret->bytes));
}

/* Reads the text behind a count, if it is no number of whole gpus. */
static bool read_part(const char *text, struct gpu_ask *ret)
{
    if (text_starts_with(text, "mig-")) {
        ret->kind = DEVICE_SLICE;
        return mig_name_read(text, ret->profile);
    }
    if (text_equal(text, "shared")) {
        ret->kind = DEVICE_REPLICA;
        return true;
    }
    for (size_t i = 0; i < GPU_VENDORS; i++)
        if (text_equal(text, vendor_words[i])) {
            ret->vendor = (enum gpu_vendor)i;
            return true;
        }
    return read_share(str_of(text), ret);
}

struct err *gpu_ask_parse(const char *text, struct gpu_ask *ret)
{
    size_t digits = strspn(text, "0123456789");
    bool has_count = digits > 0 && text[digits] == 'x';
    bool is_whole = digits > 0 && text[digits] == '\0';
    struct gpu_ask ask = {.kind = DEVICE_WHOLE, .count = 1};

    if (has_count || is_whole) {
        struct str number = {text, digits};
        AUTO(err_freep)
        struct err *e = num_parse_int64(number, is_whole ? 0 : 1, GPU_ASK_COUNT_MAX, &ask.count);

        if (e)
            return bad_ask(text);
    }
    if (!is_whole && !read_part(has_count ? text + digits + 1 : text, &ask))
        return bad_ask(text);
    *ret = ask;
    return NULL;
}

static void share_format(const struct gpu_ask *ask, char *ret, size_t size)
{
    struct quantity q = {.form = QUANTITY_BINARY};
    char memory[QUANTITY_TEXT_SIZE] = "";
    char part[8] = "";

    if (ask->bytes > 0) {
        q.milli = ask->bytes > INT64_MAX / 1000 ? INT64_MAX : ask->bytes * 1000;
        quantity_format(q, memory);
    }
    if (ask->milli > 0) {
        int n = snprintf(part, sizeof(part), "0.%03u", ask->milli % 1000);

        while (n > 3 && part[n - 1] == '0')
            part[--n] = '\0';
    }
    (void)snprintf(ret, size, "%s%s%s", part, *part && *memory ? "," : "", memory);
}

void gpu_ask_format(const struct gpu_ask *ask, char ret[GPU_ASK_TEXT_SIZE])
{
    char count[24] = "";
    char what[GPU_ASK_TEXT_SIZE - sizeof(count)] = "shared";

    if (ask->kind == DEVICE_WHOLE && !vendor_words[ask->vendor]) {
        (void)snprintf(ret, GPU_ASK_TEXT_SIZE, "%" PRId64, ask->count);
        return;
    }
    if (ask->count != 1)
        (void)snprintf(count, sizeof(count), "%" PRId64 "x", ask->count);
    if (ask->kind == DEVICE_SHARE)
        share_format(ask, what, sizeof(what));
    else if (ask->kind == DEVICE_SLICE)
        (void)snprintf(what, sizeof(what), "mig-%s", ask->profile);
    else if (ask->kind == DEVICE_WHOLE)
        (void)snprintf(what, sizeof(what), "%s", vendor_words[ask->vendor]);
    (void)snprintf(ret, GPU_ASK_TEXT_SIZE, "%s%s", count, what);
}

bool gpu_ask_is_like(const struct gpu_ask *a, const struct gpu_ask *b)
{
    return a->kind == b->kind && a->vendor == b->vendor && a->milli == b->milli &&
           a->bytes == b->bytes && text_equal(a->profile, b->profile) &&
           str_equal(a->claim, b->claim);
}
