/* fuzz_node_credentials.c - fuzzes nodes.yaml: what is taken can be extended and taken again */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "access/node_credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t digest[SHA256_SIZE] = {1};
    const struct str text = {.at = (const char *)data, .size = size};
    struct users *users = NULL;
    struct users *more = NULL;
    char *changed = NULL;
    AUTO(err_freep) struct err *e = node_credentials_parse("n", text, &users);
    struct err *failed;

    assert(!e == (users != NULL));
    if (e || users->n == NODES_MAX) {
        users_free(users);
        return 0;
    }
    for (size_t i = 0; i < users->n; i++)
        assert(users->at[i].has_token && users->at[i].n_grants == 0);
    failed = node_credentials_set("n", text, "fuzz", digest, &changed);
    assert(!failed);
    if (changed) {
        failed = node_credentials_parse("n", str_of(changed), &more);
        assert(!failed && more->n >= users->n && more->n <= users->n + 1);
    }
    users_free(users);
    users_free(more);
    free(changed);
    return 0;
}
