/* PADDLE_ENFORCE_…, PADDLE_THROW, and the errors that they are given: common::errors::InvalidArgument("%d axes", n). */
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "umiak/errors.h"

UMIAK_BEGIN
namespace umiak {

template <typename T, typename = void>
struct IsStreamed : std::false_type {};
template <typename T>
struct IsStreamed<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>> : std::true_type {};

/* A text in the language of printf; each conversion takes the next part, of any type, as it is written to streams. */
class Format {
 public:
  explicit Format(std::string text) : text_(std::move(text)) { literal(); }

  template <typename T>
  void put(const T& part) {
    if (at_ == text_.size()) return;
    std::ostringstream out;
    const char conversion = flags(out);
    if constexpr (std::is_enum_v<T> && !IsStreamed<T>::value) {
      out << static_cast<std::underlying_type_t<T>>(part);
    } else if constexpr (sizeof(T) == 1 && std::is_integral_v<T>) {
      if (conversion == 's' && std::is_same_v<T, bool>) out << std::boolalpha << part;
      else if (conversion == 'c' || (conversion == 's' && std::is_same_v<T, char>)) out << static_cast<char>(part);
      else out << static_cast<int>(part);
    } else if constexpr (IsStreamed<T>::value) {
      out << part;
    } else {
      out << "(?)";
    }
    done_ += out.str();
    literal();
  }
  /* What there is; conversions without a part stay as they are. */
  std::string text() const { return done_ + text_.substr(at_); }

 private:
  void literal() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '%') {
        if (at_ + 1 == text_.size() || text_[at_ + 1] != '%') return;
        ++at_;
      }
      done_ += text_[at_];
    }
  }
  int number() {
    int n = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) n = 10 * n + (text_[at_] - '0');
    return n;
  }
  bool one_of(const char* letters) const { return at_ < text_.size() && std::string(letters).find(text_[at_]) != std::string::npos; }
  /* Set a stream as the next conversion says, whose letter is returned. */
  char flags(std::ostream& out) {
    for (++at_; one_of("-+ #0"); ++at_) {
      if (text_[at_] == '-') out << std::left;
      else if (text_[at_] == '+') out << std::showpos;
      else if (text_[at_] == '#') out << std::showbase;
      else if (text_[at_] == '0') (out << std::internal).fill('0');
    }
    if (const int width = number()) out.width(width);
    if (one_of(".")) {
      ++at_;
      out.precision(number());
    }
    while (one_of("hlLjztq")) ++at_;
    const char conversion = at_ < text_.size() ? text_[at_++] : 's';
    switch (conversion) {
      case 'X':
        out << std::uppercase << std::hex;
        break;
      case 'x':
      case 'p':
        out << std::hex;
        break;
      case 'o':
        out << std::oct;
        break;
      case 'e':
        out << std::scientific;
        break;
      case 'f':
        out << std::fixed;
        break;
      default:
        break;
    }
    return conversion;
  }

  std::string text_, done_;
  size_t at_ = 0;
};

template <typename... Parts>
std::string formatted(const std::string& text, const Parts&... parts) {
  Format format(text);
  (format.put(parts), ...);
  return format.text();
}

/* What went wrong: the exception that Python raises, and a text. */
struct Summary {
  const char* kind;
  std::string text;
};

inline Summary summary() { return {"RuntimeError", ""}; }
inline Summary summary(Summary s) { return s; }
template <typename... Parts>
Summary summary(const std::string& text, const Parts&... parts) {
  return {"RuntimeError", formatted(text, parts...)};
}

[[noreturn]] inline void raise(const Summary& s, const std::string& required, const char* file, int line) {
  throw Error(s.kind, s.text.empty() ? required : required.empty() ? s.text : s.text + ": " + required, file, line);
}

