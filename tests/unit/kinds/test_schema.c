/* test_schema.c - schemas of custom resources: what they refuse, prune, default and check */

#include "base/mem.h"
#include "kinds/custom/schema.h"
#include "test.h"

static json_t *read_json(const char *text)
{
    json_t *value = NULL;
    AUTO(err_freep) struct err *e = json_parse(str_of(text), &value);

    if (e)
        print_message("%s: %s\n", text, err_message(e));
    assert_null(e);
    return value;
}

/* A root schema with the properties of spec. */
static struct schema *schema_of(const char *spec, struct causes *causes)
{
    AUTO_FREE char *text = mem_format("{\"type\":\"object\",\"properties\":{\"spec\":%s}}", spec);
    AUTO(json_freep) json_t *source = read_json(text);

    return schema_new(source, PATH(NULL, "schema"), causes);
}

static void refuses_what_is_not_structural(void **state)
{
    static const struct {
        const char *spec;
        const char *causes;
    } cases[] = {
        {"{}", "schema.properties[spec].type: Required value: must not be empty for specified "
               "object fields"},
        {"{\"type\":\"array\"}",
         "schema.properties[spec].items: Required value: must be specified"},
        {"{\"type\":\"object\",\"$ref\":\"#/a\"}",
         "schema.properties[spec].$ref: Forbidden: $ref is not supported"},
        {"{\"type\":\"thing\"}", "schema.properties[spec].type: Unsupported value: \"thing\": "
                                 "supported values: \"array\", \"boolean\", "
                                 "\"integer\", \"number\", \"object\", \"string\""},
        {"{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"string\"}}",
         "schema.properties[spec].uniqueItems: Forbidden: uniqueItems cannot be set to true since "
         "the runtime "
         "complexity becomes quadratic"},
        {"{\"type\":\"object\",\"anyOf\":[{\"type\":\"object\"}]}",
         "schema.properties[spec].anyOf[0].type: Forbidden: must be empty to be structural"},
        {"{\"type\":\"string\",\"pattern\":\"(\"}",
         "schema.properties[spec].pattern: Invalid value: \"(\": must be a valid regular "
         "expression, but isn't: "
         "error parsing regexp: missing closing ): `(`"},
        {"{\"type\":\"integer\",\"default\":\"x\"}",
         "schema.properties[spec].default: Invalid value: \"string\": "
         "schema.properties[spec].default in body must be "
         "of type integer: \"string\""},
        {"{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":["
         "\"k\"],\"items\":"
         "{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"}}}}",
         "schema.properties[spec].items.properties[k].default: Required value: this property is in "
         "x-kubernetes-list-map-keys, so it must have a default or be a required property"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},"
         "\"additionalProperties\":{\"type\":"
         "\"string\"}}",
         "schema.properties[spec].additionalProperties: Forbidden: additionalProperties and "
         "properties are mutual "
         "exclusive"},
        {"{\"x-kubernetes-int-or-string\":true,\"anyOf\":[{\"type\":\"integer\"},{\"type\":"
         "\"string\"}]}",
         NULL},
        {"{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(causes_done) struct causes causes = {0};
        AUTO(schema_freep) struct schema *s = schema_of(cases[i].spec, &causes);

        print_message("%s\n", cases[i].spec);
        if (!cases[i].causes) {
            assert_non_null(s);
            continue;
        }
        assert_null(s);
        assert_string_equal(causes.text.at, cases[i].causes);
    }
}

