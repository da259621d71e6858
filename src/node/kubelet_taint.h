/*
 * kubelet_taint.h - the taint of a Node of which a gpu, or the driver, does not work
 *
 * A taint's text is "KEY:EFFECT", as in "mete.dev/gpu-health:NoSchedule". The taint has no value,
 * so that it stays the same from one fault to the next.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"

struct kubelet_taint {
    char *key;          /* NULL: no taint */
    const char *effect; /* static */
};

/* "" is no taint. ERR_INVALID: no such key or effect. */
struct err *kubelet_taint_parse(const char *text, struct kubelet_taint *ret) MUST_CHECK;
void kubelet_taint_done(struct kubelet_taint *t);

/* The Node's taints with this one (`is_set`) or without it. A new array; NULL: nothing changes. */
json_t *kubelet_taint_list(const struct kubelet_taint *t, const json_t *node, bool is_set);
