/*
 * banned.h - functions that our code does not call; the build reads this before every source
 *
 * The declarations below mark them as deprecated. With -Werror a use in our code fails; the
 * compilers ignore uses inside system headers. The prototypes are spelled without any include, so
 * that this file cannot hide a missing include.
 */
#pragma once

#include <alloca.h>
#undef alloca

#define BANNED(instead) __attribute__((deprecated("banned: " instead)))

struct tm;
struct _IO_FILE; /* NOLINT(bugprone-reserved-identifier): glibc's name of FILE */

BANNED("use struct buf, or mem_strdup") char *strcpy(char *, const char *);
BANNED("use struct buf") char *strcat(char *, const char *);
BANNED("use memcpy or struct buf") char *strncpy(char *, const char *, __SIZE_TYPE__);
BANNED("use struct buf") char *strncat(char *, const char *, __SIZE_TYPE__);
BANNED("use snprintf, or mem_format") int sprintf(char *, const char *, ...);
BANNED("use vsnprintf, or mem_vformat") int vsprintf(char *, const char *, __builtin_va_list);
BANNED("use str_cut") char *strtok(char *, const char *);
BANNED("use getline") char *gets(char *);
BANNED("use num_parse_int64") int atoi(const char *);
BANNED("use num_parse_int64") long atol(const char *);
BANNED("use num_parse_int64") long strtol(const char *, char **, int);
BANNED("doubles are not read from text") double strtod(const char *, char **);
BANNED("use stamp_format") struct tm *localtime(const long *);
BANNED("use stamp_format") struct tm *gmtime(const long *);
BANNED("use random_bytes, or a seed") int rand(void);
BANNED("use proc_start") int system(const char *);
BANNED("use proc_start") struct _IO_FILE *popen(const char *, const char *);
BANNED("use an arena") void *alloca(__SIZE_TYPE__);