static void prunes_and_defaults_as_kubernetes(void **state)
{
    static const struct {
        const char *spec;
        const char *before;
        const char *after;
        const char *unknown;
    } cases[] = {
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"default\":3}}}",
         "{\"b\":1}", "{\"a\":3}", "[\"spec.b\"]"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"default\":3}}}",
         "{\"a\":null}", "{\"a\":3}", "[]"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"nullable\":true,"
         "\"default\":3}}}",
         "{\"a\":null}", "{\"a\":null}", "[]"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"a\":null}",
         "{}", "[]"},
        {"{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":{\"a\":"
         "{\"type\":"
         "\"object\"}}}",
         "{\"a\":{\"x\":1},\"b\":{\"y\":[1]}}", "{\"a\":{},\"b\":{\"y\":[1]}}", "[\"spec.a.x\"]"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
         "\"string\"}}}}",
         "[{\"a\":\"1\",\"b\":2},{\"c\":3}]", "[{\"a\":\"1\"},{}]",
         "[\"spec[0].b\",\"spec[1].c\"]"},
        {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"properties\":{\"a\":"
         "{\"type\":"
         "\"integer\",\"default\":1}}}}",
         "{\"x\":{\"q\":1}}", "{\"x\":{\"a\":1}}", "[\"spec.x.q\"]"},
        {"{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,\"properties\":{\"spec\":{"
         "\"type\":\"object\"}}}",
         "{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\"},\"x\":1}",
         "{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\"}}", "[\"spec.x\"]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(causes_done) struct causes causes = {0};
        AUTO(schema_freep) struct schema *s = schema_of(cases[i].spec, &causes);
        AUTO(json_freep) json_t *object = json_object();
        AUTO(json_freep) json_t *after = read_json(cases[i].after);
        AUTO(json_freep) json_t *unknown = json_array();
        AUTO(json_freep) json_t *want = read_json(cases[i].unknown);

        print_message("%s\n", cases[i].spec);
        assert_non_null(s);
        json_put(object, "spec", read_json(cases[i].before));
        assert_int_equal(schema_prune(s, object, unknown), json_array_size(want));
        schema_default(s, object);
        assert_true(json_equal(json_object_get(object, "spec"), after));
        assert_true(json_equal(unknown, want));
    }
}

static void says_what_is_wrong_as_kubernetes(void **state)
{
    static const struct {
        const char *spec;
        const char *value;
        const char *causes; /* NULL: valid */
    } cases[] = {
        {"{\"type\":\"integer\"}", "\"x\"",
         "spec: Invalid value: \"string\": spec in body must be of type integer: \"string\""},
        {"{\"type\":\"integer\"}", "1.5",
         "spec: Invalid value: \"number\": spec in body must be of type integer: \"number\""
         ", <nil>: Invalid value: \"\": Checked value must be of type integer (default format) in "
         "spec"},
        {"{\"type\":\"integer\"}", "2.0", NULL},
        {"{\"type\":\"number\"}", "2", NULL},
        {"{\"type\":\"integer\",\"minimum\":1}", "0",
         "spec: Invalid value: 0: spec in body should be greater than or equal to 1"},
        {"{\"type\":\"integer\",\"maximum\":5,\"exclusiveMaximum\":true}", "5",
         "spec: Invalid value: 5: spec in body should be less than 5"},
        {"{\"type\":\"integer\",\"multipleOf\":3}", "4",
         "spec: Invalid value: 4: spec in body should be a multiple of 3"},
        {"{\"type\":\"string\",\"minLength\":2}", "\"é\"",
         "spec: Invalid value: \"é\": spec in body should be at least 2 chars long"},
        {"{\"type\":\"string\",\"maxLength\":1}", "\"ab\"",
         "spec: Too long: may not be more than 1 bytes"},
        {"{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}", "\"c\"",
         "spec: Unsupported value: \"c\": supported values: \"a\", \"b\""},
        {"{\"type\":\"string\",\"format\":\"date-time\"}", "\"x\"",
         "spec: Invalid value: \"x\": spec in body must be of type date-time: \"x\""},
        {"{\"type\":\"string\",\"format\":\"date-time\"}", "\"2026-01-02T03:04:05Z\"", NULL},
        {"{\"type\":\"string\",\"format\":\"ipv4\"}", "\"1.2.3.4\"", NULL},
        {"{\"type\":\"string\",\"format\":\"of-no-known-name\"}", "\"1\"", NULL},
        {"{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"string\"}}", "[]",
         "spec: Invalid value: 0: spec in body should have at least 1 items"},
        {"{\"type\":\"array\",\"maxItems\":1,\"items\":{\"type\":\"string\"}}", "[\"a\",\"b\"]",
         "spec: Too many: 2: must have at most 1 items"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "[\"a\",1]",
         "spec[1]: Invalid value: \"integer\": spec[1] in body must be of type string: "
         "\"integer\""},
        {"{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"string\"}}}",
         "{}", "spec.a: Required value"},
        {"{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}}",
         "[\"a\",\"b\",\"a\"]", "spec[2]: Duplicate value: \"a\""},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":"
         "\"string\"}},\"oneOf\":["
         "{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}",
         "{\"a\":\"1\",\"b\":\"2\"}",
         "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). "
         "Found 2 valid "
         "alternatives"},
        {"{\"type\":\"integer\",\"not\":{\"enum\":[3]}}", "3",
         "<nil>: Invalid value: \"\": \"spec\" must not validate the schema (not)"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(causes_done) struct causes causes = {0};
        AUTO(schema_freep) struct schema *s = schema_of(cases[i].spec, &causes);
        AUTO(json_freep) json_t *object = json_object();

        print_message("%s %s\n", cases[i].spec, cases[i].value);
        assert_non_null(s);
        json_put(object, "spec", read_json(cases[i].value));
        schema_validate(s, object, NULL, NULL, &causes);
        if (cases[i].causes)
            assert_string_equal(causes.text.at ? causes.text.at : "", cases[i].causes);
        else
            assert_int_equal(causes.n, 0);
    }
}

static void lets_old_faults_through(void **state)
{
    AUTO(causes_done) struct causes causes = {0};
    AUTO(schema_freep)
    struct schema *s = schema_of("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\","
                                 "\"maximum\":1},\"b\":{\"type\":"
                                 "\"integer\"}}}",
                                 &causes);
    AUTO(json_freep) json_t *before = read_json("{\"spec\":{\"a\":5,\"b\":1}}");
    AUTO(json_freep) json_t *same = read_json("{\"spec\":{\"a\":5,\"b\":2}}");
    AUTO(json_freep) json_t *worse = read_json("{\"spec\":{\"a\":6,\"b\":1}}");

    (void)state;
    schema_validate(s, same, before, NULL, &causes);
    assert_int_equal(causes.n, 0);
    schema_validate(s, worse, before, NULL, &causes);
    assert_int_equal(causes.n, 1);
}

static void rules_tell_where_and_why(void **state)
{
    static const struct {
        const char *spec;
        const char *value;
        const char *before; /* NULL: a creation */
        const char *causes; /* NULL: valid */
    } cases[] = {
        {"{\"type\":\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"self > 1\"}]}", "1", NULL,
         "spec: Invalid value: 1: failed rule: self > 1"},
        {"{\"type\":\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"self > 1\"}]}", "1", "1",
         NULL},
        {"{\"type\":\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"self >= "
         "oldSelf\",\"message\":"
         "\"grows\"}]}",
         "1", "2", "spec: Invalid value: 1: grows"},
        {"{\"type\":\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"self >= oldSelf\"}]}",
         "1", NULL, NULL},
        {"{\"type\":\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"oldSelf.hasValue() || "
         "self == "
         "0\",\"optionalOldSelf\":true,\"messageExpression\":\"'not ' + string(self)\"}]}",
         "1", NULL, "spec: Invalid value: 1: not 1"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"x-kubernetes-"
         "validations\":[{"
         "\"rule\":\"self.a == "
         "0\",\"fieldPath\":\".a\",\"reason\":\"FieldValueForbidden\",\"message\":"
         "\"want 0\"}]}",
         "{\"a\":1}", NULL, "spec.a: Forbidden: want 0"},
        {"{\"type\":\"string\",\"format\":\"date-time\",\"x-kubernetes-validations\":[{\"rule\":"
         "\"self > "
         "timestamp('2026-01-01T00:00:00Z')\"}]}",
         "\"2026-01-02T00:00:00Z\"", NULL, NULL},
        {"{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":["
         "\"k\"],"
         "\"items\":{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{\"k\":{\"type\":"
         "\"string\"},"
         "\"v\":{\"type\":\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"self == "
         "oldSelf\"}]}}}}",
         "[{\"k\":\"b\",\"v\":2},{\"k\":\"a\",\"v\":9}]",
         "[{\"k\":\"a\",\"v\":1},{\"k\":\"b\",\"v\":2}]",
         "spec[1].v: Invalid value: 9: failed rule: self == oldSelf"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(causes_done) struct causes causes = {0};
        AUTO(schema_freep) struct schema *s = schema_of(cases[i].spec, &causes);
        AUTO(json_freep) json_t *object = json_object();
        AUTO(json_freep) json_t *before = cases[i].before ? json_object() : NULL;

        print_message("%s %s\n", cases[i].spec, cases[i].value);
        assert_non_null(s);
        json_put(object, "spec", read_json(cases[i].value));
        if (before)
            json_put(before, "spec", read_json(cases[i].before));
        schema_validate(s, object, before, NULL, &causes);
        assert_string_equal(causes.text.at ? causes.text.at : "",
                            cases[i].causes ? cases[i].causes : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_not_structural),
        cmocka_unit_test(prunes_and_defaults_as_kubernetes),
        cmocka_unit_test(says_what_is_wrong_as_kubernetes),
        cmocka_unit_test(lets_old_faults_through),
        cmocka_unit_test(rules_tell_where_and_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
