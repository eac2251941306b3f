"""The quizglass contract."""
