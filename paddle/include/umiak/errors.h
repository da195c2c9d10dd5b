/* Errors: thrown in C++, raised in Python with the operator's name in front. */
#pragma once

#include <exception>
#include <sstream>
#include <string>

#include "umiak/visibility.h"

UMIAK_BEGIN
namespace umiak {

/* An exception with the place where it was thrown. `kind`: the exception that Python raises. */
class Error : public std::exception {
 public:
  Error(const char* kind, const std::string& text, const char* file, int line)
      : kind_(kind), text_(file ? text + " (" + file + ":" + std::to_string(line) + ")" : text) {}
  explicit Error(const std::string& text) : Error("RuntimeError", text, nullptr, 0) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const char* kind() const noexcept { return kind_; }

 private:
  const char* kind_;
  std::string text_;
};

/* The host has refused something, and keeps its own exception. */
class HostError : public Error {
 public:
  using Error::Error;
};

template <typename... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream stream;
  static_cast<void>((stream << ... << parts));
  return stream.str();
}

}  // namespace umiak

namespace paddle {
using PD_Exception = ::umiak::Error;
}
UMIAK_END

/* PD_THROW("x must have ", 2, " axes"): any parts that streams take. */
#define PD_THROW(...) throw ::umiak::Error("RuntimeError", ::umiak::text_of(__VA_ARGS__), __FILE__, __LINE__)

/* PD_CHECK(condition) or PD_CHECK(condition, parts of a message...). */
#define PD_CHECK(CONDITION, ...)                                                                                             \
  do {                                                                                                                       \
    if (__builtin_expect(!(CONDITION), 0)) {                                                                                 \
      std::string umiak_text = ::umiak::text_of(__VA_ARGS__);                                                                \
      if (umiak_text.empty()) umiak_text = "it is required that " #CONDITION;                                                \
      throw ::umiak::Error("RuntimeError", umiak_text, __FILE__, __LINE__);                                                  \
    }                                                                                                                        \
  } while (0)
