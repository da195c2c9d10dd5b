/* The host's functions, with errors as exceptions. */
#pragma once

#include <string>
#include <vector>

#include "umiak/errors.h"
#include "umiak/extension_abi.h"

UMIAK_BEGIN
namespace umiak {

/* The table of the host, from the moment that it loads the library. */
inline const umiak_host*& host_slot() {
  static const umiak_host* table = nullptr;
  return table;
}

inline const umiak_host& host() {
  const umiak_host* table = host_slot();
  if (!table) throw Error("tensors can be used once the library is loaded, not while its global variables are made");
  return *table;
}

[[noreturn]] inline void raise_host_error() { throw HostError(host().last_error()); }

/* The current stream of a tensor's device, as the device's own library knows it. Work goes to it within the running call. */
inline void* stream_of(umiak_tensor* x) {
  void* stream = nullptr;
  if (host().stream(x, nullptr, 0, &stream)) raise_host_error();
  return stream;
}

/* That of a device; of the running call's where the type is null. */
inline void* stream_of(const char* device_type, int32_t device_id) {
  void* stream = nullptr;
  if (host().stream(nullptr, device_type, device_id, &stream)) raise_host_error();
  return stream;
}

}  // namespace umiak
UMIAK_END
