"""Programs in SSA form and the symbolic sizes they compute with."""
