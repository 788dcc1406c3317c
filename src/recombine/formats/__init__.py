"""What a command found, in the forms that a CI server, a code host or a tracker reads: one short file a form."""
