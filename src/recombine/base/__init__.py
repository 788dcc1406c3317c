"""What everything stands on: errors, files, records, the `Result` interface, words, seeds, checks, plug-ins."""
