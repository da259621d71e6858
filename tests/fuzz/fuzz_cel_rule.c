/* fuzz_cel_rule.c - rules over JSON: a rule, a newline, the value of self */

#include <assert.h>
#include <stdint.h>

#include "base/mem.h"
#include "model/cel/cel_rule.h"

static const struct cel_variable variables[] = {{.name = "self"}, {.name = "oldSelf"}};
static const struct cel_language language = {.variables = variables, .n_variables = 2};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct str rule = str_cut(&text, '\n');
    AUTO(json_freep) json_t *self = NULL;
    AUTO_FREE char *made = NULL;
    struct cel_rule *r = NULL;
    AUTO(err_freep) struct err *e = cel_rule_parse(rule, &language, &r);
    AUTO(err_freep) struct err *bad = NULL;
    const json_t *values[2];
    int64_t steps = 20000;
    bool yes = false;

    if (e)
        return 0;
    bad = json_parse(text.at ? text : STR("null"), &self);
    if (!self)
        self = json_null();
    values[0] = self;
    values[1] = self;
    e = cel_rule_holds(r, values, &steps, &yes);
    assert(e || steps >= 0);
    if (e) {
        err_free(e);
        steps = 20000;
        e = cel_rule_text(r, values, &steps, &made);
    }
    cel_rule_free(r);
    return 0;
}
