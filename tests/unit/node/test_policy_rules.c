/* test_policy_rules.c - rules of nftables from NetworkPolicies */

#include "base/mem.h"
#include "node/net/policy_rules.h"
#include "test.h"

static json_t *parse(const char *text)
{
    AUTO_FREE char *copy = mem_strdup(text);
    json_t *tree = NULL;

    for (char *at = copy; *at; at++)
        if (*at == '\'')
            *at = '"';
    assert_null(json_parse(str_of(copy), &tree));
    return tree;
}

static const char web[] = "{'namespace':'d','name':'web','labels':{'app':'web'},"
                          "'ports':[{'name':'http','protocol':'TCP','port':8080}]}";
static const char db[] = "{'namespace':'d','name':'db','labels':{'app':'db'},"
                         "'ports':[{'name':'http','protocol':'TCP','port':9090}]}";
static const char far_off[] = "{'namespace':'far','name':'x','labels':{},'ports':[]}";

/* The rules for three pods and one policy, whose spec is `spec`. */
static char *rules_of(const char *spec)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'namespace':'d','name':'p'},'spec':%s}", spec);
    AUTO(json_freep) json_t *policy = parse(text);
    AUTO(json_freep) json_t *a = parse(web);
    AUTO(json_freep) json_t *b = parse(db);
    AUTO(json_freep) json_t *c = parse(far_off);
    AUTO(json_freep)
    json_t *namespaces =
        parse("{'/d':{'metadata':{'name':'d'}},'/far':{'metadata':{'labels':{'t':'1'}}}}");
    AUTO(json_freep) json_t *names = json_object();
    const json_t *const policies_at[] = {policy};
    const struct policy_pod pods_at[] = {{"10.0.0.1", a}, {"10.0.0.2", b}, {"10.0.0.3", c}};
    const struct policy_input in = {policies_at, 1, namespaces, pods_at, COUNT(pods_at)};
    AUTO(buf_done) struct buf elements = {0};
    struct buf out = {0};

    policy_rules_format(&in, "ip t", &out, &elements, names);
    buf_add(&out, elements.at, elements.size);
    buf_add_text(&out, "");
    return buf_steal(&out);
}

/* The conditions between the chain's name and the verdict, a line each; then the elements. */
static char *bodies(const char *spec)
{
    AUTO_FREE char *text = rules_of(spec);
    struct str rest = str_of(text);
    struct buf out = {0};

    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, '\n');
        const char *at = line.at ? memmem(line.at, line.size, "policy-", 7) : NULL;
        bool is_element = line.at && text_starts_with(line.at, "add element");
        bool is_rule = line.at && text_starts_with(line.at, "add rule");

        if (is_rule && at)
            buf_printf(&out, "%.*s\n", (int)(line.at + line.size - at - 24), at + 24);
        if (is_element && at)
            buf_printf(&out, "%.*s\n", (int)(at - line.at - 17), line.at + 17);
    }
    buf_add_text(&out, "");
    return buf_steal(&out);
}

static void rules_follow_the_policy(void **state)
{
    static const struct {
        const char *spec;
        const char *want;
    } cases[] = {
        {"{'podSelector':{},'policyTypes':['Ingress']}",
         "drop\ningress-of { 10.0.0.1 : jump \ningress-of { 10.0.0.2 : jump \n"},
        {"{'podSelector':{'matchLabels':{'app':'web'}},'policyTypes':['Egress']}",
         "drop\negress-of { 10.0.0.1 : jump \n"},
        {"{'podSelector':{'matchLabels':{'app':'none'}},'policyTypes':['Egress']}", ""},
        {"{'podSelector':{'matchLabels':{'app':'web'}},'policyTypes':['Ingress'],'ingress':[{}]}",
         "return\ndrop\ningress-of { 10.0.0.1 : jump \n"},
        {"{'podSelector':{'matchLabels':{'app':'web'}},'policyTypes':['Ingress'],'ingress':["
         "{'from':[{'podSelector':{'matchLabels':{'app':'db'}}},{'namespaceSelector':{}}],"
         "'ports':[{'protocol':'TCP','port':80,'endPort':90},{'protocol':'UDP'}]}]}",
         "ip saddr { 10.0.0.2, 10.0.0.1, 10.0.0.3 } tcp dport 80-90 return\n"
         "ip saddr { 10.0.0.2, 10.0.0.1, 10.0.0.3 } meta l4proto udp return\n"
         "drop\ningress-of { 10.0.0.1 : jump \n"},
        {"{'podSelector':{'matchLabels':{'app':'web'}},'policyTypes':['Egress'],'egress':["
         "{'to':[{'namespaceSelector':{'matchLabels':{'t':'1'}}},"
         "{'ipBlock':{'cidr':'10.1.2.3/8','except':['10.1.0.0/16']}},"
         "{'ipBlock':{'cidr':'2001:db8::/64'}}]}]}",
         "ip daddr 10.0.0.0/8 ip daddr != 10.1.0.0/16 return\n"
         "ip daddr { 10.0.0.3 } return\ndrop\negress-of { 10.0.0.1 : jump \n"},
        {"{'podSelector':{},'policyTypes':['Ingress'],'ingress':[{'ports':[{'port':'http'}]}]}",
         "ip daddr . tcp dport { 10.0.0.1 . 8080, 10.0.0.2 . 9090 } return\ndrop\n"
         "ingress-of { 10.0.0.1 : jump \ningress-of { 10.0.0.2 : jump \n"},
        {"{'podSelector':{'matchLabels':{'app':'web'}},'policyTypes':['Egress'],'egress':["
         "{'to':[{'ipBlock':{'cidr':'0.0.0.0/0'}}],'ports':[{'port':53,'protocol':'UDP'}]},"
         "{'ports':[{'port':'http'}]}]}",
         "udp dport 53 return\n"
         "ip daddr . tcp dport { 10.0.0.1 . 8080, 10.0.0.2 . 9090 } return\n"
         "drop\negress-of { 10.0.0.1 : jump \n"},
        /* A peer that is nobody allows nothing. */
        {"{'podSelector':{'matchLabels':{'app':'web'}},'policyTypes':['Ingress'],'ingress':["
         "{'from':[{'podSelector':{'matchLabels':{'app':'none'}}}]}]}",
         "drop\ningress-of { 10.0.0.1 : jump \n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *found = bodies(cases[i].spec);

        assert_string_equal(found, cases[i].want);
    }
}

static void replies_pass_first(void **state)
{
    AUTO_FREE char *text = rules_of("{'podSelector':{},'policyTypes':['Ingress']}");

    (void)state;
    assert_true(text_starts_with(text, "add chain ip t policies\n"
                                       "add rule ip t policies ct state established,related "
                                       "return\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_follow_the_policy),
        cmocka_unit_test(replies_pass_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
