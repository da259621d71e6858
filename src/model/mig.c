/*
 * mig.c - MIG geometries, states and names of profiles
 *
 * The media of a state follow from its instances: NONE (0) without an instance that has a part of
 * the engines, else USUAL, ONE or ALL of the enum. These decide the further instances: ONE forbids
 * another ONE, ALL forbids all but NONE, and any part of the engines forbids ALL.
 */

#include "model/mig.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum {
    STATE_NONE,
    STATE_USUAL,
    STATE_ONE,
    STATE_ALL,
    STATES
};

/* Boards with seven compute slices on eight units differ in names and memory only. */
#define SEVEN_STARTS 0x7f

#define SEVEN(key, models, gib, g1, g1_large, g2, g3, g4, g7, mib1, mib2, mib4, mib8)             \
    {                                                                                             \
        key, models, gib, 8, 7, 7,                                                                \
        {                                                                                         \
            {g1, 1, 1, SEVEN_STARTS, MIG_MEDIA_USUAL, mib1},                                      \
                {g1 "+me", 1, 1, SEVEN_STARTS, MIG_MEDIA_ONE, mib1},                              \
                {g1_large, 1, 2, 0x55, MIG_MEDIA_USUAL, mib2},                                    \
                {g2, 2, 2, 0x15, MIG_MEDIA_USUAL, mib2}, {g3, 3, 4, 0x11, MIG_MEDIA_USUAL, mib4}, \
                {g4, 4, 4, 0x01, MIG_MEDIA_USUAL, mib4}, {g7, 7, 8, 0x01, MIG_MEDIA_USUAL, mib8}, \
        }                                                                                         \
    }

static const struct mig_geometry geometries[] = {
    {"A30-24",
     "a30",
     24,
     4,
     4,
     5,
     {
         {"1g.6gb", 1, 1, 0x0f, MIG_MEDIA_USUAL, 5952},
         {"1g.6gb+me", 1, 1, 0x0f, MIG_MEDIA_ONE, 5952},
         {"2g.12gb", 2, 2, 0x05, MIG_MEDIA_USUAL, 11968},
         {"2g.12gb+me", 2, 2, 0x05, MIG_MEDIA_ONE, 11968},
         {"4g.24gb", 4, 4, 0x01, MIG_MEDIA_USUAL, 24000},
     }},
    SEVEN("A100-40", "a100", 40, "1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb",
          4864, 9856, 19968, 40192),
    SEVEN("A100-80", "a100 a800", 80, "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb",
          "7g.80gb", 9856, 19968, 40192, 80384),
    SEVEN("H100-80", "h100 h800", 80, "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb",
          "7g.80gb", 9984, 20096, 40448, 81152),
    SEVEN("H100-94", "h100", 94, "1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb",
          0, 0, 47488, 95360),
    SEVEN("H100-96", "h100 gh200 h20", 96, "1g.12gb", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb",
          "7g.96gb", 11264, 23552, 47616, 95232),
    SEVEN("H200-141", "h200", 141, "1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb",
          "7g.141gb", 16384, 33024, 71168, 0),
    SEVEN("GH200-144", "gh200", 144, "1g.18gb", "1g.36gb", "2g.36gb", "3g.72gb", "4g.72gb",
          "7g.144gb", 17920, 36096, 0, 0),
    SEVEN("B200-180", "b200", 180, "1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb",
          "7g.180gb", 22528, 45312, 0, 0),
    SEVEN("GB200-186", "gb200", 186, "1g.23gb", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb",
          "7g.186gb", 22528, 46592, 0, 0),
    SEVEN("B300-269", "b300", 269, "1g.34gb", "1g.67gb", "2g.67gb", "3g.135gb", "4g.135gb",
          "7g.269gb", 0, 0, 0, 0),
    SEVEN("GB300-278", "gb300", 278, "1g.35gb", "1g.70gb", "2g.70gb", "3g.139gb", "4g.139gb",
          "7g.278gb", 0, 0, 0, 0),
    {"RTXPRO6000-96",
     "rtxpro rtxpro6000",
     96,
     12,
     4,
     11,
     {
         {"1g.24gb", 1, 3, 0x249, MIG_MEDIA_USUAL, 24192},
         {"1g.24gb+me", 1, 3, 0x249, MIG_MEDIA_ONE, 24192},
         {"1g.24gb+gfx", 1, 3, 0x249, MIG_MEDIA_USUAL, 24192},
         {"1g.24gb+me.all", 1, 3, 0x249, MIG_MEDIA_ALL, 24192},
         {"1g.24gb-me", 1, 3, 0x249, MIG_MEDIA_NONE, 24192},
         {"2g.48gb", 2, 6, 0x41, MIG_MEDIA_USUAL, 48512},
         {"2g.48gb+gfx", 2, 6, 0x41, MIG_MEDIA_USUAL, 48512},
         {"2g.48gb+me.all", 2, 6, 0x41, MIG_MEDIA_ALL, 48512},
         {"2g.48gb-me", 2, 6, 0x41, MIG_MEDIA_NONE, 48512},
         {"4g.96gb", 4, 12, 0x001, MIG_MEDIA_USUAL, 97280},
         {"4g.96gb+gfx", 4, 12, 0x001, MIG_MEDIA_USUAL, 97280},
     }},
};

