"""Small tools without knowledge of tensors: switches, errors, pytrees, disk cache, logging."""
