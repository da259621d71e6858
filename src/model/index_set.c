/* index_set.c - sets of small numbers and their text form */

#include "model/index_set.h"

#include <assert.h>

#include "base/mem.h"
#include "base/num.h"

bool index_set_add(struct index_set *s, size_t i)
{
    size_t word = i / 64;
    uint64_t bit = UINT64_C(1) << (i % 64);

    assert(i < INDEX_SET_MAX);
    if (word >= s->n_words) {
        size_t n = word + 1 > s->n_words * 2 ? word + 1 : s->n_words * 2;

        s->words = mem_realloc(s->words, n * sizeof(*s->words));
        memset(s->words + s->n_words, 0, (n - s->n_words) * sizeof(*s->words));
        s->n_words = n;
    }
    if (s->words[word] & bit)
        return false;
    s->words[word] |= bit;
    s->count++;
    return true;
}

void index_set_remove(struct index_set *s, size_t i)
{
    if (!index_set_has(s, i))
        return;
    s->words[i / 64] &= ~(UINT64_C(1) << (i % 64));
    s->count--;
}

static size_t bits(uint64_t word)
{
    return (size_t)__builtin_popcountll(word);
}

size_t index_set_count_below(const struct index_set *s, size_t end)
{
    size_t n = 0;

    for (size_t w = 0; w < s->n_words && w * 64 < end; w++) {
        size_t left = end - w * 64;
        uint64_t mask = left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;

        n += bits(s->words[w] & mask);
    }
    return n;
}

size_t index_set_count_common(const struct index_set *s, const struct index_set *other)
{
    size_t n = 0;

    for (size_t w = 0; w < s->n_words && w < other->n_words; w++)
        n += bits(s->words[w] & other->words[w]);
    return n;
}

static struct err *index_set_read_number(struct str text, size_t end, int64_t *ret)
{
    if (text.size == 0)
        return err_new(ERR_INVALID, "want a number before and after each ',' and '-'");
    return num_parse_int64(text, 0, (int64_t)end - 1, ret);
}

static struct err *index_set_read_range(struct str part, size_t end, int64_t *last,
                                        struct index_set *set)
{
    struct str to = part;
    struct str from = str_cut(&to, '-');
    int64_t first = 0;
    int64_t second = 0;

    TRY(index_set_read_number(from, end, &first));
    second = first;
    if (to.at)
        TRY(index_set_read_number(to, end, &second));
    if (to.at && second <= first)
        return err_new(ERR_INVALID, "range %lld-%lld does not ascend", (long long)first,
                       (long long)second);
    if (first <= *last)
        return err_new(ERR_INVALID, "%lld after %lld: want numbers in ascending order",
                       (long long)first, (long long)*last);
    for (int64_t i = first; i <= second; i++)
        (void)index_set_add(set, (size_t)i); /* ascending, so it is new */
    *last = second;
    return NULL;
}

struct err *index_set_parse(struct str text, size_t end, struct index_set *ret)
{
    struct index_set set = {0};
    struct str rest = text;
    int64_t last = -1;

    if (end > INDEX_SET_MAX)
        end = INDEX_SET_MAX;
    while (text.size > 0 && rest.at) {
        struct err *e = index_set_read_range(str_cut(&rest, ','), end, &last, &set);

        if (e) {
            index_set_done(&set);
            return err_wrap(e, "indexes");
        }
    }
    *ret = set;
    return NULL;
}

static void add_range(struct buf *text, size_t first, size_t last)
{
    const char *comma = text->size > 0 ? "," : "";

    if (first == last)
        buf_printf(text, "%s%zu", comma, first);
    else
        buf_printf(text, "%s%zu%s%zu", comma, first, last == first + 1 ? "," : "-", last);
}

char *index_set_format(const struct index_set *s)
{
    struct buf text = {0};
    size_t end = s->n_words * 64;

    for (size_t i = 0; i < end; i++) {
        size_t first = i;

        if (i % 64 == 0 && s->words[i / 64] == 0) {
            i += 63;
            continue;
        }
        if (!index_set_has(s, i))
            continue;
        while (index_set_has(s, i + 1))
            i++;
        add_range(&text, first, i);
    }
    return buf_steal(&text);
}

void index_set_done(struct index_set *s)
{
    free(s->words);
    *s = (struct index_set){0};
}
