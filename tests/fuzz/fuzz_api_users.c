/* fuzz_api_users.c - fuzzes users.yaml: the parser accepts the file, or says why not */

#include <assert.h>
#include <stdint.h>

#include "access/users.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct users *users = NULL;
    AUTO(err_freep)
    struct err *e = users_parse("u", (struct str){.at = (const char *)data, .size = size}, &users);

    assert(!e == (users != NULL));
    for (size_t i = 0; users && i < users->n; i++)
        assert(users->at[i].name && users->at[i].n_groups <= USER_GROUPS_MAX);
    users_free(users);
    return 0;
}
