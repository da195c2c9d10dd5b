/* Types of elements: float16, bfloat16 and the eight-bit floats as bits that convert to float, and complex numbers. */
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <type_traits>

#include "umiak/visibility.h"

UMIAK_BEGIN
namespace umiak {

/* A float of few bits. EXPONENT and MANTISSA: bits of the fields; FINITE: no infinities (the type "fn"). Conversions round to the
   nearest, ties to even; what is too large becomes infinity, or the largest number where there is none. */
template <typename Bits, int EXPONENT, int MANTISSA, bool FINITE>
struct alignas(Bits) SmallFloat {
  Bits x;

  SmallFloat() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
  explicit SmallFloat(T value) : x(bits_of(static_cast<float>(value))) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
  SmallFloat& operator=(T value) {
    x = bits_of(static_cast<float>(value));
    return *this;
  }
  template <typename B, int E, int M, bool F>
  explicit SmallFloat(SmallFloat<B, E, M, F> other) : SmallFloat(static_cast<float>(other)) {}

  operator float() const { return value_of(x); }

  SmallFloat& operator+=(SmallFloat o) { return *this = float(*this) + float(o); }
  SmallFloat& operator-=(SmallFloat o) { return *this = float(*this) - float(o); }
  SmallFloat& operator*=(SmallFloat o) { return *this = float(*this) * float(o); }
  SmallFloat& operator/=(SmallFloat o) { return *this = float(*this) / float(o); }
  friend SmallFloat operator+(SmallFloat a, SmallFloat b) { return SmallFloat(float(a) + float(b)); }
  friend SmallFloat operator-(SmallFloat a, SmallFloat b) { return SmallFloat(float(a) - float(b)); }
  friend SmallFloat operator*(SmallFloat a, SmallFloat b) { return SmallFloat(float(a) * float(b)); }
  friend SmallFloat operator/(SmallFloat a, SmallFloat b) { return SmallFloat(float(a) / float(b)); }
  friend SmallFloat operator-(SmallFloat a) { return SmallFloat(-float(a)); }
  friend bool operator==(SmallFloat a, SmallFloat b) { return float(a) == float(b); }
  friend bool operator!=(SmallFloat a, SmallFloat b) { return float(a) != float(b); }
  friend bool operator<(SmallFloat a, SmallFloat b) { return float(a) < float(b); }
  friend bool operator<=(SmallFloat a, SmallFloat b) { return float(a) <= float(b); }
  friend bool operator>(SmallFloat a, SmallFloat b) { return float(a) > float(b); }
  friend bool operator>=(SmallFloat a, SmallFloat b) { return float(a) >= float(b); }
  friend std::ostream& operator<<(std::ostream& out, SmallFloat a) { return out << float(a); }

 private:
  static constexpr int BIAS = (1 << (EXPONENT - 1)) - 1;
  static constexpr uint32_t TOP = (1u << EXPONENT) - 1;

  static Bits bits_of(float value) {
    uint32_t f;
    std::memcpy(&f, &value, 4);
    const uint32_t sign = (f >> 31) << (EXPONENT + MANTISSA);
    const uint32_t nan = (TOP << MANTISSA) | (FINITE ? (1u << MANTISSA) - 1 : 1u << (MANTISSA - 1));
    const uint32_t beyond = FINITE ? nan - 1 : TOP << MANTISSA;
    const uint32_t magnitude = f & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<Bits>(sign | nan);
    if (magnitude == 0x7f800000u) return static_cast<Bits>(sign | beyond);
    int exponent = static_cast<int>(magnitude >> 23) - 127 + BIAS;
    uint32_t mantissa = magnitude & 0x7fffffu;
    if (magnitude >> 23) mantissa |= 0x800000u;
    else exponent += 1;
    int shift = 23 - MANTISSA;
    if (exponent <= 0) {  // subnormal here
      shift += 1 - exponent;
      exponent = 1;
      if (shift > 25) return static_cast<Bits>(sign);
    }
    const uint32_t half = 1u << (shift - 1);
    uint32_t rounded = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1);
    if (rest > half || (rest == half && (rounded & 1))) rounded += 1;
    // The leading one of a normal number counts the exponent up by one, and so does a carry.
    const uint32_t bits = (static_cast<uint32_t>(exponent - 1) << MANTISSA) + rounded;
    if (bits >= beyond) return static_cast<Bits>(sign | beyond);
    return static_cast<Bits>(sign | bits);
  }

  static float value_of(Bits bits) {
    const uint32_t exponent = (bits >> MANTISSA) & TOP;
    const uint32_t mantissa = bits & ((1u << MANTISSA) - 1);
    float value;
    if (exponent == TOP && (!FINITE || mantissa == (1u << MANTISSA) - 1)) {
      value = mantissa ? NAN : INFINITY;
    } else if (exponent == 0) {
      value = std::ldexp(static_cast<float>(mantissa), 1 - BIAS - MANTISSA);
    } else {
      const uint32_t f = ((exponent + 127 - BIAS) << 23) | (mantissa << (23 - MANTISSA));
      std::memcpy(&value, &f, 4);
    }
    return (bits >> (EXPONENT + MANTISSA)) & 1 ? -value : value;
  }
};

template <typename T>
struct alignas(2 * sizeof(T)) Complex {
  T real = 0;
  T imag = 0;

  Complex() = default;
  Complex(T r, T i = 0) : real(r), imag(i) {}
  Complex(const std::complex<T>& c) : real(c.real()), imag(c.imag()) {}
  operator std::complex<T>() const { return {real, imag}; }

  Complex& operator+=(Complex o) { return *this = *this + o; }
  Complex& operator-=(Complex o) { return *this = *this - o; }
  Complex& operator*=(Complex o) { return *this = *this * o; }
  Complex& operator/=(Complex o) { return *this = *this / o; }
  friend Complex operator+(Complex a, Complex b) { return {a.real + b.real, a.imag + b.imag}; }
  friend Complex operator-(Complex a, Complex b) { return {a.real - b.real, a.imag - b.imag}; }
  friend Complex operator*(Complex a, Complex b) { return std::complex<T>(a) * std::complex<T>(b); }
  friend Complex operator/(Complex a, Complex b) { return std::complex<T>(a) / std::complex<T>(b); }
  friend Complex operator-(Complex a) { return {-a.real, -a.imag}; }
  friend bool operator==(Complex a, Complex b) { return a.real == b.real && a.imag == b.imag; }
  friend bool operator!=(Complex a, Complex b) { return !(a == b); }
};

}  // namespace umiak

namespace phi {
namespace dtype {
using float16 = ::umiak::SmallFloat<uint16_t, 5, 10, false>;
using bfloat16 = ::umiak::SmallFloat<uint16_t, 8, 7, false>;
using float8_e4m3fn = ::umiak::SmallFloat<uint8_t, 4, 3, true>;
using float8_e5m2 = ::umiak::SmallFloat<uint8_t, 5, 2, false>;
template <typename T>
using complex = ::umiak::Complex<T>;
}  // namespace dtype
using dtype::bfloat16;
using dtype::complex;
using dtype::float16;
using dtype::float8_e4m3fn;
using dtype::float8_e5m2;
}  // namespace phi

namespace paddle {
using phi::dtype::bfloat16;
using phi::dtype::complex;
using phi::dtype::float16;
using phi::dtype::float8_e4m3fn;
using phi::dtype::float8_e5m2;
using complex64 = complex<float>;
using complex128 = complex<double>;
}  // namespace paddle
UMIAK_END
