/* gpu.c - short model names, and the names of health states */

#include "model/gpu.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"
#include "model/resource.h"

/* Brands, which are not part of the short model. */
static const char *const brands[] = {"nvidia",   "tesla",  "quadro",   "geforce", "amd",
                                     "instinct", "radeon", "intel(r)", "intel",   "data",
                                     "center",   "gpu",    "emulated"};
/* Words that need the next word. */
static const char *const series[] = {"rtx", "gtx", "titan", "max", "pro", "flex"};
static const char *const endings[] = {"ti", "super", "ada"};

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

static bool is_one_of(const char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(words[i], word))
            return true;
    return false;
}

static bool has_digit(const char *word)
{
    return strpbrk(word, "0123456789") != NULL;
}

/* Takes the next word off `*rest`, in lower case. False: the end. */
static bool next_word(const char **rest, char ret[GPU_TEXT_SIZE])
{
    static const char separators[] = " -_/,";
    size_t size;

    *rest += strspn(*rest, separators);
    size = strcspn(*rest, separators);
    if (size == 0)
        return false;
    for (size_t i = 0; i < size && i < GPU_TEXT_SIZE - 1; i++)
        ret[i] = lower((*rest)[i]);
    ret[size < GPU_TEXT_SIZE ? size : GPU_TEXT_SIZE - 1] = '\0';
    *rest += size;
    return true;
}

static void model_append(char ret[GPU_TEXT_SIZE], const char *word)
{
    size_t used = strlen(ret);
    size_t size = strlen(word);

    if (size >= GPU_TEXT_SIZE - used)
        size = GPU_TEXT_SIZE - used - 1;
    memcpy(ret + used, word, size);
    ret[used + size] = '\0';
}

/* Adds the word after a series: "rtx 4090 ti" is one name, but "rtx a6000" is "a6000". */
static void finish_series(const char *rest, char ret[GPU_TEXT_SIZE])
{
    char word[GPU_TEXT_SIZE];

    if (!next_word(&rest, word))
        return;
    if (has_digit(word) && (word[0] < '0' || word[0] > '9'))
        ret[0] = '\0';
    model_append(ret, word);
    while (next_word(&rest, word))
        if (is_one_of(endings, COUNT(endings), word))
            model_append(ret, word);
}

void gpu_model_of(const char *product, char ret[GPU_TEXT_SIZE])
{
    char word[GPU_TEXT_SIZE];
    const char *rest = product;

    ret[0] = '\0';
    while (next_word(&rest, word)) {
        if (is_one_of(brands, COUNT(brands), word))
            continue;
        model_append(ret, word);
        if (is_one_of(series, COUNT(series), word)) {
            finish_series(rest, ret);
            return;
        }
        if (has_digit(word)) {
            memcpy(ret, word, strlen(word) + 1);
            return;
        }
    }
}

const char *gpu_family(int major, int minor)
{
    switch (major) {
    case 1:
        return "tesla";
    case 2:
        return "fermi";
    case 3:
        return "kepler";
    case 5:
        return "maxwell";
    case 6:
        return "pascal";
    case 7:
        return minor < 5 ? "volta" : "turing";
    case 8:
        return minor < 9 ? "ampere" : "ada-lovelace";
    case 9:
        return "hopper";
    case 10:
    case 12:
        return "blackwell";
    default:
        return "undefined";
    }
}

bool gpu_mig_needs_reset(const struct gpu *g)
{
    static const int hopper = 9;

    return g->architecture >= 0 && g->architecture < hopper;
}

/* By enum gpu_vendor. */
static const struct {
    const char *text;
    const char *resource;
} vendors[GPU_VENDORS] = {
    [GPU_NVIDIA] = {"nvidia", GPU_RESOURCE},
    [GPU_AMD] = {"amd", "amd.com/gpu"},
    [GPU_INTEL_I915] = {"intel", "gpu.intel.com/i915"},
    [GPU_INTEL_XE] = {"intel", "gpu.intel.com/xe"},
};

const char *gpu_vendor_text(enum gpu_vendor v)
{
    return vendors[v].text;
}

const char *gpu_vendor_resource(enum gpu_vendor v)
{
    return vendors[v].resource;
}

bool gpu_vendor_of(const char *resource, enum gpu_vendor *ret)
{
    for (size_t i = 0; i < GPU_VENDORS; i++)
        if (text_equal(vendors[i].resource, resource)) {
            *ret = (enum gpu_vendor)i;
            return true;
        }
    return false;
}

const char *gpu_mode_text(enum gpu_mode m)
{
    switch (m) {
    case GPU_MODE_WHOLE:
        return "whole";
    case GPU_MODE_REPLICAS:
        return "replicas";
    case GPU_MODE_SLICES:
        return "slices";
    }
    return "whole";
}

static const char *const healths[] = {[GPU_HEALTHY] = "healthy",
                                      [GPU_DRAINED] = "drained",
                                      [GPU_SUSPECT] = "suspect",
                                      [GPU_QUARANTINED] = "quarantined",
                                      [GPU_UNHEALTHY] = "unhealthy",
                                      [GPU_NOT_ANSWERING] = "not answering",
                                      [GPU_LOST] = "lost"};

const char *gpu_health_text(enum gpu_health h)
{
    return healths[h];
}

bool gpu_health_parse(const char *text, enum gpu_health *ret)
{
    for (size_t i = 0; text && i < sizeof(healths) / sizeof(healths[0]); i++) {
        if (strcmp(healths[i], text) != 0)
            continue;
        *ret = (enum gpu_health)i;
        return true;
    }
    return false;
}
