/* cppcheck.h - what cppcheck reads before each file: it sees no system headers, knows no GNU C */
#define __x86_64__ 1
#define __typeof__(x) char *
#define __extension__
#define __builtin_mul_overflow(a, b, ret) (*(ret) = (a) * (b), 0)
#define __builtin_add_overflow(a, b, ret) (*(ret) = (a) + (b), 0)
#define __builtin_sub_overflow(a, b, ret) (*(ret) = (a) - (b), 0)
#define HASH_ITER(handle, head, item, tmp) \
    for ((item) = (head), (tmp) = (item)->handle.next; (item); (item) = (tmp))
#define json_object_foreach(object, key, value)                                  \
    for (void *it_ = json_object_iter(object); ((key) = it_) && ((value) = it_); \
         it_ = (void *)(key))
#define json_object_foreach_safe(object, next, key, value)                       \
    for (void *it_ = json_object_iter(object); ((key) = it_) && ((value) = it_); \
         it_ = (next) = (void *)(key))
#define json_array_foreach(array, i, value) \
    for ((i) = 0; (i) < json_array_size(array) && ((value) = json_array_get(array, i)); (i)++)
