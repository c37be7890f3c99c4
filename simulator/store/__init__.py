"""The platform's rows, made when first asked for, and changed by tests while it runs."""
