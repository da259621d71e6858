/*
 * cel.h - the part of CEL (Common Expression Language) that selectors of devices use
 *
 * An expression reads one device and says yes or no:
 *
 *   device.driver == "gpu.nvidia.com" &&
 *   device.attributes["gpu.nvidia.com"].productName.startsWith("NVIDIA H100") &&
 *   device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0
 *
 * Known are: literals (null, booleans, whole numbers, strings), lists, `device` with its members
 * driver, attributes and capacity, the operators ?: || && ! == != < <= > >= in + - * / %, indexes,
 * parentheses, has(x.y), size, quantity, isQuantity, semver, isSemver, int and string; the methods
 * startsWith, endsWith, contains, matches, lowerAscii, upperAscii and size of strings; compareTo,
 * isGreaterThan, isLessThan, add, sub, sign, asInteger and isInteger of quantities; compareTo,
 * isGreaterThan, isLessThan, major, minor and patch of versions. All else is refused by its name.
 *
 * As in CEL, && and || give an answer in spite of an error on one side if the other side decides.
 * The value of a missing attribute is an error; has() and `in` ask first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    CEL_TEXT_MAX = 10 << 10, /* bytes of an expression */
    CEL_STEPS_MAX = 20000    /* of one evaluation; a node of the expression, or a compared byte */
};

enum cel_kind {
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_STRING,
    CEL_VERSION,
    CEL_QUANTITY,
    CEL_LIST,    /* only inside expressions, as the following */
    CEL_DEVICE,  /* `device` */
    CEL_DOMAINS, /* device.attributes, device.capacity */
    CEL_DOMAIN,  /* device.attributes["gpu.nvidia.com"] */
};

struct cel_version {
    int64_t major;
    int64_t minor;
    int64_t patch;
    struct str pre; /* "rc.1"; empty: a release */
};

/* A value. Texts and lists are borrowed. */
struct cel_value {
    enum cel_kind kind;
    bool is_capacity; /* of CEL_DOMAINS and CEL_DOMAIN */
    union {
        bool yes;
        int64_t number;  /* also of a quantity, in 1/1000 */
        struct str text; /* also the domain */
        struct cel_version version;
        struct {
            const struct cel_value *at;
            size_t n;
        } list;
    };
};

/* An attribute or a capacity of a device: domain "gpu.nvidia.com", name "productName". */
struct cel_attribute {
    struct str domain;
    struct str name;
    struct cel_value value;
    bool is_capacity; /* the value is a quantity */
};

struct cel_device {
    struct str driver;
    const struct cel_attribute *attributes;
    size_t n_attributes;
};

struct cel;

/* ERR_INVALID: malformed, too long, or with a part that is not known: "column 8: ...". */
struct err *cel_parse(struct str text, struct cel **ret) MUST_CHECK;
/* The same for a job: `job.NAME` is the attribute NAME of the domain CEL_JOB, and there is no
 * `device`. */
#define CEL_JOB "job"
struct err *cel_parse_job(struct str text, struct cel **ret) MUST_CHECK;
void cel_free(struct cel *c); /* accepts NULL */
static inline void cel_freep(struct cel **c)
{
    cel_free(*c);
}

/* ERR_INVALID: "column 8: ...": no such attribute, operands of wrong kinds, a number out of range,
 * no boolean, or more than CEL_STEPS_MAX steps. `*ret` changes on success only. */
struct err *cel_matches(const struct cel *c, const struct cel_device *d, bool *ret) MUST_CHECK;

/* Reads "1.2.3" or "1.2.3-rc.1+build", whose text must outlive the value. False: another text. */
bool cel_version_read(struct str text, struct cel_version *ret);
