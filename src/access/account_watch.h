/*
 * account_watch.h - tells which tokens of service accounts end
 *
 * A token ends with the pod that it is bound to and with its account (account_token.h). Requests
 * with such a token are refused anyway; connections that it has opened are to end, too.
 */
#pragma once

#include "access/auth.h"
#include "base/attr.h"
#include "store/store.h"

struct account_watch;

/* Identifies the tokens that are bound to a pod, or that are of an account, by its uid; never 0. */
uint64_t account_credential(const char *uid);

/* Calls `revoked` for each pod and each service account that is deleted from now on. */
struct err *account_watch_new(struct store *s, token_revoked_fn revoked, void *arg,
                              struct account_watch **ret) MUST_CHECK;
void account_watch_free(struct account_watch *w); /* accepts NULL */

static inline void account_watch_freep(struct account_watch **w)
{
    account_watch_free(*w);
}
