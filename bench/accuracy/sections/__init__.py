"""What each section asks and measures, one a file; servers, worlds and logs are the caller's."""
