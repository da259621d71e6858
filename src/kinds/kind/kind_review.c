/*
 * kind_review.c - access and token reviews: created to be answered, never stored; api/reviews.c
 * answers
 */

#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const struct field resource_fields[] = {
    F_STRING("namespace", "The namespace; \"\": all namespaces, or a cluster-wide kind.",
             .size_max = 253),
    F_STRING("verb", "get, list, watch, create, update, patch, delete, ...; * for all.",
             .size_max = 64),
    F_STRING("group", "The API group; * for all.", .size_max = 253),
    F_STRING("version", "The version; * for all.", .size_max = 64),
    F_STRING("resource", "The plural name of the kind; * for all.", .size_max = 253),
    F_STRING("subresource", "The subresource: log, exec.", .size_max = 64),
    F_STRING("name", "The object's name; \"\": all.", .size_max = 253),
    F_ANY("fieldSelector", "Kept, not used."),
    F_ANY("labelSelector", "Kept, not used."),
    F_END,
};

static const struct field path_fields[] = {
    F_STRING("path", "The path of the URL.", .size_max = 4096),
    F_STRING("verb", "The HTTP method in lower case.", .size_max = 64),
    F_END,
};

static const struct field self_access_spec[] = {
    F_OBJECT("resourceAttributes", resource_fields, "The action on objects."),
    F_OBJECT("nonResourceAttributes", path_fields, "The request to another path."),
    F_END,
};

static const struct field access_spec[] = {
    F_OBJECT("resourceAttributes", resource_fields, "The action on objects."),
    F_OBJECT("nonResourceAttributes", path_fields, "The request to another path."),
    F_STRING("user", "The user: a name of users.yaml.", .size_max = 253),
    F_LIST("groups", &string_item, "The user's groups.", .items_max = 64),
    F_ANY("extra", "Kept, not used."),
    F_STRING("uid", "Kept, not used.", .size_max = 253),
    F_END,
};

static const struct field access_status[] = {
    F_BOOL("allowed", "Whether the action is allowed."),
    F_BOOL("denied", "Always false: Mete has no rules that deny."),
    F_STRING("reason", "The reason of the answer."),
    F_STRING("evaluationError", "An error of the evaluation."),
    F_END,
};

static const struct field rules_spec[] = {
    F_STRING("namespace", "The namespace.", .is_required = true, .size_max = 253),
    F_END,
};

static const struct field rules_status[] = {
    F_ANY("resourceRules", "Verbs on resources."),
    F_ANY("nonResourceRules", "Verbs on other paths."),
    F_BOOL("incomplete", "Whether the list may be incomplete."),
    F_STRING("evaluationError", "An error of the evaluation."),
    F_END,
};

static const struct field user_fields[] = {
    F_STRING("username", "The name.", .size_max = 253),
    F_STRING("uid", "Empty: Mete's user names are unique.", .size_max = 253),
    F_LIST("groups", &string_item, "The groups.", .items_max = 64),
    F_ANY("extra", "More about the user."),
    F_END,
};

static const struct field whoami_status[] = {
    F_OBJECT("userInfo", user_fields, "The caller."),
    F_END,
};

static const struct field token_spec[] = {
    F_STRING("token", "The bearer token.", .is_required = true, .size_max = 16384),
    F_LIST("audiences", &string_item, "The audiences that the token must have.", .items_max = 64),
    F_END,
};

static const struct field token_status[] = {
    F_BOOL("authenticated", "Whether the token is valid."),
    F_OBJECT("user", user_fields, "The token's user."),
    F_LIST("audiences", &string_item, "The requested audiences that the token has.",
           .items_max = 64),
    F_STRING("error", "The reason why the token is invalid."),
    F_END,
};

#define REVIEW_FIELDS(name, spec, status)                             \
    static const struct field name[] = {                              \
        F_TYPE_AND_METADATA,                                          \
        F_OBJECT("spec", spec, "The question.", .is_required = true), \
        F_OBJECT("status", status, "The answer."),                    \
        F_END,                                                        \
    }

REVIEW_FIELDS(self_access_fields, self_access_spec, access_status);
REVIEW_FIELDS(access_fields, access_spec, access_status);
REVIEW_FIELDS(rules_fields, rules_spec, rules_status);
REVIEW_FIELDS(token_fields, token_spec, token_status);

static const struct field whoami_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("status", whoami_status, "The answer."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "Reviews have no names."},
    {0},
};

static json_t *review_cells(const json_t *object, int64_t now_ns)
{
    (void)object;
    (void)now_ns;
    return json_pack("[s]", "");
}

#define REVIEW(g, k, p, s, f, text)                                                        \
    {                                                                                      \
        .group = (g), .version = "v1", .api_version = g "/v1", .kind = (k), .plural = (p), \
        .singular = (s), .is_question = true, .fields = (f), .columns = columns,           \
        .cells = review_cells, .doc = (text)                                               \
    }

const struct kind kind_self_access_review =
    REVIEW("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
           "selfsubjectaccessreview", self_access_fields, "May the caller do something?");
const struct kind kind_access_review =
    REVIEW("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews",
           "subjectaccessreview", access_fields, "May a user do something?");
const struct kind kind_rules_review =
    REVIEW("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews",
           "selfsubjectrulesreview", rules_fields, "The caller's rights in a namespace.");
const struct kind kind_self_review =
    REVIEW("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", "selfsubjectreview",
           whoami_fields, "The caller's identity.");
const struct kind kind_token_review = REVIEW("authentication.k8s.io", "TokenReview", "tokenreviews",
                                             "tokenreview", token_fields, "The user of a token.");
