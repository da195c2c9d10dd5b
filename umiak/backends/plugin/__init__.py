"""Devices of shared libraries with the reference framework's interface in C, found through ``CUSTOM_DEVICE_ROOT``."""
