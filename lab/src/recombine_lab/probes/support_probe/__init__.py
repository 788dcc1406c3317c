"""Support under a known composition function: do the seen points fix every component?"""
