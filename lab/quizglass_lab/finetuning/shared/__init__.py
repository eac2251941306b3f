"""What all of fine-tuning shares: options of commands, files of records, progress."""
