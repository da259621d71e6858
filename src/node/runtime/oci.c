/* oci.c - version checks of OCI runtimes */

#include "node/runtime/oci.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/str.h"

struct minimum {
    const char *name;
    int64_t parts[3];
    const char *text;
    const char *why;
    /* first Debian version with the fixes: this prefix, then at least this number */
    const char *package_prefix;
    int64_t package_number;
};

static const struct minimum minimums[OCI_KINDS] = {
    [OCI_CRUN] = {.name = "crun",
                  .parts = {1, 8, 1},
                  .text = "1.8.1",
                  .why = "older versions are not tested"},
    [OCI_RUNC] = {.name = "runc",
                  .parts = {1, 1, 12},
                  .text = "1.1.12",
                  .why = "older versions let containers escape by an open descriptor "
                         "(CVE-2024-21626)",
                  .package_prefix = "1.1.5+ds1-1+deb12u",
                  .package_number = 1},
};

const char *oci_name(enum oci_kind kind)
{
    return minimums[kind].name;
}

enum oci_kind oci_kind_of(const char *name)
{
    return text_equal(name, "runc") ? OCI_RUNC : OCI_CRUN;
}

/* Reads the leading digits of `text`, and advances it. */
static bool read_number(struct str *text, int64_t *ret)
{
    struct str digits = {text->at, 0};
    AUTO(err_freep) struct err *e = NULL;

    while (digits.size < text->size && digits.at[digits.size] >= '0' &&
           digits.at[digits.size] <= '9')
        digits.size++;
    e = num_parse_int64(digits, 0, INT32_MAX, ret);
    *text = (struct str){text->at + digits.size, text->size - digits.size};
    return !e;
}

/* Reads a version such as "1.1.5+ds1". A suffix "-rc..." or "~..." makes it early. */
static bool read_version(struct str text, int64_t ret[3], bool *ret_is_early)
{
    for (size_t i = 0; i < 3; i++) {
        ret[i] = 0;
        if (i > 0 && (text.size == 0 || *text.at != '.'))
            continue;
        if (i > 0)
            text = (struct str){text.at + 1, text.size - 1};
        if (!read_number(&text, &ret[i]))
            return false;
    }
    *ret_is_early = str_starts_with(text, STR("-rc")) || str_starts_with(text, STR("~"));
    return true;
}

static bool is_enough(const int64_t found[3], bool is_early, const int64_t want[3])
{
    for (size_t i = 0; i < 3; i++)
        if (found[i] != want[i])
            return found[i] > want[i];
    return !is_early;
}

static bool is_mended(const struct minimum *m, const char *package)
{
    struct str rest = str_of(package);
    size_t size = m->package_prefix ? strlen(m->package_prefix) : 0;
    int64_t number = 0;

    if (size == 0 || !str_starts_with(rest, str_of(m->package_prefix)))
        return false;
    rest = (struct str){rest.at + size, rest.size - size};
    return read_number(&rest, &number) && number >= m->package_number;
}

struct err *oci_check_version(enum oci_kind kind, const char *output, const char *package,
                              char ret_version[OCI_VERSION_SIZE])
{
    const struct minimum *m = &minimums[kind];
    struct str rest = str_of(output);
    struct str line = str_cut(&rest, '\n');
    int64_t parts[3] = {0};
    bool is_early = false;

    if (!str_equal(str_cut(&line, ' '), str_of(m->name)) ||
        !str_equal(str_cut(&line, ' '), STR("version")) || line.size == 0 ||
        line.size >= OCI_VERSION_SIZE || !read_version(line, parts, &is_early))
        return err_new(ERR_UNAVAILABLE, "%s prints no version", m->name);
    if (!is_enough(parts, is_early, m->parts) && !is_mended(m, package))
        return err_new(ERR_UNAVAILABLE, "%s " STR_FMT " is too old: %s; want %s or newer", m->name,
                       STR_ARG(line), m->why, m->text);
    (void)snprintf(ret_version, OCI_VERSION_SIZE, STR_FMT, STR_ARG(line));
    return NULL;
}

void oci_done(struct oci *o)
{
    for (size_t i = 0; i < OCI_KINDS; i++)
        free(o->paths[i]);
    *o = (struct oci){0};
}
