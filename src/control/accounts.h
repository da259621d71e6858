/*
 * accounts.h - the default objects of each namespace: the service account `default`, and the config
 * map `kube-root-ca.crt` with the CA certificate of the API server
 */
#pragma once

#include "base/loop.h"
#include "kinds/object/objects.h"

struct accounts;

struct accounts_options {
    struct loop *loop;
    struct objects *objects; /* borrowed, outlives this, with its store */
    const char *ca;          /* PEM; NULL: no config map */
};

struct err *accounts_new(const struct accounts_options *o, struct accounts **ret) MUST_CHECK;
void accounts_free(struct accounts *a); /* accepts NULL */
