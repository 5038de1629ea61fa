"""Three feeds report the same stories, one after the other: joined by what they say."""
