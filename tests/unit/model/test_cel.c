/* test_cel.c - expressions of device selectors: values, operators, functions, refusals, bounds */

#include "base/mem.h"
#include "model/cel/cel.h"
#include "test.h"

#define DRIVER STR("gpu.nvidia.com")

static const struct cel_attribute facts[] = {
    {.domain = DRIVER,
     .name = STR("productName"),
     .value = {.kind = CEL_STRING, .text = STR("NVIDIA H100 80GB HBM3")}},
    {.domain = DRIVER, .name = STR("index"), .value = {.kind = CEL_INT, .number = 3}},
    {.domain = DRIVER,
     .name = STR("driverVersion"),
     .value = {.kind = CEL_VERSION, .version = {.major = 550, .minor = 54, .patch = 5}}},
    {.domain = DRIVER,
     .name = STR("memory"),
     .is_capacity = true,
     .value = {.kind = CEL_QUANTITY, .number = (INT64_C(80) << 30) * 1000}},
    {.domain = STR("resource.kubernetes.io"),
     .name = STR("numaNode"),
     .value = {.kind = CEL_INT, .number = 1}},
};

#define A "device.attributes['gpu.nvidia.com']."
#define M "device.capacity['gpu.nvidia.com'].memory"

/* "yes", "no", or the error's message. The caller frees it. */
static char *value_of(const char *text)
{
    const struct cel_device d = {
        .driver = DRIVER, .attributes = facts, .n_attributes = COUNT(facts)};
    AUTO(cel_freep) struct cel *cel = NULL;
    bool yes = false;
    AUTO(err_freep) struct err *e = cel_parse(str_of(text), &cel);

    if (!e)
        e = cel_matches(cel, &d, &yes);
    return mem_strdup(e ? err_message(e) : yes ? "yes" : "no");
}

struct cel_case {
    const char *text;
    const char *want;
};

static void check_all(const struct cel_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *found = value_of(cases[i].text);

        if (!text_equal(found, cases[i].want))
            fail_msg("%s: found '%s', want '%s'", cases[i].text, found, cases[i].want);
    }
}

static void reads_a_device(void **state)
{
    static const struct cel_case cases[] = {
        {"device.driver == \"gpu.nvidia.com\"", "yes"},
        {A "productName == 'NVIDIA H100 80GB HBM3'", "yes"},
        {A "productName.startsWith('NVIDIA H100') && " A "index >= 3", "yes"},
        {M ".compareTo(quantity('40Gi')) >= 0", "yes"},
        {M ".isGreaterThan(quantity('80Gi'))", "no"},
        {M " == quantity('80Gi')", "yes"},
        {A "driverVersion.isLessThan(semver('550.54.10'))", "yes"},
        {A "driverVersion.major() == 550", "yes"},
        {"device.attributes['resource.kubernetes.io'].numaNode in [1, 2]", "yes"},
        {"has(" A "missing)", "no"},
        {"has(" A "index) && 'index' in device.attributes['gpu.nvidia.com']", "yes"},
        {"'other.com' in device.attributes", "no"},
        {A "missing == 1", "column 37: the device has no attribute \"missing\""},
        {A "missing == 1 || true", "yes"},
        {"false && " A "missing == 1", "no"},
        {A "missing == 1 && false", "no"},
        {A "index == 'three'", "column 43: want a number, not a string"},
        {A "index", "column 37: want a boolean, not a number"},
    };

    (void)state;
    check_all(cases, COUNT(cases));
}

static void computes(void **state)
{
    static const struct cel_case cases[] = {
        {"1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 % 4 == 3 && -7 / 2 == -3", "yes"},
        {"1 < 2 ? 'a' < 'b' : false", "yes"},
        {"!true || !(1 != 1)", "yes"},
        {"'a' + 'b' == \"ab\" && r'\\d' == '\\\\d'", "yes"},
        {"size('h\xc3\xa9') == 2 && [1, 2].size() == 2 && [1, 2] == [1, 2]", "yes"},
        {"semver('1.0.0-rc.2').isLessThan(semver('1.0.0-rc.10')) && "
         "semver('1.0.0-rc.10').isLessThan(semver('1.0.0'))",
         "yes"},
        {"isSemver('1.2') || isQuantity('big')", "no"},
        {"quantity('1Gi').add(quantity('1Gi')).compareTo(quantity('2Gi')) == 0", "yes"},
        {"quantity('2k').asInteger() == 2000", "yes"},
        {"'H100'.lowerAscii() == 'h100' && 'abc'.contains('b') && 'abc'.endsWith('bc')", "yes"},
        {"9223372036854775807 + 1 == 0", "column 21: the number is out of range"},
        {"1 / 0 == 1", "column 3: division by zero"},
        {"(0 - 9223372036854775807 - 1) / -1 == 0", "column 31: the number is out of range"},
        {"[1][1] == 1", "column 4: the index is past the list"},
        {"quantity('1') < quantity('2')",
         "column 15: operators do not order a quantity: use compareTo, isGreaterThan or "
         "isLessThan"},
    };

    (void)state;
    check_all(cases, COUNT(cases));
}

