/* cdi_check.c - the rules of the CDI specification for files */

#include <ctype.h>

#include "base/mem.h"
#include "node/spec/cdi_file.h"

/* Versions of the specification, the oldest first. */
static const char *const versions[] = {"0.3.0", "0.4.0", "0.5.0", "0.6.0",
                                       "0.7.0", "0.8.0", "1.0.0", "1.1.0"};

enum cdi_version {
    V_0_3,
    V_0_4,
    V_0_5,
    V_0_6,
    V_0_7,
    V_1_1 = 7
};

/* A member of an object. */
struct cdi_member {
    const char *name;
    json_type type;
    enum cdi_version since;
    bool is_required;
};

static const struct cdi_member file_members[] = {
    {"cdiVersion", JSON_STRING, V_0_3, true},      {"kind", JSON_STRING, V_0_3, true},
    {"annotations", JSON_OBJECT, V_0_6, false},    {"devices", JSON_ARRAY, V_0_3, true},
    {"containerEdits", JSON_OBJECT, V_0_3, false}, {0}};

static const struct cdi_member device_members[] = {{"name", JSON_STRING, V_0_3, true},
                                                   {"annotations", JSON_OBJECT, V_0_6, false},
                                                   {"containerEdits", JSON_OBJECT, V_0_3, true},
                                                   {0}};

static const struct cdi_member edit_members[] = {{"env", JSON_ARRAY, V_0_3, false},
                                                 {"deviceNodes", JSON_ARRAY, V_0_3, false},
                                                 {"netDevices", JSON_ARRAY, V_1_1, false},
                                                 {"hooks", JSON_ARRAY, V_0_3, false},
                                                 {"mounts", JSON_ARRAY, V_0_3, false},
                                                 {"intelRdt", JSON_OBJECT, V_0_7, false},
                                                 {"additionalGids", JSON_ARRAY, V_0_7, false},
                                                 {0}};

static const struct cdi_member node_members[] = {
    {"path", JSON_STRING, V_0_3, true},         {"hostPath", JSON_STRING, V_0_5, false},
    {"type", JSON_STRING, V_0_3, false},        {"major", JSON_INTEGER, V_0_3, false},
    {"minor", JSON_INTEGER, V_0_3, false},      {"fileMode", JSON_INTEGER, V_0_3, false},
    {"permissions", JSON_STRING, V_0_3, false}, {"uid", JSON_INTEGER, V_0_3, false},
    {"gid", JSON_INTEGER, V_0_3, false},        {0}};

static const struct cdi_member net_members[] = {
    {"hostInterfaceName", JSON_STRING, V_1_1, true}, {"name", JSON_STRING, V_1_1, true}, {0}};

static const struct cdi_member hook_members[] = {
    {"hookName", JSON_STRING, V_0_3, true},  {"path", JSON_STRING, V_0_3, true},
    {"args", JSON_ARRAY, V_0_3, false},      {"env", JSON_ARRAY, V_0_3, false},
    {"timeout", JSON_INTEGER, V_0_3, false}, {0}};

static const struct cdi_member mount_members[] = {{"hostPath", JSON_STRING, V_0_3, true},
                                                  {"containerPath", JSON_STRING, V_0_3, true},
                                                  {"options", JSON_ARRAY, V_0_3, false},
                                                  {"type", JSON_STRING, V_0_4, false},
                                                  {0}};

static const struct cdi_member rdt_members[] = {
    {"closID", JSON_STRING, V_0_7, false},         {"l3CacheSchema", JSON_STRING, V_0_7, false},
    {"memBwSchema", JSON_STRING, V_0_7, false},    {"schemata", JSON_ARRAY, V_1_1, false},
    {"enableMonitoring", JSON_TRUE, V_1_1, false}, {0}};

/* The lists of edits whose items are objects. */
static const struct {
    const char *name;
    const struct cdi_member *members;
} edit_lists[] = {{"deviceNodes", node_members},
                  {"netDevices", net_members},
                  {"hooks", hook_members},
                  {"mounts", mount_members}};

/* ---- objects ---- */

