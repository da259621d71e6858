/* seccomp.c - the seccomp profile as JSON */

#include "node/spec/seccomp.h"

#include <errno.h>

#include "base/mem.h"
#include "node/spec/seccomp_table.h"

static json_t *add_rule(json_t *rules, const char *action, int error)
{
    json_t *rule = json_object();

    (void)json_array_at(rule, "names");
    json_put_text(rule, "action", action);
    if (error)
        json_put_int(rule, "errnoRet", error);
    (void)json_array_append_new(rules, rule);
    return rule;
}

static void add_name(json_t *rule, const char *name)
{
    (void)json_array_append_new(json_array_at(rule, "names"), json_string(name));
}

static bool is_allowed(const json_t *rules, const char *name)
{
    return json_has_text(json_object_get(json_array_get(rules, 0), "names"), name);
}

/* Adds the groups that these capabilities allow. */
static void add_allowed(json_t *rules, const json_t *capabilities)
{
    json_t *rule = add_rule(rules, "SCMP_ACT_ALLOW", 0);

    for (size_t i = 0; i < seccomp_allowed_count; i++) {
        const struct seccomp_group *g = &seccomp_allowed[i];

        for (size_t k = 0;
             (!g->capability || json_has_text(capabilities, g->capability)) && g->names[k]; k++)
            add_name(rule, g->names[k]);
    }
    for (size_t i = 0; i < seccomp_arguments_count; i++) {
        const struct seccomp_argument *a = &seccomp_arguments[i];

        if (a->not_with && json_has_text(capabilities, a->not_with) && !is_allowed(rules, a->name))
            add_name(rule, a->name);
    }
}

static void add_argument(json_t *rules, const struct seccomp_argument *a)
{
    static const char *const ops[] = {[SECCOMP_EQUAL] = "SCMP_CMP_EQ",
                                      [SECCOMP_HAS] = "SCMP_CMP_MASKED_EQ",
                                      [SECCOMP_GREATER] = "SCMP_CMP_GT"};
    json_t *rule = add_rule(rules, a->error ? "SCMP_ACT_ERRNO" : "SCMP_ACT_ALLOW", a->error);
    json_t *want = json_object();
    bool is_masked = a->op == SECCOMP_HAS;

    add_name(rule, a->name);
    json_put_int(want, "index", a->index);
    json_put_int(want, "value", (int64_t)(is_masked ? a->mask : a->value));
    if (is_masked)
        json_put_int(want, "valueTwo", (int64_t)a->value);
    json_put_text(want, "op", ops[a->op]);
    (void)json_array_append_new(json_array_at(rule, "args"), want);
}

/* Adds calls that fail with EPERM; calls allowed by argument have their own errors. */
static void add_refused(json_t *rules)
{
    json_t *rule = NULL;

    for (size_t i = 0; seccomp_refused[i]; i++) {
        bool is_by_argument = false;

        for (size_t k = 0; k < seccomp_arguments_count; k++)
            is_by_argument =
                is_by_argument || text_equal(seccomp_arguments[k].name, seccomp_refused[i]);
        if (is_by_argument || is_allowed(rules, seccomp_refused[i]))
            continue;
        if (!rule)
            rule = add_rule(rules, "SCMP_ACT_ERRNO", EPERM);
        add_name(rule, seccomp_refused[i]);
    }
}

json_t *seccomp_default(const json_t *capabilities)
{
#if defined(__x86_64__)
    static const char architecture[] = "SCMP_ARCH_X86_64";
#else
    static const char architecture[] = "SCMP_ARCH_AARCH64";
#endif
    json_t *profile = json_object();
    json_t *rules = json_array_at(profile, "syscalls");

    json_put_text(profile, "defaultAction", "SCMP_ACT_ERRNO");
    json_put_int(profile, "defaultErrnoRet", ENOSYS);
    /* No 32-bit system calls: some take arguments from memory (socketcall), invisible to filters.
     */
    (void)json_array_append_new(json_array_at(profile, "architectures"), json_string(architecture));
    add_allowed(rules, capabilities);
    for (size_t i = 0; i < seccomp_arguments_count; i++)
        if (!is_allowed(rules, seccomp_arguments[i].name))
            add_argument(rules, &seccomp_arguments[i]);
    add_refused(rules);
    return profile;
}
