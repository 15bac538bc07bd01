/* Types with fields and methods, registered when the library is loaded; and, on request, types whose
 * records are wrong. */
#include <stdio.h>

#include "fnlab.h"

typedef struct { TVMFFIObject head; double x, y; TVMFFIAny tag; int64_t odd; } Point;
typedef struct { Point point; double z; } Point3;

static int32_t g_point, g_point3, g_auto, g_plain;

static TVMFFIByteArray text(const char* s) { return (TVMFFIByteArray){s, strlen(s)}; }

static int fail(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static void delete_point(void* self, int flags) {
  Point* p = (Point*)self;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) && p->tag.type_index >= 64) obj_decref(p->tag.v_obj);
  lab_plain_deleter(self, flags);
}

static void* new_point(int32_t index, double x, double y) {
  Point* p = (Point*)lab_alloc(sizeof(Point3), index, delete_point);
  p->x = x; p->y = y;
  return p;
}

/* getters and setters */
static int get_double(void* field, TVMFFIAny* r) { return put_float(r, *(double*)field); }
static int set_double(void* field, const TVMFFIAny* v) {
  if (v->type_index == kTVMFFIFloat) *(double*)field = v->v_float64;
  else if (v->type_index == kTVMFFIInt) *(double*)field = (double)v->v_int64;
  else return fail("TypeError", "Cannot convert to `float`");
  return 0;
}
static int get_any(void* field, TVMFFIAny* r) {
  *r = *(TVMFFIAny*)field;
  if (r->type_index >= 64) obj_incref(r->v_obj);
  return 0;
}
static int set_any(void* field, const TVMFFIAny* v) {
  TVMFFIAny old = *(TVMFFIAny*)field;
  if (TVMFFIAnyViewToOwnedAny(v, (TVMFFIAny*)field) != 0) return -1;
  if (old.type_index >= 64) obj_decref(old.v_obj);
  return 0;
}
static int get_failing(void* field, TVMFFIAny* r) { return fail("ValueError", "no such luck"); }
static int get_silent(void* field, TVMFFIAny* r) { return -1; }
static int get_no_value(void* field, TVMFFIAny* r) { r->type_index = kTVMFFIDLTensorPtr; r->v_ptr = NULL; return 0; }
static int get_null(void* field, TVMFFIAny* r) { r->type_index = 100; r->v_ptr = NULL; return 0; }

/* a setter that is a function object: (address, value) */
static int set_doubled(void* self, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  if (n != 2 || a[0].type_index != kTVMFFIOpaquePtr || a[1].type_index != kTVMFFIInt)
    return fail("TypeError", "expected an int");
  *(int64_t*)a[0].v_ptr = 2 * a[1].v_int64;
  return put_none(r);
}
static int get_int(void* field, TVMFFIAny* r) { return put_int(r, *(int64_t*)field); }

/* methods */
static int norm(void* self, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  const Point* p = (const Point*)a[0].v_obj;
  return put_float(r, p->x * p->x + p->y * p->y);
}
static int norm3(void* self, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  const Point3* p = (const Point3*)a[0].v_obj;
  return put_float(r, p->point.x * p->point.x + p->point.y * p->point.y + p->z * p->z);
}
static int add(void* self, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  const Point* p = (const Point*)a[0].v_obj;
  if (n != 2 || a[1].type_index != kTVMFFIFloat) return fail("TypeError", "expected a float");
  return put_obj(r, new_point(g_point, p->x + a[1].v_float64, p->y + a[1].v_float64));
}
static int make(void* self, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  if (n != 2 || a[0].type_index != kTVMFFIFloat || a[1].type_index != kTVMFFIFloat)
    return fail("TypeError", "expected two floats");
  return put_obj(r, new_point(g_point, a[0].v_float64, a[1].v_float64));
}
static int make3(void* self, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  return put_obj(r, new_point(g_point3, 1, 2));
}
static int create_auto(void** out) { *out = new_point(g_auto, 0, 0); return 0; }
static int same_x(void* self, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  return put_bool(r, ((Point*)a[0].v_obj)->x == ((Point*)a[1].v_obj)->x);
}
static int hash_x(void* self, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  return put_int(r, (int64_t)((Point*)a[0].v_obj)->x);
}
static int show(void* self, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  return put_bytes_like(r, "Auto!", 5, kTVMFFISmallStr, kTVMFFIStr);
}

static void* function(TVMFFISafeCallType code) {
  TVMFFIObjectHandle out = NULL;
  TVMFFIFunctionCreate(NULL, code, NULL, &out);
  return out;
}

static int32_t type(const char* key, int32_t parent, int32_t depth) {
  TVMFFIByteArray k = text(key);
  return TVMFFITypeGetOrAllocIndex(&k, -1, depth, 0, 1, parent);
}

static const char FLOAT[] = "{\"type_schema\":\"{\\\"type\\\":\\\"float\\\"}\"}";

static void field(int32_t index, const char* name, size_t offset, TVMFFIFieldGetter get, void* set,
                  int64_t flags, const char* metadata) {
  TVMFFIFieldInfo info = {0};
  info.name = text(name);
  info.doc = text(strcmp(name, "x") ? "" : "The first coordinate.");
  info.metadata = text(metadata);
  info.flags = flags;
  info.size = 8;
  info.alignment = 8;
  info.offset = (int64_t)offset;
  info.getter = get;
  info.setter = set;
  info.field_static_type_index = -1;
  TVMFFITypeRegisterField(index, &info);
}

static void method(int32_t index, const char* name, TVMFFISafeCallType code, int64_t flags,
                   const char* metadata) {
  TVMFFIMethodInfo info = {0};
  info.name = text(name);
  info.doc = text(strcmp(name, "norm") ? "" : "The square of the length.");
  info.metadata = text(metadata);
  info.flags = flags;
  put_obj(&info.method, function(code));
  TVMFFITypeRegisterMethod(index, &info);
}

