/* submit.c - applies the options of submissions: sources, values, environment */

#include "slurm/submit.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#include "base/mem.h"
#include "slurm/step_layout.h"
#include "slurm/submit_options.h"

enum {
    VARIABLE_SIZE = 64 /* of the longest variable of an option, with its prefix */
};

static bool submit_has(const struct submit_option *o, unsigned command)
{
    return o->commands == 0 || (o->commands & (command ? command : SLURM_SBATCH));
}

static const struct submit_option *submit_find(const char *name, unsigned command)
{
    for (const struct submit_option *o = submit_options; o->name; o++)
        if (submit_has(o, command) && text_equal(o->name, name))
            return o;
    return NULL;
}

struct slurm_option *slurm_submit_options(unsigned command)
{
    struct slurm_option *all;
    size_t n = 0;

    while (submit_options[n].name)
        n++;
    all = mem_alloc((n + 1) * sizeof(*all));
    n = 0;
    for (const struct submit_option *o = submit_options; o->name; o++)
        if (submit_has(o, command))
            all[n++] = (struct slurm_option){o->name, NULL, o->letter, o->takes};
    return all;
}

struct err *slurm_submit_apply(struct slurm_submit *s, const struct slurm_words *words)
{
    s->level++;
    if (!s->spec)
        s->spec = json_object();
    for (size_t i = 0; i < words->given.n; i++) {
        const struct submit_option *o = submit_find(words->given.at[i].name, s->command);

        assert(o); /* the words were parsed by this table */
        TRY(o->read(s, o, words->given.at[i].value));
    }
    return NULL;
}

static struct err *apply_variable(struct slurm_submit *s, const struct submit_option *o,
                                  const char *value)
{
    if (!value)
        return NULL;
    return o->read(s, o, o->takes == SLURM_TAKES_OPTIONAL && !*value ? NULL : value);
}

static struct err *apply_srun_variables(struct slurm_submit *s,
                                        const char *(*find)(const char *name))
{
    const char *size = find("SLURM_DIST_PLANESIZE");
    AUTO_FREE char *plane = size ? mem_format("plane=%s", size) : NULL;

    for (const struct submit_variable *v = srun_variables; v->name; v++) {
        const struct submit_option *o = submit_find(v->option, SLURM_SRUN);
        const char *value = find(v->name);

        assert(o); /* the table names options of srun */
        if (plane && text_equal(v->name, "SLURM_DISTRIBUTION") && text_equal(value, "plane"))
            value = plane;
        TRY(apply_variable(s, o, value));
    }
    return NULL;
}

struct err *slurm_submit_apply_variables(struct slurm_submit *s,
                                         const char *(*find)(const char *name))
{
    char name[VARIABLE_SIZE] = "";
    int n = snprintf(name, sizeof(name), "%s_", s->command == SLURM_SALLOC ? "SALLOC" : "SBATCH");

    s->level++;
    if (!s->spec)
        s->spec = json_object();
    if (s->command == SLURM_SRUN)
        return apply_srun_variables(s, find);
    for (const struct submit_option *o = submit_options; o->name; o++) {
        if (!o->variable || !submit_has(o, s->command))
            continue;
        (void)snprintf(name + n, sizeof(name) - (size_t)n, "%s", o->variable);
        TRY(apply_variable(s, o, find(name)));
    }
    return NULL;
}

/* ---- the environment ---- */

/* Is the variable NAME=VALUE in the list of --export? */
static bool export_names(struct str list, const char *variable)
{
    struct str name = str_of(variable);
    struct str value = name;

    name = str_cut(&value, '=');
    while (list.at)
        if (str_equal(str_cut(&list, ','), name))
            return true;
    return false;
}

/* Is the variable replaced by NAME=VALUE of the list? */
static bool export_replaces(struct str list, const char *variable)
{
    size_t size = strcspn(variable, "=") + 1;

    while (list.at) {
        struct str item = str_cut(&list, ',');

        if (item.size >= size && memcmp(item.at, variable, size) == 0)
            return true;
    }
    return false;
}

static void export_add(json_t *list, struct str text)
{
    if (text.size > 0 && *text.at != '=' && memchr(text.at, '=', text.size))
        json_array_append_new(list, json_stringn(text.at, text.size));
}

/* Adds the variables of --export-file, in place of others of their names. */
static void export_put_file(const struct slurm_submit *s, json_t *to)
{
    size_t at = 0;

    while (at < s->variables.size) {
        const char *one = s->variables.at + at;
        size_t size = strlen(one);
        size_t name = strcspn(one, "=") + 1;

        for (size_t i = json_array_size(to); i > 0 && name <= size; i--)
            if (strncmp(json_string_value(json_array_get(to, i - 1)), one, name) == 0)
                (void)json_array_remove(to, i - 1); /* is there */
        export_add(to, (struct str){one, size});
        at += size + 1;
    }
}

void slurm_submit_put_environment(struct slurm_submit *s, const char *const *environment)
{
    struct str list = str_of(s->exported);
    struct str first = list;
    bool is_all;
    json_t *to;

    first = str_cut(&first, ',');
    is_all = !list.at || (first.size == 3 && strncasecmp(first.at, "ALL", 3) == 0);
    json_put(s->spec, "environment", json_array());
    to = json_array_at(s->spec, "environment");
    for (; *environment; environment++) {
        bool is_kept =
            is_all || text_starts_with(*environment, "SLURM_") || export_names(list, *environment);

        if (is_kept && !export_replaces(list, *environment))
            export_add(to, str_of(*environment));
    }
    while (list.at)
        export_add(to, str_cut(&list, ','));
    export_put_file(s, to);
    if (s->command != SLURM_SRUN)
        step_distribution_put(json_text_filled(s->step, "distribution"), to);
    if (s->exported && !is_all) {
        AUTO_FREE char *text = mem_format("SLURM_EXPORT_ENV=%s", s->exported);

        export_add(to, str_of(text));
    }
}

void slurm_submit_done(struct slurm_submit *s)
{
    json_decref(s->spec);
    json_decref(s->step);
    VEC_EACH (&s->warnings, warning)
        free(*warning);
    vec_done(&s->warnings);
    free(s->wrap);
    free(s->exported);
    buf_done(&s->variables);
    free(s->cluster);
    *s = (struct slurm_submit){0};
}
