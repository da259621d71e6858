/*
 * cel_pattern.c - regular expressions of matches()
 *
 * The common part of RE2: literals, "." (no newline), [classes], \d \w \s and their opposites,
 * groups, "|", "*", "+", "?", "{n,m}" up to 100, "^" and "$". The search is by trial, and each
 * trial takes a step, so the bound of the evaluation holds for it, too.
 */

#include <ctype.h>

#include "model/cel/cel_private.h"

enum {
    REPEATS_MAX = 100,
    TRIALS_DEEP_MAX = 2000 /* nested trials */
};

/* The continuation of a part of the pattern: the rest of the sequence, or the next round of a
 * repeat. */
struct follow {
    struct str rest;
    struct str atom;      /* of a repeat; at NULL: `rest` follows */
    unsigned least;       /* rounds that are still due */
    unsigned most;        /* rounds that are still allowed */
    const char *began_at; /* where the last round began: an empty round ends the repeat */
    const struct follow *next;
};

struct cel_pattern {
    struct str text;
    int64_t *steps;
    unsigned depth;
    const char *fault;
};

static bool match_all(struct cel_pattern *p, struct str re, const char *s,
                      const struct follow *next);

static bool fail(struct cel_pattern *p, const char *what)
{
    if (!p->fault)
        p->fault = what;
    return false;
}

static struct str tail(struct str s, size_t n)
{
    return (struct str){s.at + n, s.size - n};
}

/* The size of the class that `re` begins with; 0: it does not end. */
static size_t class_size(struct str re)
{
    size_t i = 1;

    i += i < re.size && re.at[i] == '^';
    i += i < re.size && re.at[i] == ']';
    while (i < re.size && re.at[i] != ']')
        i += re.at[i] == '\\' ? 2 : 1;
    return i < re.size ? i + 1 : 0;
}

/* The size of the group that `re` begins with; 0: it does not end. */
static size_t group_size(struct str re)
{
    unsigned depth = 0;

    for (size_t i = 0; i < re.size;) {
        size_t step = re.at[i] == '[' ? class_size(tail(re, i)) : re.at[i] == '\\' ? 2 : 1;

        if (step == 0)
            return 0;
        depth += re.at[i] == '(';
        depth -= re.at[i] == ')';
        i += step;
        if (depth == 0)
            return i <= re.size ? i : 0;
    }
    return 0;
}

/* The size of the first atom; 0 with a fault. */
static size_t atom_size(struct cel_pattern *p, struct str re)
{
    size_t n = re.at[0] == '['    ? class_size(re)
               : re.at[0] == '('  ? group_size(re)
               : re.at[0] == '\\' ? (re.size > 1 ? 2 : 0)
                                  : 1;

    if (n == 0)
        (void)fail(p, "the pattern does not end");
    if (strchr("*+?{)", re.at[0]))
        (void)fail(p, "the pattern has a repeat or \")\" where an atom is due");
    if (re.at[0] == '(' && n > 2 && re.at[1] == '?' && re.at[2] != ':')
        (void)fail(p, "the pattern has flags or named groups, which are not known here");
    return p->fault ? 0 : n;
}

static bool is_word(unsigned char c)
{
    return isalnum(c) || c == '_';
}

/* Does the escape "\c" stand for `b`? */
static bool escape_has(struct cel_pattern *p, char c, unsigned char b)
{
    switch (c) {
    case 'd':
        return isdigit(b) != 0;
    case 'D':
        return !isdigit(b);
    case 'w':
        return is_word(b);
    case 'W':
        return !is_word(b);
    case 's':
        return isspace(b) != 0;
    case 'S':
        return !isspace(b);
    case 'n':
        return b == '\n';
    case 't':
        return b == '\t';
    default:
        if (isalnum((unsigned char)c))
            return fail(p, "the pattern has an escape that is not known here");
        return (unsigned char)c == b;
    }
}

/* Does the class "[...]" have `b`? */
static bool class_has(struct cel_pattern *p, struct str re, unsigned char b)
{
    bool is_not = re.at[1] == '^';
    bool has = false;

    for (size_t i = is_not ? 2 : 1; i + 1 < re.size; i++) {
        unsigned char c = (unsigned char)re.at[i];

        if (c == '[' && re.at[i + 1] == ':')
            return fail(p, "the pattern has a named class, which is not known here");
        if (c == '\\') {
            has |= escape_has(p, re.at[++i], b);
        } else if (i + 3 < re.size && re.at[i + 1] == '-' && re.at[i + 2] != '\\') {
            has |= c <= b && b <= (unsigned char)re.at[i + 2];
            i += 2;
        } else {
            has |= c == b;
        }
    }
    return has != is_not;
}

/* Does an atom that is no group stand for the byte at `s`? */
static bool atom_has(struct cel_pattern *p, struct str atom, const char *s)
{
    unsigned char b;

    if (s == p->text.at + p->text.size)
        return false;
    b = (unsigned char)*s;
    if (atom.at[0] == '[')
        return class_has(p, atom, b);
    if (atom.at[0] == '\\')
        return escape_has(p, atom.at[1], b);
    return atom.at[0] == '.' ? b != '\n' : (unsigned char)atom.at[0] == b;
}

/* Goes on at `s` with what follows. */
static bool match_next(struct cel_pattern *p, const char *s, const struct follow *next);

