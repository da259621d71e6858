/* prepare.h - blocking work before a pod's first container and after its last (in the worker) */
#pragma once

#include "node/pod/pods.h"
#include "node/runtime/userns.h"

/* Looks up the users, makes the volumes, checks that their mount points exist. */
struct err *prepare_pod(struct preparation *p) MUST_CHECK;
/* Unmounts and removes a pod's directories. */
struct err *unprepare_pod(const char *const *dirs, size_t n) MUST_CHECK;

/* Adopts the user id ranges of the pods in `dir`, DATA/node; logs bad ones. */
void prepare_adopt_ranges(const char *dir, struct userns_ranges *r);