#define GEOMETRIES (COUNT(geometries))

size_t mig_geometry_count(void)
{
    return GEOMETRIES;
}

const struct mig_geometry *mig_geometry_at(size_t i)
{
    return &geometries[i];
}

static bool has_word(const char *words, const char *word)
{
    size_t size = strlen(word);

    while (*words) {
        size_t n = strcspn(words, " ");

        if (n == size && memcmp(words, word, n) == 0)
            return true;
        words += n;
        words += strspn(words, " ");
    }
    return false;
}

const struct mig_geometry *mig_geometry_of(const char *model, int64_t memory_bytes)
{
    int64_t memory_gib = (memory_bytes + (INT64_C(1) << 29)) >> 30;
    const struct mig_geometry *best = NULL;

    for (size_t i = 0; i < GEOMETRIES; i++) {
        const struct mig_geometry *g = &geometries[i];
        int64_t off = llabs(g->memory_gib - memory_gib);

        if (!has_word(g->models, model) || (memory_bytes > 0 && off > g->memory_gib / 8))
            continue;
        if (!best || off < llabs(best->memory_gib - memory_gib))
            best = g;
    }
    return best;
}

int mig_profile_find(const struct mig_geometry *g, const char *name)
{
    for (int i = 0; i < g->n_profiles; i++)
        if (text_equal(g->profiles[i].name, name))
            return i;
    return -1;
}

static bool media_allows(uint8_t state, enum mig_media media)
{
    switch (media) {
    case MIG_MEDIA_USUAL:
        return state != STATE_ALL;
    case MIG_MEDIA_ONE:
        return state == STATE_NONE || state == STATE_USUAL;
    case MIG_MEDIA_ALL:
        return state == STATE_NONE;
    case MIG_MEDIA_NONE:
        return true;
    }
    return false;
}

static uint8_t media_after(uint8_t state, enum mig_media media)
{
    switch (media) {
    case MIG_MEDIA_USUAL:
        return state == STATE_NONE ? STATE_USUAL : state;
    case MIG_MEDIA_ONE:
        return STATE_ONE;
    case MIG_MEDIA_ALL:
        return STATE_ALL;
    case MIG_MEDIA_NONE:
        return state;
    }
    return state;
}

/* The units of an instance. */
static uint16_t instance_span(const struct mig_profile *p, unsigned start)
{
    return (uint16_t)(((1u << p->size) - 1) << start);
}

uint16_t mig_starts(const struct mig_geometry *g, struct mig_state s, unsigned profile)
{
    const struct mig_profile *p = &g->profiles[profile];
    uint16_t ret = 0;

    if (!media_allows(s.media, p->media))
        return 0;
    for (unsigned left = p->starts; left; left &= left - 1)
        if (!(s.occupied & instance_span(p, (unsigned)__builtin_ctz(left))))
            ret |= (uint16_t)(left & -left);
    return ret;
}

struct mig_state mig_state_add(const struct mig_geometry *g, struct mig_state s, unsigned profile,
                               unsigned start)
{
    const struct mig_profile *p = &g->profiles[profile];

    s.occupied |= instance_span(p, start);
    s.media = media_after(s.media, p->media);
    return s;
}

/* Is the profile without "+me" or "-me"? */
static bool is_usual(const struct mig_profile *p)
{
    return !strpbrk(p->name, "+-");
}

unsigned mig_state_value(const struct mig_geometry *g, struct mig_state s)
{
    unsigned ret = 0;

    for (unsigned i = 0; i < g->n_profiles; i++) {
        const struct mig_profile *p = &g->profiles[i];

        if (is_usual(p))
            ret += (unsigned)__builtin_popcount(mig_starts(g, s, i)) * p->size;
    }
    return ret;
}