static void attribute(int32_t index, const char* name, TVMFFISafeCallType code) {
  TVMFFIByteArray key = text(name);
  TVMFFIAny value;
  put_obj(&value, function(code));
  TVMFFITypeRegisterAttr(index, &key, &value);
}

static void metadata(int32_t index, const char* doc, int (*creator)(void**), TVMFFISEqHashKind kind) {
  TVMFFITypeMetadata info = {0};
  info.doc = text(doc);
  info.creator = creator;
  info.total_size = sizeof(Point);
  info.structural_eq_hash_kind = kind;
  TVMFFITypeRegisterMetadata(index, &info);
}

enum { RW = kTVMFFIFieldFlagBitMaskWritable, STATIC = kTVMFFIFieldFlagBitMaskIsStaticMethod };

__attribute__((constructor)) static void load(void) {
  const char* self = "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"args\\\":[{\\\"type\\\":"
                     "\\\"float\\\"},{\\\"type\\\":\\\"tests.Point\\\"}]}\"}";
  g_point = type("tests.Point", kTVMFFIObject, 1);
  metadata(g_point, "A point of a plane.", NULL, kTVMFFISEqHashKindTreeNode);
  field(g_point, "x", offsetof(Point, x), get_double, set_double, RW, FLOAT);
  field(g_point, "y", offsetof(Point, y), get_double, set_double, 0, FLOAT);
  field(g_point, "tag", offsetof(Point, tag), get_any, set_any, RW, "");
  method(g_point, "norm", norm, 0, self);
  method(g_point, "add", add, 0, "");
  method(g_point, "make", make, STATIC, "");
  method(g_point, "__ffi_init__", make, STATIC, "");

  g_point3 = type("tests.Point3", g_point, 2);
  metadata(g_point3, "", NULL, kTVMFFISEqHashKindUnsupported);
  field(g_point3, "z", offsetof(Point3, z), get_double, set_double, RW, FLOAT);
  method(g_point3, "norm", norm3, 0, self);
  method(g_point3, "make3", make3, STATIC, "");

  g_auto = type("tests.Auto", kTVMFFIObject, 1);
  metadata(g_auto, "", create_auto, kTVMFFISEqHashKindUnsupported);
  field(g_auto, "x", offsetof(Point, x), get_double, set_double, RW, FLOAT);
  field(g_auto, "y", offsetof(Point, y), get_double, set_double, RW, FLOAT);
  attribute(g_auto, "__ffi_eq__", same_x);
  attribute(g_auto, "__ffi_hash__", hash_x);
  attribute(g_auto, "__ffi_repr__", show);
  TVMFFIByteArray name = text("ffi._RegisterFFIInit");
  TVMFFIObjectHandle init = NULL;
  TVMFFIAny index, none;
  put_int(&index, g_auto);
  put_none(&none);
  if (TVMFFIFunctionGetGlobal(&name, &init) == 0 && init != NULL) {
    TVMFFIFunctionCall(init, &index, 1, &none);
    TVMFFIObjectDecRef(init);
  }

  g_plain = type("tests.Plain", kTVMFFIObject, 1);
  metadata(g_plain, "", NULL, kTVMFFISEqHashKindUnsupported);
  field(g_plain, "failing", 24, get_failing, NULL, 0, "");
  field(g_plain, "silent", 24, get_silent, NULL, RW, "");
  field(g_plain, "no_value", 24, get_no_value, NULL, 0, "");
  field(g_plain, "null", 24, get_null, NULL, 0, "");
  field(g_plain, "odd", offsetof(Point, odd), get_int, function(set_doubled),
        RW | kTVMFFIFieldFlagBitSetterIsFunctionObj, "");
}

FN(plain) { return put_obj(r, new_point(g_plain, 0, 0)); }
FN(live) { return put_int(r, atomic_load(&g_live)); }
/* an object of a type that nobody has registered */
FN(unregistered) { return put_obj(r, new_point(100000, 0, 0)); }
/* a type with one wrong record: bad(key, what), which gives an object of it */
FN(bad) {
  char key[64];
  TVMFFIByteArray k;
  if (n != 1 || get_bytes_like(&a[0], &k) != 0) return fail("TypeError", "expected a str");
  snprintf(key, sizeof key, "bad.%.*s", (int)k.size, k.data);
  int32_t index = type(key, kTVMFFIObject, 1);
  if (strstr(key, "getter")) field(index, "x", 24, NULL, NULL, 0, "");
  if (strstr(key, "metadata")) field(index, "x", 24, get_double, NULL, 0, "{]");
  if (strstr(key, "setter")) field(index, "x", 24, get_double, new_point(g_point, 0, 0),
                                   RW | kTVMFFIFieldFlagBitSetterIsFunctionObj, "");
  TVMFFITypeInfo* info = (TVMFFITypeInfo*)TVMFFIGetTypeInfo(index);
  if (strstr(key, "count")) info->num_fields = -1;
  if (strstr(key, "null")) { info->num_methods = 3; info->methods = NULL; }
  if (strstr(key, "ancestor")) info->type_ancestors[0] = NULL;
  if (strstr(key, "name")) {
    field(index, "x", 24, get_double, NULL, 0, "");
    ((TVMFFIFieldInfo*)info->fields)[0].name = (TVMFFIByteArray){NULL, 5};
  }
  if (strstr(key, "method")) {
    method(index, "m", norm, 0, "");
    ((TVMFFIMethodInfo*)info->methods)[0].method = (TVMFFIAny){0};
  }
  return put_obj(r, new_point(index, 0, 0));
}
