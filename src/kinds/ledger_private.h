/* ledger_private.h - keys of the objects that the ledger writes */
#pragma once

#include "store/store.h"

static inline struct store_key ledger_key(const char *uuid)
{
    return (struct store_key){.group = "mete.dev", .resource = "ledger", .ns = "", .name = uuid};
}

static inline struct store_key placement_key(const char *ns, const char *name)
{
    return (struct store_key){
        .group = "mete.dev", .resource = "placements", .ns = ns, .name = name};
}

static inline struct store_key pod_key(const char *ns, const char *name)
{
    return (struct store_key){.group = "", .resource = "pods", .ns = ns, .name = name};
}

static inline struct store_key node_key(const char *name)
{
    return (struct store_key){.group = "", .resource = "nodes", .ns = "", .name = name};
}
