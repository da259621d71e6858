/* gpu_peers.c - connections between the gpus of a machine as a text */

#include "model/gpu_peers.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/index_set.h"

enum {
    GPU_PEERS_INDEX_MAX = 1024
};

/* Is the connection of `i` already in the text, by a gpu before it? */
static bool gpu_peers_is_told(const char (*connections)[GPU_CONNECTION_SIZE], size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(connections[k], connections[i]) == 0)
            return true;
    return false;
}

void gpu_peers_format(const char (*connections)[GPU_CONNECTION_SIZE], size_t n,
                      char ret[GPU_PEERS_SIZE])
{
    AUTO(buf_done) struct buf b = {0};

    for (size_t i = 0; i < n; i++) {
        struct index_set same = {0};
        AUTO_FREE char *indices = NULL;

        if (!connections[i][0] || gpu_peers_is_told(connections, i))
            continue;
        for (size_t k = i; k < n; k++)
            if (strcmp(connections[k], connections[i]) == 0)
                (void)index_set_add(&same, k);
        indices = index_set_format(&same);
        index_set_done(&same);
        buf_printf(&b, "%s%s:%s", b.size > 0 ? " " : "", connections[i], indices);
    }
    ret[0] = '\0';
    if (b.size > 0 && b.size < GPU_PEERS_SIZE)
        (void)snprintf(ret, GPU_PEERS_SIZE, "%s", b.at);
}

bool gpu_peers_find(const char *peers, size_t index, char ret[GPU_CONNECTION_SIZE])
{
    struct str rest = str_of(peers);

    while (rest.at) {
        struct str indices = str_cut(&rest, ' ');
        struct str name = str_cut(&indices, ':');
        struct index_set set = {0};
        AUTO(err_freep)
        struct err *e = indices.at ? index_set_parse(indices, GPU_PEERS_INDEX_MAX, &set)
                                   : err_new(ERR_INVALID, "gpu connections: want NAME:INDICES");
        bool is_found = !e && index_set_has(&set, index) && name.size < GPU_CONNECTION_SIZE;

        index_set_done(&set);
        if (!is_found)
            continue;
        (void)snprintf(ret, GPU_CONNECTION_SIZE, "%.*s", (int)name.size, name.at);
        return true;
    }
    return false;
}
