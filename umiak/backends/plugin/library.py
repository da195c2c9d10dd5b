"""A plug-in's shared library: it is loaded, its table of functions checked, and each call of one too."""

from __future__ import annotations

import ctypes
import re
import threading
from pathlib import Path
from typing import Any

from umiak.backends.plugin import abi, exports
from umiak.backends.plugin.structures import Device, DeviceInterface, Params, Status, prototype
from umiak.util.log import get

MEANING = {
    Status.C_FAILED: "a resource is exhausted, or a query failed",
    Status.C_ERROR: "an argument is invalid, or something is not initialised",
    Status.C_INTERNAL_ERROR: "an error inside of the plug-in",
}
BUILTIN = {"cpu", "gpu", "cuda", "xpu", "ipu", "null"}
BEYOND = 4096  # bytes behind the table that a plug-in with a larger one would write to
FUNCTIONS = {f.name: f for group in abi.GROUPS for f in group.functions}
NO_DEVICE = -1

log = get("plugin")


class PluginError(RuntimeError):
    """A plug-in that cannot be used, or a call of one that did not succeed. ``status`` is that of the call."""

    status: int | None = None


class _Table(ctypes.Structure):
    """The function table, and bytes behind it that have to stay zero."""

    _fields_ = [("interface", DeviceInterface), ("beyond", ctypes.c_char * BEYOND)]


class _Filled(ctypes.Structure):
    _fields_ = [("params", Params), ("beyond", ctypes.c_char * BEYOND)]