/* Sizes are compared with plain literals. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#define UMIAK_COMPARISON(NAME, OPERATOR)  \
  template <typename A, typename B>       \
  bool NAME(const A& a, const B& b) {     \
    return a OPERATOR b;                  \
  }
UMIAK_COMPARISON(are_eq, ==)
UMIAK_COMPARISON(are_ne, !=)
UMIAK_COMPARISON(are_gt, >)
UMIAK_COMPARISON(are_ge, >=)
UMIAK_COMPARISON(are_lt, <)
UMIAK_COMPARISON(are_le, <=)
#undef UMIAK_COMPARISON
#pragma GCC diagnostic pop

template <typename T>
std::string shown(const T& value) {
  if constexpr (std::is_same_v<T, std::nullptr_t>) return "nullptr";
  else return formatted("%s", value);
}

}  // namespace umiak

namespace common {
namespace errors {
#define UMIAK_ERROR(NAME, KIND)                                                     \
  template <typename... Parts>                                                      \
  ::umiak::Summary NAME(const std::string& text, const Parts&... parts) {           \
    return {KIND, ::umiak::formatted(text, parts...)};                              \
  }
UMIAK_ERROR(InvalidArgument, "ValueError")
UMIAK_ERROR(NotFound, "RuntimeError")
UMIAK_ERROR(OutOfRange, "IndexError")
UMIAK_ERROR(AlreadyExists, "RuntimeError")
UMIAK_ERROR(ResourceExhausted, "MemoryError")
UMIAK_ERROR(PreconditionNotMet, "RuntimeError")
UMIAK_ERROR(PermissionDenied, "RuntimeError")
UMIAK_ERROR(ExecutionTimeout, "RuntimeError")
UMIAK_ERROR(Unimplemented, "NotImplementedError")
UMIAK_ERROR(Unavailable, "RuntimeError")
UMIAK_ERROR(Fatal, "SystemError")
UMIAK_ERROR(External, "OSError")
UMIAK_ERROR(InvalidType, "TypeError")
#undef UMIAK_ERROR
}  // namespace errors
}  // namespace common

namespace phi {
namespace errors = ::common::errors;
}
namespace paddle {
namespace platform {
namespace errors = ::common::errors;
}
}  // namespace paddle
UMIAK_END

#define PADDLE_THROW(...) ::umiak::raise(::umiak::summary(__VA_ARGS__), "", __FILE__, __LINE__)
#define PADDLE_FATAL(...) PADDLE_THROW(::common::errors::Fatal(__VA_ARGS__))

#define PADDLE_ENFORCE(CONDITION, ...)                                                                       \
  do {                                                                                                       \
    if (__builtin_expect(!(CONDITION), 0)) {                                                                 \
      ::umiak::raise(::umiak::summary(__VA_ARGS__), "it is required that " #CONDITION, __FILE__, __LINE__);  \
    }                                                                                                        \
  } while (0)

#define PADDLE_ENFORCE_NOT_NULL(POINTER, ...)                                                                \
  do {                                                                                                       \
    if (__builtin_expect(nullptr == (POINTER), 0)) {                                                         \
      ::umiak::raise(::umiak::summary(__VA_ARGS__), #POINTER " must not be null", __FILE__, __LINE__);       \
    }                                                                                                        \
  } while (0)

#define UMIAK_ENFORCE(A, B, NAME, OPERATOR, ...)                                                                         \
  do {                                                                                                                    \
    const auto& umiak_a = (A);                                                                                            \
    const auto& umiak_b = (B);                                                                                            \
    if (__builtin_expect(!::umiak::NAME(umiak_a, umiak_b), 0)) {                                                          \
      ::umiak::raise(::umiak::summary(__VA_ARGS__),                                                                       \
                     "it is required that " #A " " #OPERATOR " " #B ", got " + ::umiak::shown(umiak_a) + " and " +        \
                         ::umiak::shown(umiak_b),                                                                         \
                     __FILE__, __LINE__);                                                                                 \
    }                                                                                                                     \
  } while (0)
#define PADDLE_ENFORCE_EQ(A, B, ...) UMIAK_ENFORCE(A, B, are_eq, ==, __VA_ARGS__)
#define PADDLE_ENFORCE_NE(A, B, ...) UMIAK_ENFORCE(A, B, are_ne, !=, __VA_ARGS__)
#define PADDLE_ENFORCE_GT(A, B, ...) UMIAK_ENFORCE(A, B, are_gt, >, __VA_ARGS__)
#define PADDLE_ENFORCE_GE(A, B, ...) UMIAK_ENFORCE(A, B, are_ge, >=, __VA_ARGS__)
#define PADDLE_ENFORCE_LT(A, B, ...) UMIAK_ENFORCE(A, B, are_lt, <, __VA_ARGS__)
#define PADDLE_ENFORCE_LE(A, B, ...) UMIAK_ENFORCE(A, B, are_le, <=, __VA_ARGS__)

#ifdef PADDLE_WITH_CUDA
/* Calls of NVIDIA's run-time library. */
#define PADDLE_ENFORCE_GPU_SUCCESS(CALL)                                                                                  \
  do {                                                                                                                    \
    const cudaError_t umiak_code = (CALL);                                                                                \
    if (__builtin_expect(umiak_code != cudaSuccess, 0)) {                                                                 \
      throw ::umiak::Error("OSError", ::umiak::text_of(#CALL, " failed: ", cudaGetErrorString(umiak_code)), __FILE__, __LINE__); \
    }                                                                                                                     \
  } while (0)
#define PADDLE_ENFORCE_CUDA_SUCCESS(CALL) PADDLE_ENFORCE_GPU_SUCCESS(CALL)
#endif
