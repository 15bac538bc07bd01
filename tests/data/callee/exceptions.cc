// Exports in C++: exceptions become errors, and objects are destroyed.
#include <fnabi/callee.h>

#include <map>
#include <string>
#include <vector>

CALLEE_EXPORT(join) {
  callee_items items;
  if (!callee_array(call, 0, &items)) return CALLEE_FAILED;
  std::string all;
  for (size_t i = 0; i < items.size; i++) {
    callee_span text;
    if (!callee_as_text(&items.data[i], &text))
      throw std::invalid_argument("item " + std::to_string(i) + " is no text");
    all.append(text.data, text.size);
  }
  return callee_return_text(call, all.data(), all.size());
}

CALLEE_EXPORT(at) {
  int64_t index;
  if (!callee_int(call, 0, &index)) return CALLEE_FAILED;
  std::vector<int64_t> squares{0, 1, 4, 9};
  return callee_return_int(call, squares.at(static_cast<size_t>(index)));
}

CALLEE_EXPORT(raise_it) {
  int64_t which;
  if (!callee_int(call, 0, &which)) return CALLEE_FAILED;
  switch (which) {
    case 0:
      throw std::bad_alloc();
    case 1:
      throw std::overflow_error("too much");
    case 2:
      throw std::runtime_error("it %d %s");
    case 3:
      throw std::domain_error("outside");
    default:
      throw which;
  }
}

static int64_t live;

struct Words {
  std::map<std::string, int64_t> counts;
};

static callee_status count_word(callee_call* call) {
  auto* words = *static_cast<Words**>(call->state);
  callee_span word;
  if (!callee_count(call, 1) || !callee_text(call, 0, &word))
    return CALLEE_FAILED;
  return callee_return_int(call,
                           ++words->counts[std::string(word.data, word.size)]);
}

static void drop_words(void* state) {
  delete *static_cast<Words**>(state);
  live--;
}

CALLEE_EXPORT(word_counter) {
  auto* words = new Words;
  live++;
  return callee_return_function(call, "word_counter", count_word, &words,
                                sizeof words, drop_words);
}

CALLEE_EXPORT(live) { return callee_return_int(call, live); }