static const char *type_name(json_type type)
{
    return type == JSON_STRING    ? "a string"
           : type == JSON_OBJECT  ? "an object"
           : type == JSON_ARRAY   ? "a list"
           : type == JSON_INTEGER ? "a whole number"
                                  : "true or false";
}

static const struct cdi_member *member_find(const struct cdi_member *members, const char *name)
{
    for (; members->name; members++)
        if (text_equal(members->name, name))
            return members;
    return NULL;
}

/* Checks names, types and versions of an object's members. */
static struct err *check_object(const json_t *object, const struct cdi_member *members,
                                enum cdi_version version)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(object))
        return err_new(ERR_INVALID, "want an object");
    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        const struct cdi_member *m = member_find(members, key);

        if (!m)
            return err_new(ERR_INVALID, "unknown member '%s'", key);
        if (m->type == JSON_TRUE ? !json_is_boolean(value) : json_typeof(value) != m->type)
            return err_new(ERR_INVALID, "%s: want %s", key, type_name(m->type));
        if (m->since > version)
            return err_new(ERR_INVALID, "%s: needs cdiVersion %s, and the file has %s", key,
                           versions[m->since], versions[version]);
    }
    for (; members->name; members++)
        if (members->is_required && !json_object_get(object, members->name))
            return err_new(ERR_INVALID, "%s is missing", members->name);
    return NULL;
}

/* Checks the annotations and other lists of texts. */
static struct err *check_texts(const json_t *list, const char *what)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item)
        if (!json_is_string(item))
            return err_new(ERR_INVALID, "%s[%zu]: want a string", what, i);
    return NULL;
}

/* ---- names ---- */

/* A name begins with a letter (of devices also a digit), ends with a letter or digit, and has only
 * these and `marks` between. */
static bool is_name(struct str text, const char *marks, bool begins_with_digit)
{
    if (text.size == 0 || !isalnum((unsigned char)text.at[text.size - 1]) ||
        !(isalpha((unsigned char)text.at[0]) ||
          (begins_with_digit && isdigit((unsigned char)text.at[0]))))
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (!isalnum((unsigned char)text.at[i]) && !strchr(marks, text.at[i]))
            return false;
    return true;
}

static struct err *check_kind(const char *kind, enum cdi_version version)
{
    struct str class = str_of(kind);
    struct str vendor = str_cut(&class, '/');

    if (!class.at || !is_name(vendor, "_-.", false) || !is_name(class, "_-.", false))
        return err_new(ERR_INVALID, "kind '%s': want VENDOR/CLASS", kind);
    if (memchr(class.at, '.', class.size) && version < V_0_6)
        return err_new(ERR_INVALID, "kind '%s': a dot in the class needs cdiVersion 0.6.0", kind);
    return NULL;
}

static struct err *check_device_name(const char *name, enum cdi_version version)
{
    if (!is_name(str_of(name), "_-.:", true))
        return err_new(ERR_INVALID, "name '%s': want letters, digits and _ - . : between them",
                       name);
    if (isdigit((unsigned char)name[0]) && version < V_0_5)
        return err_new(ERR_INVALID, "name '%s': a digit at its begin needs cdiVersion 0.5.0", name);
    return NULL;
}

/* ---- edits ---- */

static bool is_among(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (text_equal(text, *words))
            return true;
    return false;
}

static struct err *check_node(const json_t *node)
{
    static const char *const types[] = {"b", "c", "u", "p", NULL};
    const char *type = json_text(node, "type");
    const char *permissions = json_text(node, "permissions");

    if (type && !is_among(type, types))
        return err_new(ERR_INVALID, "type '%s': want b, c, u or p", type);
    if (permissions && !text_equal(permissions, "none") &&
        permissions[strspn(permissions, "rwm")] != '\0')
        return err_new(ERR_INVALID, "permissions '%s': want letters of rwm, or none", permissions);
    return NULL;
}

static struct err *check_hook(const json_t *hook)
{
    static const char *const names[] = {
        "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop",
        NULL};
    const char *name = json_text(hook, "hookName");