struct mig_table {
    const struct mig_geometry *geometry;
    uint8_t *values; /* by state */
    int8_t *starts;  /* by profile and state */
};

static size_t index_of(const struct mig_geometry *g, struct mig_state s)
{
    return (size_t)s.media << g->units | s.occupied;
}

unsigned mig_table_value(const struct mig_table *t, struct mig_state s)
{
    return t->values[index_of(t->geometry, s)];
}

static int best_start(const struct mig_table *t, struct mig_state s, unsigned profile)
{
    unsigned most = 0;
    int best = -1;

    for (unsigned left = mig_starts(t->geometry, s, profile); left; left &= left - 1) {
        int start = __builtin_ctz(left);
        unsigned value =
            mig_table_value(t, mig_state_add(t->geometry, s, profile, (unsigned)start));

        if (best >= 0 && value <= most)
            continue;
        best = start;
        most = value;
    }
    return best;
}

static struct mig_state state_at(const struct mig_geometry *g, size_t i)
{
    return (struct mig_state){(uint16_t)(i & ((1u << g->units) - 1)), (uint8_t)(i >> g->units)};
}

struct mig_table *mig_table_new(const struct mig_geometry *g)
{
    struct mig_table *t = mem_alloc(sizeof(*t));
    size_t n = (size_t)STATES << g->units;

    t->geometry = g;
    t->values = mem_alloc(n);
    t->starts = mem_alloc(n * g->n_profiles);
    for (size_t i = 0; i < n; i++)
        t->values[i] = (uint8_t)mig_state_value(g, state_at(g, i));
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < g->n_profiles; k++)
            t->starts[k * n + i] = (int8_t)best_start(t, state_at(g, i), k);
    return t;
}

void mig_table_free(struct mig_table *t)
{
    if (!t)
        return;
    free(t->values);
    free(t->starts);
    free(t);
}

int mig_table_start(const struct mig_table *t, struct mig_state s, unsigned profile)
{
    size_t n = (size_t)STATES << t->geometry->units;

    return t->starts[profile * n + index_of(t->geometry, s)];
}

/* Reads at most three decimal digits at `*at`; 0: no digits. */
static unsigned mig_read_number(const char **at)
{
    unsigned ret = 0;

    for (int i = 0; i < 3 && **at >= '0' && **at <= '9'; i++)
        ret = ret * 10 + (unsigned)(*(*at)++ - '0');
    return ret;
}

bool mig_name_read(const char *text, char ret[MIG_NAME_SIZE])
{
    static const char *const endings[] = {"", "+me", "+me.all", "+gfx", "-me"};
    const char *name = text_starts_with(text, "mig-") ? text + 4 : text;
    const char *at = name;

    if (strlen(name) >= MIG_NAME_SIZE || mig_read_number(&at) == 0 || !text_starts_with(at, "g."))
        return false;
    at += 2;
    if (mig_read_number(&at) == 0 || !text_starts_with(at, "gb"))
        return false;
    at += 2;
    for (size_t i = 0; i < COUNT(endings); i++) {
        bool is_same = text_equal(at, endings[i]) ||
                       (*at == '.' && endings[i][0] == '+' && text_equal(at + 1, endings[i] + 1));

        if (!is_same)
            continue;
        memcpy(ret, name, (size_t)(at - name));
        memcpy(ret + (at - name), endings[i], strlen(endings[i]) + 1);
        return true;
    }
    return false;
}

unsigned mig_profile_milli(const struct mig_geometry *g, unsigned profile)
{
    return g->profiles[profile].compute * 1000u / g->compute;
}

enum {
    PLACE = 3
};

unsigned mig_name_milli(const char *name)
{
    const char *at = name;
    unsigned most = 0;

    for (size_t i = 0; i < GEOMETRIES && strlen(name) > PLACE; i++)
        for (unsigned k = 0; k < geometries[i].n_profiles; k++) {
            const char *here = geometries[i].profiles[k].name;
            unsigned milli = mig_profile_milli(&geometries[i], k);

            /* a quick test first: names differ mostly in the first digit of the memory */
            if (here[PLACE] == name[PLACE] && milli > most && text_equal(here, name))
                most = milli;
        }
    if (most == 0)
        most = mig_read_number(&at) * 1000 / 7;
    return most < 1000 ? most : 1000;
}