static bool match_atom(struct cel_pattern *p, struct str atom, const char *s,
                       const struct follow *next)
{
    size_t prefix = atom.size > 2 && atom.at[1] == '?' ? 3 : 1;

    if (atom.at[0] == '(')
        return match_all(p, (struct str){atom.at + prefix, atom.size - prefix - 1}, s, next);
    if (atom.at[0] == '^')
        return s == p->text.at && match_next(p, s, next);
    if (atom.at[0] == '$')
        return s == p->text.at + p->text.size && match_next(p, s, next);
    return atom_has(p, atom, s) && match_next(p, s + 1, next);
}

/* The next round of a repeat, or the rest behind it. */
static bool match_round(struct cel_pattern *p, const char *s, const struct follow *f)
{
    struct follow again = *f;
    bool is_empty = f->began_at == s && f->least == 0;

    again.least -= again.least > 0;
    again.most -= again.most > 0;
    again.began_at = s;
    if (f->most > 0 && !is_empty && match_atom(p, f->atom, s, &again))
        return true;
    return f->least == 0 && match_all(p, f->rest, s, f->next);
}

static bool match_next(struct cel_pattern *p, const char *s, const struct follow *next)
{
    bool yes;

    if (!next || p->fault)
        return !p->fault;
    if (!next->atom.at)
        return match_all(p, next->rest, s, next->next);
    if (--*p->steps < 0 || p->depth == TRIALS_DEEP_MAX)
        return fail(p, "the pattern takes too many trials");
    p->depth++;
    yes = match_round(p, s, next);
    p->depth--;
    return yes;
}

static size_t read_count(struct str re, size_t at, unsigned *ret)
{
    *ret = 0;
    while (at < re.size && isdigit((unsigned char)re.at[at]) && *ret <= REPEATS_MAX)
        *ret = *ret * 10 + (unsigned)(re.at[at++] - '0');
    return at;
}

/* Reads "{n}", "{n,}" or "{n,m}"; returns its size, 0 with a fault. */
static size_t read_bounds(struct cel_pattern *p, struct str re, struct follow *f)
{
    size_t at = read_count(re, 1, &f->least);

    f->most = f->least;
    if (at == 1 || at >= re.size)
        return fail(p, "want a repeat such as {2,3}");
    if (re.at[at] == ',') {
        size_t before = ++at;

        at = read_count(re, at, &f->most);
        if (at == before)
            f->most = UINT32_MAX;
    }
    if (at >= re.size || re.at[at] != '}' || f->least > REPEATS_MAX || f->most < f->least)
        return fail(p, "want a repeat such as {2,3}, up to 100");
    return at + 1;
}

/* Reads the repeat behind an atom; returns its size. */
static size_t read_repeat(struct cel_pattern *p, struct str re, struct follow *f)
{
    char c = '\0';
    size_t n = 1;

    if (re.size > 0)
        c = re.at[0];
    f->least = c == '+';
    f->most = c == '?' ? 1 : UINT32_MAX;
    if (c == '{')
        n = read_bounds(p, re, f);
    else if (c != '*' && c != '+' && c != '?')
        return 0;
    if (n < re.size && (re.at[n] == '?')) /* the shortest match: there is one as soon as a longer
                                             one is there */
        n++;
    if (n < re.size && strchr("*+?{", re.at[n]))
        (void)fail(p, "the pattern has a repeat of a repeat");
    return n;
}

/* A sequence without "|" outside groups. */
static bool match_sequence(struct cel_pattern *p, struct str re, const char *s,
                           const struct follow *next)
{
    struct follow f = {.next = next};
    size_t atom;
    size_t repeat;

    if (re.size == 0)
        return match_next(p, s, next);
    atom = atom_size(p, re);
    repeat = p->fault ? 0 : read_repeat(p, tail(re, atom), &f);
    if (p->fault)
        return false;
    f.rest = tail(re, atom + repeat);
    if (repeat == 0)
        return match_atom(p, (struct str){re.at, atom}, s, &f);
    f.atom = (struct str){re.at, atom};
    return match_next(p, s, &f);
}

/* The size of what begins at `i`: an atom that may hide a "|", or one byte. */
static size_t pattern_step(struct cel_pattern *p, struct str re, size_t i)
{
    return i < re.size && strchr("([\\", re.at[i]) ? atom_size(p, tail(re, i)) : 1;
}

static bool match_alternatives(struct cel_pattern *p, struct str re, const char *s,
                               const struct follow *next)
{
    size_t begin = 0;

    for (size_t i = 0; i <= re.size && !p->fault; i += pattern_step(p, re, i)) {
        if (i < re.size && re.at[i] != '|')
            continue;
        if (match_sequence(p, (struct str){re.at + begin, i - begin}, s, next))
            return true;
        begin = i + 1;
    }
    return false;
}

static bool match_all(struct cel_pattern *p, struct str re, const char *s,
                      const struct follow *next)
{
    bool yes;

    *p->steps -= 1 + (int64_t)(re.size / 16);
    if (*p->steps < 0 || p->depth == TRIALS_DEEP_MAX)
        return fail(p, "the pattern takes too many trials");
    p->depth++;
    yes = match_alternatives(p, re, s, next);
    p->depth--;
    return yes;
}

struct err *cel_pattern_matches(struct str pattern, struct str text, int64_t *steps, bool *ret)
{
    struct cel_pattern p = {.text = {text.at ? text.at : "", text.size}};
    bool yes = false;

    p.steps = steps;
    for (size_t i = 0; i <= text.size && !yes && !p.fault; i++)
        yes = match_all(&p, pattern, p.text.at + i, NULL);
    if (p.fault)
        return err_new(ERR_INVALID, "%s", p.fault);
    *ret = yes;
    return NULL;
}
