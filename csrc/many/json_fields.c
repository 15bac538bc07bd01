/* The columns of lines of JSON, before anything makes them. */
#include "base/error.h"
#include "base/poll.h"

/* A path of keys is its hash. The paths that were met are a table with open
 * addressing, where 0 is an empty place. */
typedef struct paths {
  uint64_t* places;
  size_t room, count; /* room: a power of two; at most half of it is taken */
} paths;

/* The hash of a path with `size` more bytes. */
static uint64_t longer(uint64_t path, const char* data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    path = (path ^ (uint8_t)data[i]) * 0x9E3779B97F4A7C15U;
    path ^= path >> 29;
  }
  return path;
}

/* Returns whether there is room for more paths. */
static bool add(paths* p, uint64_t path) {
  path += path == 0;
  size_t i = path & (p->room - 1);
  while (p->places[i] != 0 && p->places[i] != path) i = (i + 1) & (p->room - 1);
  if (p->places[i] == path) return true;
  if (p->count == p->room / 2) return false;
  p->places[i] = path;
  p->count++;
  return true;
}

/* The byte after the string whose first quote is at `i`, or `size`. */
static size_t string_end(const char* data, size_t size, size_t i) {
  for (i++; i < size && data[i] != '"'; i++) i += data[i] == '\\';
  return i < size ? i + 1 : size;
}

int64_t fnabi_json_fields(const char* data, size_t size, uint64_t* places,
                          size_t room, uint64_t seed, fnabi_error* error) {
  paths p = {places, room, 0};
  uint64_t outer[FNABI_DEPTH_MAX], path = seed; /* path: of the last key */
  const char* text = NULL;                      /* the last string */
  size_t depth = 0, length = 0, polled = 0;
  for (size_t i = 0; i < size;) {
    if (i - polled >= 4096) {
      if (fnabi_poll(i - polled))
        return fnabi_fail(error, FNABI_INTERRUPTED, i, NULL);
      polled = i;
    }
    switch (data[i]) {
      case '"':
        text = data + i;
        i = string_end(data, size, i);
        length = (size_t)(data + i - text);
        continue;
      case ':':
        path = longer(depth > 0 ? outer[depth - 1] : seed, text, length);
        length = 0; /* so that no string is hashed twice */
        if (!add(&p, path)) return (int64_t)p.count + 1;
        break;
      case '[':
      case '{':
        if (depth == FNABI_DEPTH_MAX)
          return fnabi_fail(error, FNABI_DEPTH, i, FNABI_DEPTH_EXPECTED);
        if (data[i] == '[') path = longer(path, "[", 1);
        if (data[i] == '[' && !add(&p, path)) return (int64_t)p.count + 1;
        outer[depth++] = path;
        break;
      case ']':
      case '}':
        if (depth > 0) depth--;
        path = depth > 0 ? outer[depth - 1] : seed;
        break;
      default:
        break;
    }
    i++;
  }
  return (int64_t)p.count;
}
