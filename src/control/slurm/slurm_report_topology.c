/* slurm_report_topology.c - rows of the switches above nodes, from topology.conf */
#include <stdlib.h>

#include "control/slurm/slurm_report_private.h"
#include "model/hostlist.h"

/* Adds the node to the switches of its path, "core/rack1". */
static void add_path(json_t *by_name, const char *node, const char *path)
{
    struct str rest = str_of(path);
    json_t *parent = NULL;
    int64_t level = 0;

    for (const char *c = path; *c; c++)
        level += *c == '/';
    for (; rest.at; level--) {
        struct str part = str_cut(&rest, '/');
        AUTO_FREE char *name = mem_strndup(part.at, part.size);
        json_t *row = json_object_at(by_name, name);

        json_put_text(row, "name", name);
        if (level > json_int(row, "level", -1))
            json_put_int(row, "level", level);
        json_put_bool(json_object_at(row, "nodes"), node, true);
        if (parent)
            json_put_bool(json_object_at(parent, "switches"), name, true);
        parent = row;
    }
}

/* Puts the keys of a member, as a hostlist, in the member's place. */
static void put_hostlist(json_t *row, const char *key)
{
    struct hostlist names = {0};
    AUTO_FREE char *text = NULL;
    const char *name;
    json_t *value;

    json_object_foreach (json_object_get(row, key), name, value)
        hostlist_add(&names, name);
    hostlist_sort(&names);
    text = hostlist_format(&names);
    json_put_text(row, key, text && *text ? text : NULL);
    hostlist_done(&names);
}

/* Switches nearest to nodes come first, then by name. */
static int compare_switches(const void *a, const void *b)
{
    const json_t *one = *(json_t *const *)a;
    const json_t *other = *(json_t *const *)b;
    int64_t more = json_int(one, "level", 0) - json_int(other, "level", 0);

    return more != 0 ? (more > 0) - (more < 0)
                     : strcmp(text_or_empty(json_text(one, "name")),
                              text_or_empty(json_text(other, "name")));
}

json_t *slurm_topology_rows(const struct slurm_jobs *s)
{
    AUTO(json_freep) json_t *by_name = json_object();
    VEC(json_t *) all = {0};
    json_t *rows = json_array();
    const char *name;
    json_t *value;

    json_object_foreach (s->switches, name, value)
        add_path(by_name, name, text_or_empty(json_string_value(value)));
    json_object_foreach (by_name, name, value)
        vec_add(&all, value);
    if (all.n > 0)
        qsort(all.at, all.n, sizeof(*all.at), compare_switches);
    VEC_EACH (&all, row) {
        put_hostlist(*row, "nodes");
        put_hostlist(*row, "switches");
        (void)json_array_append(rows, *row);
    }
    vec_done(&all);
    return rows;
}
