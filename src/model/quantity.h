/* quantity.h - Kubernetes quantities ("500m", "1.5Gi", "2e3") as integers in thousandths */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* A value, exact to 1/1000 (finer is rounded up, as Kubernetes does), within int64 thousandths. */
struct quantity {
    int64_t milli;
    enum {
        QUANTITY_DECIMAL,
        QUANTITY_BINARY,
        QUANTITY_EXPONENT
    } form; /* the written form, which quantity_format keeps */
};

enum {
    QUANTITY_TEXT_SIZE = 40
};

/* ERR_INVALID: the text is malformed or out of range; the message has the text and the right form.
 * Negative values are valid. */
struct err *quantity_parse(struct str text, struct quantity *ret) MUST_CHECK;

/*
 * The canonical text, as in Kubernetes: "1Gi" stays, "1024Mi" becomes "1Gi", "0.5" becomes "500m".
 * A value without a binary suffix is written in decimal ("812.5Ki" as "832k", in Kubernetes
 * "832000"), so that parsing and formatting it again changes nothing.
 */
void quantity_format(struct quantity q, char ret[QUANTITY_TEXT_SIZE]);

/* Whole units, rounded up. */
int64_t quantity_units(struct quantity q);
