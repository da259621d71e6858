/* cuda_array.c - arrays: memory of a shape that only copies reach */

#include "cuda.h"

/* Bytes of an element of one channel; 0: no such format. */
static unsigned format_size(unsigned format)
{
    switch (format) {
    case 0x01: /* u8 */
    case 0x08: /* s8 */
        return 1;
    case 0x02: /* u16 */
    case 0x09: /* s16 */
    case 0x10: /* half */
        return 2;
    case 0x03: /* u32 */
    case 0x0a: /* s32 */
    case 0x20: /* float */
        return 4;
    default:
        return 0;
    }
}

API(cuArray3DCreate_v2, cuArray3DCreate, 3020, CUarray *ret,
    const struct CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    struct CUarray_st *a;
    size_t row = 0;
    size_t size = 0;

    ENTER_CONTEXT(c);
    REQUIRE(ret && shape && shape->Width > 0 && format_size(shape->Format) > 0);
    REQUIRE(shape->NumChannels == 1 || shape->NumChannels == 2 || shape->NumChannels == 4);
    REQUIRE(shape->Width <= 1 << 20 && shape->Height <= 1 << 20 && shape->Depth <= 1 << 14);
    row = shape->Width * shape->NumChannels * format_size(shape->Format);
    if (__builtin_mul_overflow(row, shape->Height ? shape->Height : 1, &size) ||
        __builtin_mul_overflow(size, shape->Depth ? shape->Depth : 1, &size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    a = handle_new(HANDLE_ARRAY, sizeof(*a));
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *a = (struct CUarray_st){.context = c, .shape = *shape, .row_bytes = row};
    if (memory_new(c, MEMORY_ARRAY, size, &a->memory) != CUDA_SUCCESS) {
        handle_free(a);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    a->memory->is_accessible = false;
    a->memory->owner = a;
    *ret = a;
    return CUDA_SUCCESS;
}

API(cuArrayCreate_v2, cuArrayCreate, 3020, CUarray *ret, const struct CUDA_ARRAY_DESCRIPTOR *shape)
{
    struct CUDA_ARRAY3D_DESCRIPTOR shape_3d;

    REQUIRE(shape);
    shape_3d = (struct CUDA_ARRAY3D_DESCRIPTOR){.Width = shape->Width,
                                                .Height = shape->Height,
                                                .Format = shape->Format,
                                                .NumChannels = shape->NumChannels};
    return cuArray3DCreate_v2(ret, &shape_3d);
}

API(cuArray3DGetDescriptor_v2, cuArray3DGetDescriptor, 3020, struct CUDA_ARRAY3D_DESCRIPTOR *ret,
    CUarray array)
{
    ENTER();
    REQUIRE(ret);
    if (!handle_is(array, HANDLE_ARRAY))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret = array->shape;
    return CUDA_SUCCESS;
}

API(cuArrayGetDescriptor_v2, cuArrayGetDescriptor, 3020, struct CUDA_ARRAY_DESCRIPTOR *ret,
    CUarray array)
{
    ENTER();
    REQUIRE(ret);
    if (!handle_is(array, HANDLE_ARRAY))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret = (struct CUDA_ARRAY_DESCRIPTOR){.Width = array->shape.Width,
                                          .Height = array->shape.Height,
                                          .Format = array->shape.Format,
                                          .NumChannels = array->shape.NumChannels};
    return CUDA_SUCCESS;
}

static void array_free(struct CUarray_st *a)
{
    memory_free(a->memory);
    handle_free(a);
}

static void array_free_one(void *object, void *context)
{
    if (((struct CUarray_st *)object)->context == context)
        array_free(object);
}

void arrays_free_of(struct CUctx_st *c)
{
    handle_each(HANDLE_ARRAY, array_free_one, c);
}

API(cuArrayDestroy, cuArrayDestroy, 2000, CUarray array)
{
    ENTER_CONTEXT(c);
    if (!handle_is(array, HANDLE_ARRAY))
        return CUDA_ERROR_INVALID_HANDLE;
    CHECK(context_wait(c));
    array_free(array);
    return CUDA_SUCCESS;
}