static void matches_patterns(void **state)
{
    static const struct cel_case cases[] = {
        {"'NVIDIA H100 80GB'.matches('H[12]00 (80|96)GB$')", "yes"},
        {"'NVIDIA A100 40GB'.matches('H[12]00')", "no"},
        {"matches('aaab', '^a*b$') && 'x1y22'.matches('^(\\\\w\\\\d+){2}$')", "yes"},
        {"'ab'.matches('^a{2,}') || 'aa'.matches('^(a|b){3}')", "no"},
        {"''.matches('^(a*)*$') && 'a|b'.matches('^[|a-]\\\\|b')", "yes"},
        {"'a'.matches('(')", "column 5: error parsing regexp: missing closing ): `(`"},
        {"'a'.matches('*')",
         "column 5: error parsing regexp: missing argument to repetition operator: `*`"},
        {"'a'.matches('(?i)A')", "yes"},
        {"'a'.matches('\\\\pL')",
         "column 5: error parsing regexp: Unicode classes (\\p) are not implemented by mete"},
        {"'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.matches('^(a|a)*(a|a)*(a|a)*$b')", "no"},
    };

    (void)state;
    check_all(cases, COUNT(cases));
}

static void refuses_by_name_and_place(void **state)
{
    static const struct cel_case cases[] = {
        {"", "column 1: the expression is incomplete"},
        {"device.driver ==", "column 17: the expression is incomplete"},
        {"device.driver = 'a'", "column 15: want an operator or the end"},
        {"(true", "column 6: want \")\""},
        {"'open", "column 1: the string does not end"},
        {"'\\q' == 'q'", "column 2: want one of the escapes \\n \\t \\r \\\\ \\' \\\""},
        {"1.5 > 1", "column 1: want a whole decimal number"},
        {"99999999999999999999 > 1", "column 1: the number is too large"},
        {"claim.name == 'a'", "column 1: the name \"claim\" is not known here"},
        {"device.attributes.exists(a, true)", "column 19: the method \"exists\" is not known here"},
        {"duration('1s') == 1", "column 1: the function \"duration\" is not known here"},
        {"size(1, 2) == 1", "column 1: wrong number of arguments of size"},
        {"has(device)", "column 1: has() wants a member: has(x.y)"},
        {"device.name == 'a'", "column 8: the member \"name\" is not known: devices have driver, "
                               "attributes and capacity"},
    };

    (void)state;
    check_all(cases, COUNT(cases));
}

static char *repeated(const char *begin, const char *text, size_t n, const char *end)
{
    struct buf b = {0};

    buf_add_text(&b, begin);
    for (size_t i = 0; i < n; i++)
        buf_add_text(&b, text);
    buf_add_text(&b, end);
    return buf_steal(&b);
}

static void bounds_what_an_expression_costs(void **state)
{
    static const char too_deep[] = "column 5: error parsing regexp: expression nests too deeply";
    AUTO_FREE char *deep = repeated("", "(", 100, "true");
    AUTO_FREE char *chain = repeated("1", "+1", 1000, " == 1");
    AUTO_FREE char *chained = repeated("1", "+1", 300, " == 301");
    AUTO_FREE char *large = repeated("'", "a", CEL_TEXT_MAX, "' == ''");
    AUTO_FREE char *pattern = repeated("'a'.matches('", "(", 4000, "')");
    AUTO_FREE char *of_deep = value_of(deep);
    AUTO_FREE char *of_chain = value_of(chain);
    AUTO_FREE char *of_chained = value_of(chained);
    AUTO_FREE char *of_large = value_of(large);
    AUTO_FREE char *of_pattern = value_of(pattern);

    (void)state;
    assert_string_equal(of_deep, "column 65: the expression is too deep");
    assert_string_equal(of_chain, "column 1026: too many operators");
    assert_string_equal(of_chained, "yes");
    assert_string_equal(of_large, "the expression has 10248 bytes, at most 10240");
    assert_memory_equal(of_pattern, too_deep, sizeof(too_deep) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_device),
        cmocka_unit_test(computes),
        cmocka_unit_test(matches_patterns),
        cmocka_unit_test(refuses_by_name_and_place),
        cmocka_unit_test(bounds_what_an_expression_costs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
