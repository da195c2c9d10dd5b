"""The backend that compiles kernels for the CPU it runs on."""