    if (!is_among(name, names))
        return err_new(ERR_INVALID, "hookName '%s' is not a hook of the OCI specification", name);
    TRY(check_texts(json_object_get(hook, "args"), "args"));
    return check_texts(json_object_get(hook, "env"), "env");
}

static struct err *check_item(const json_t *item, const struct cdi_member *members,
                              enum cdi_version version)
{
    TRY(check_object(item, members, version));
    if (members == node_members)
        return check_node(item);
    if (members == hook_members)
        return check_hook(item);
    return check_texts(json_object_get(item, "options"), "options");
}

static struct err *check_env(const json_t *env)
{
    const json_t *item = NULL;
    size_t i = 0;

    TRY(check_texts(env, "env"));
    json_array_foreach (env, i, item) {
        const char *text = json_string_value(item);

        if (!strchr(text, '=') || text[0] == '=')
            return err_new(ERR_INVALID, "env[%zu] '%s': want NAME=VALUE", i, text);
    }
    return NULL;
}

static struct err *check_edits(const json_t *edits, enum cdi_version version)
{
    const json_t *item = NULL;
    size_t i = 0;

    TRY(check_object(edits, edit_members, version));
    TRY(check_env(json_object_get(edits, "env")));
    for (size_t k = 0; k < COUNT(edit_lists); k++) {
        json_array_foreach (json_object_get(edits, edit_lists[k].name), i, item) {
            struct err *e = check_item(item, edit_lists[k].members, version);

            if (e)
                return err_wrap(e, "%s[%zu]", edit_lists[k].name, i);
        }
    }
    json_array_foreach (json_object_get(edits, "additionalGids"), i, item)
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return err_new(ERR_INVALID, "additionalGids[%zu]: want a group id", i);
    if (json_object_get(edits, "intelRdt")) {
        struct err *e = check_object(json_object_get(edits, "intelRdt"), rdt_members, version);

        return e ? err_wrap(e, "intelRdt") : NULL;
    }
    return NULL;
}

/* ---- files ---- */

static struct err *check_device(const json_t *device, enum cdi_version version)
{
    const json_t *edits = json_object_get(device, "containerEdits");
    struct err *e = NULL;

    TRY(check_object(device, device_members, version));
    TRY(check_device_name(json_text(device, "name"), version));
    if (json_object_size(edits) == 0)
        return err_new(ERR_INVALID, "containerEdits is empty");
    e = check_edits(edits, version);
    return e ? err_wrap(e, "containerEdits") : NULL;
}

static struct err *check_devices(const json_t *devices, enum cdi_version version)
{
    AUTO(json_freep) json_t *names = json_object();
    const json_t *device = NULL;
    size_t i = 0;

    if (json_array_size(devices) == 0)
        return err_new(ERR_INVALID, "devices: want at least one");
    json_array_foreach (devices, i, device) {
        struct err *e = check_device(device, version);

        if (e)
            return err_wrap(e, "devices[%zu]", i);
        if (json_object_get(names, json_text(device, "name")))
            return err_new(ERR_INVALID, "devices[%zu]: name '%s' is there twice", i,
                           json_text(device, "name"));
        json_put_bool(names, json_text(device, "name"), true);
    }
    return NULL;
}

struct err *cdi_file_check(const json_t *file)
{
    const char *text = json_text(file, "cdiVersion");
    const json_t *edits = json_object_get(file, "containerEdits");
    size_t version = 0;

    while (version < COUNT(versions) && !text_equal(versions[version], text))
        version++;
    if (text && version == COUNT(versions))
        return err_new(ERR_INVALID, "cdiVersion '%s' is not known: want 0.3.0 to %s", text,
                       versions[COUNT(versions) - 1]);
    if (!text)
        version = 0;
    TRY(check_object(file, file_members, (enum cdi_version)version));
    TRY(check_kind(json_text(file, "kind"), (enum cdi_version)version));
    TRY(check_devices(json_object_get(file, "devices"), (enum cdi_version)version));
    if (edits) {
        struct err *e = check_edits(edits, (enum cdi_version)version);

        return e ? err_wrap(e, "containerEdits") : NULL;
    }
    return NULL;
}