class Library:
    """The functions of one plug-in. It stays loaded until the process ends, as threads of it may run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self.closed = False
        self._warned: set[str] = set()
        self._thread = threading.local()  # of the plug-in's runtime: the device that is current in a thread
        ctypes.CDLL(exports.__file__, ctypes.RTLD_GLOBAL)
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise self._refused("a shared library that loads", error, _hint(str(error))) from None
        try:
            init = self._library.InitPlugin
        except AttributeError:
            raise self._refused("a function InitPlugin", "none") from None
        self._table = _Table()
        self.interface = self._table.interface
        self.interface.size = ctypes.sizeof(DeviceInterface)
        filled = _Filled()
        params = self.params = filled.params
        params.size = ctypes.sizeof(Params)
        params.interface = ctypes.addressof(self._table)
        init.restype, init.argtypes = None, [ctypes.c_void_p]
        init(ctypes.addressof(filled))
        self._check_version(filled)
        self._check_layout(filled)
        self.device_type = self._name("device_type")
        self.sub_device_type = self._name("sub_device_type") if params.sub_device_type else ""
        if not re.fullmatch(r"[A-Za-z_]\w*", self.device_type) or self.device_type in BUILTIN:
            required = "a device type of letters, digits and underscores, other than those built in"
            raise self._refused(required, repr(self.device_type))
        self._check_functions()
        self.functions = {
            name: prototype(FUNCTIONS[name])(address)
            for name in FUNCTIONS
            if (address := getattr(self.interface, name)) is not None
        }

    # --- what it says of itself

    def _refused(self, required: str, got: Any, hint: str = "") -> PluginError:
        return PluginError(f"[CUSTOM_DEVICE_ROOT] {self.path} requires {required}, got {got}{hint and f'. {hint}'}")

    def _check_version(self, filled: Any) -> None:
        v = filled.params.version
        version = v.major, v.minor, v.patch
        ours = ".".join(map(str, abi.VERSION))
        if version == (0, 0, 0):
            raise self._refused(
                f"version {ours} of the interface",
                "no version: InitPlugin has returned before it set one",
                f"It was compiled for structures of other sizes than {ctypes.sizeof(Params)} and "
                f"{ctypes.sizeof(DeviceInterface)} bytes. Compile it with a header in paddle.sysconfig.get_include().",
            )
        if version[:2] != abi.VERSION[:2]:
            raise self._refused(f"version {ours} of the interface", ".".join(map(str, version)))

    def _check_layout(self, filled: Any) -> None:
        """A table of another layout than the version promises shows where nothing should be written."""
        params, interface = filled.params, self.interface
        written = [
            group.reserved.name
            for group in abi.GROUPS
            if any(slot is not None for slot in getattr(interface, group.reserved.name))
        ]
        reserved = ctypes.string_at(ctypes.addressof(params) + Params.reserved.offset, Params.reserved.size)
        written += ["the reserved bytes of the parameters"] * any(reserved)
        written += ["bytes behind the table"] * any(memoryview(self._table).cast("B")[-BEYOND:])
        written += ["bytes behind the parameters"] * any(memoryview(filled).cast("B")[-BEYOND:])
        written += ["the sizes of the structures"] * (
            (params.size, interface.size) != (ctypes.sizeof(Params), ctypes.sizeof(DeviceInterface))
        )
        written += ["the address of the table"] * (params.interface != ctypes.addressof(self._table))
        if written:
            raise self._refused(
                "that InitPlugin leaves alone what its version of the interface does not have",
                f"values in {', '.join(written)}",
                "Its table has another layout than the version that it tells.",
            )

    def _name(self, field: str) -> str:
        address = getattr(self.params, field)
        if not address:
            raise self._refused(f"that InitPlugin sets {field}", "none")
        return ctypes.string_at(address).decode(errors="replace")

    def _check_functions(self) -> None:
        missing = [name for name in abi.REQUIRED if getattr(self.interface, name) is None]
        if missing:
            raise self._refused("all functions that no device works without", f"none for {', '.join(missing)}")
        code = _executable()
        for name in FUNCTIONS:
            address = getattr(self.interface, name)
            if address is not None and not any(start <= address < end for start, end in code):
                raise self._refused(f"a function for {name}", f"an address where no code is, {address:#x}")

    # --- calls

    def has(self, *names: str) -> bool:
        """Return whether the plug-in has all of these functions."""
        return all(name in self.functions for name in names)

    def status(self, name: str, *args: Any) -> int:
        """Call a function; its status."""
        if self.closed:
            required = f"that the plug-in {self.path.name} is in use"
            raise PluginError(f"[{name}] requires {required}, got one that was finalised")
        return self.functions[name](*args)

    def call(self, name: str, *args: Any, on: str = "") -> None:
        """Call a function that has to succeed. ``on``: the name of the place, for messages."""
        self.check(name, self.status(name, *args), on)

    def check(self, name: str, status: int, on: str = "") -> None:
        """Raise for a status that says failure; a warning is logged once for each function."""
        if status == Status.C_SUCCESS:
            return
        if status == Status.C_WARNING:
            if name not in self._warned:
                self._warned.add(name)
                log.warning("[%s] of the plug-in %s returned C_WARNING on %s", name, self.path, on or self.device_type)
            return
        known = f"{Status(status).name} ({MEANING[Status(status)]})" if status in set(Status) else f"status {status}"
        error = PluginError(
            f"[{name}] requires C_SUCCESS of the plug-in {self.path} on {on or self.device_type}, got {known}"
        )
        error.status = status
        raise error

    def number(self, name: str, *args: Any) -> int | None:
        """The size that a function writes through its last argument; None where it is absent or fails."""
        if not self.has(name):
            return None
        value = ctypes.c_size_t()
        return value.value if self.status(name, *args, ctypes.byref(value)) <= Status.C_WARNING else None

    def choose(self, device: Any, on: str) -> None:
        """Let a device be the current one of the calling thread."""
        if getattr(self._thread, "device", NO_DEVICE) != device.id:
            self.call("set_device", ctypes.byref(device), on=on)
            self._thread.device = device.id

    def device(self, id: int) -> Any:
        """The C_Device of a device that the plug-in knows by this number; it keeps an address of its own."""
        return Device(id=id)


def _hint(text: str) -> str:
    symbol = re.search(r"undefined symbol: (\w+)", text)
    if symbol is None:
        return ""
    if symbol[1].startswith("PD_"):
        return "Kernels by paddle/phi/capi are not taken: the host runs what the device has no kernel for."
    return f"{symbol[1]} is no function that the host gives to plug-ins."


def _executable() -> list[tuple[int, int]]:
    """The ranges of addresses with code."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, permissions = line.split(" ", 2)[:2]
        if "x" in permissions:
            start, end = (int(x, 16) for x in span.split("-"))
            found.append((start, end))
    return found
