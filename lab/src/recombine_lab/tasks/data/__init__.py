"""Data sets: their files, found on this machine or fetched from where they were published."""
